"""Which benchmarks there are: modules with `main()` or `main(*words)`, imported in their turn."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
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
        "papers": ("bench.papers", "the five papers' experiments (words: ra sgp ns hd md, --help)"),
        "simulating": ("bench.simulating", "how long a prediction takes"),
        "starting": ("bench.starting", "how long a call of `thalweg plan` takes"),
        "streams": (
            "bench.stream_workers",
            "workers beside a bare transport and Bytewax, one core",
        ),
        "hours": ("bench.hours", "how long an hour takes that is simulated over time"),
        "latency": ("bench.latency", "latency between domains: netem and the NFQUEUE delay"),
        "condensing": ("bench.condensing", "samples to matrices: Spark, numpy and the naive way"),
        "applying": ("bench.applying", "the operator on a control plane: from apply to bound pods"),
        "turning": ("bench.turning", "one turn of the loop by stage: 500 tasks on 100 nodes"),
    }
)


class UnknownWords(ValueError):
    """What stands after a benchmark's name means nothing to it."""


def listing() -> str:
    """One line a benchmark."""
    return "\n".join(f"{name:<12} {words}" for name, (_, words) in BENCHMARKS.items())


def run(name: str, words: Sequence[str] = ()) -> None:
    """Import the benchmark and run it; most take no words."""
    module, _ = BENCHMARKS[name]
    main = import_module(module).main
    if words and not signature(main).parameters:
        raise UnknownWords(f"benchmark {name} takes no words")
    main(*words)
