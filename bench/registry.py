"""Which benchmarks there are. Each is a module with `main()`; none is imported before its turn."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

BENCHMARKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "gap": ("bench.gap", "how far Auto is from the optimum that CP-SAT proves"),
        "optima": ("bench.proofs", "prove these optima again into bench/optima.csv (hours)"),
        "mapping": ("bench.mapping", "large topologies against Mt-KaHyPar and METIS"),
        "replan": ("bench.replan", "after one per cent of the tasks changed"),
        "caps": ("bench.caps", "against CAPS' search, auto-tuned"),
        "scaling": ("bench.scaling", "decisions until every vertex has the tasks it needs"),
        "hibernating": ("bench.hibernating", "nodes left awake, against the CP-SAT minimum"),
        "simulating": ("bench.simulating", "how long a prediction takes"),
        "applying": ("bench.applying", "the operator on a control plane: from apply to bound pods"),
    }
)


def listing() -> str:
    """One line a benchmark."""
    return "\n".join(f"{name:<12} {words}" for name, (_, words) in BENCHMARKS.items())


def run(name: str) -> None:
    """Import the benchmark and run it."""
    module, _ = BENCHMARKS[name]
    import_module(module).main()
