"""What nodes have, what is used of it and by whom, and how busy their disks and links are."""

import math
from collections.abc import Iterable
from typing import Any

from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.figures import Figures

Row = dict[str, Any]


def node_capacity(known: Figures, expectation: Expectation | None) -> list[Row]:
    """A row for each node that was measured or told of; what nobody exports is unknown."""
    told = {} if expectation is None else expectation.allocatable
    measured = {key[0] for fact, found in known.items() if _is_of_nodes(fact) for key in found}
    return [_row(node, known, expectation) for node in sorted(measured | set(told))]


def _row(node: str, known: Figures, expectation: Expectation | None) -> Row:
    told = {} if expectation is None else expectation.allocatable.get(node, {})
    has_cpu, has_memory = told.get("cpu", math.nan), told.get("memory", math.nan)
    cpu = _one(known, "node_cpu", "rate", node)
    memory = _one(known, "node_memory", "latest", node)
    return {
        "node": node,
        "cpu_allocatable_cores": has_cpu,
        "memory_allocatable_bytes": has_memory,
        "cpu_used_cores": cpu,
        "memory_used_bytes": memory,
        "cpu_others_cores": _rest(cpu, _ours(known, "pod_cpu", "rate", node, expectation)),
        "memory_others_bytes": _rest(
            memory, _ours(known, "pod_memory", "latest", node, expectation)
        ),
        "cpu_free_cores": _rest(has_cpu, cpu),
        "memory_free_bytes": _rest(has_memory, memory),
        "io_share": _most(known, "node_io", "rate", node, at_most=1.0),
        "receive_bytes_per_s": _one(known, "node_receive", "rate", node),
        "transmit_bytes_per_s": _one(known, "node_transmit", "rate", node),
        "bandwidth_bytes_per_s": _most(known, "node_bandwidth", "latest", node),
        "samples": sum(
            one.samples
            for fact, found in known.items()
            if _is_of_nodes(fact)
            for key, one in found.items()
            if key[0] == node
        ),
    }


def _is_of_nodes(fact: str) -> bool:
    return fact.startswith("node_") and fact != "node_address"


def _one(known: Figures, fact: str, column: str, node: str) -> float:
    figure = known.get(fact, {}).get((node,))
    return math.nan if figure is None else float(getattr(figure, column))


def _most(known: Figures, fact: str, column: str, node: str, *, at_most: float = math.inf) -> float:
    """The busiest disk, the fastest link."""
    values = [getattr(one, column) for key, one in known.get(fact, {}).items() if key[0] == node]
    most = max((value for value in values if not math.isnan(value)), default=math.nan)
    return min(at_most, most) if math.isfinite(most) else math.nan


def _ours(
    known: Figures, fact: str, column: str, node: str, expectation: Expectation | None
) -> float:
    """What the pods that are expected on a node used; unknown if one of them was not measured."""
    if expectation is None:
        return math.nan
    pods = (pod for pod, where in expectation.pod_nodes.items() if where == node)
    return sum(_of_pods(pods, known, fact, column))


def _of_pods(
    pods: Iterable[tuple[str, str]], known: Figures, fact: str, column: str
) -> Iterable[float]:
    for pod in pods:
        figure = known.get(fact, {}).get(pod)
        yield math.nan if figure is None else float(getattr(figure, column))


def _rest(whole: float, part: float) -> float:
    """What is left; two that were not measured at the same moment may differ by less than none."""
    rest = whole - part
    return max(0.0, rest) if math.isfinite(rest) else math.nan
