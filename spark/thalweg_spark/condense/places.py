"""Where each task was at which time: task → pod → node, by the series that its pods left."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.figures import Figures
from thalweg_spark.condense.series import Series

PLACE_FACTS = ("task_info", "tuples", "processed")
"""Facts whose series say which pod a task was in."""
PLACE_LABELS = ("namespace", "topology", "task", "pod", "node")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A task in a pod, from its first sample to its last."""

    namespace: str
    topology: str
    task: str
    pod: str
    node: str
    """Empty where the series do not say it."""
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A task on a node for some time; of two pods the one that came later has the task."""

    namespace: str
    topology: str
    task: str
    node: str
    since_s: float
    until_s: float


def seen(pulled: Mapping[str, Sequence[Series]]) -> list[Seen]:
    """One for each series of a task."""
    return [
        Seen(
            **{label: one.labels.get(label, "") for label in PLACE_LABELS},
            first_s=float(one.times_s[0]),
            last_s=one.last_s,
        )
        for fact in PLACE_FACTS
        for one in pulled.get(fact, ())
    ]


def pod_nodes(
    found: Iterable[Seen], known: Figures, expectation: Expectation | None
) -> dict[tuple[str, str], str]:
    """(Namespace, pod) to node: by whom it is known from.

    The operator asks Kubernetes, so it has the last word of the pods that are there. Of those that
    are gone, the series' own label goes before kube-state-metrics.
    """
    nodes: dict[tuple[str, str], str] = {}
    nodes |= {(key[0], key[1]): key[2] for key in known.get("pod_info", {})}
    nodes |= {(one.namespace, one.pod): one.node for one in found if one.pod and one.node}
    if expectation is not None:
        nodes |= expectation.pod_nodes
    return nodes


def stays(found: Iterable[Seen], nodes: Mapping[tuple[str, str], str]) -> list[Stay]:
    """Every task's nodes one after the other, without a gap and without an overlap.

    Before its first sample a task is taken to be where that sample was. Between two pods the
    change is half-way from the last sample of the old to the first of the new.
    """
    spans: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    for one in found:
        if all((one.namespace, one.topology, one.task, one.pod)):
            pods = spans.setdefault((one.namespace, one.topology, one.task), {})
            first_s, last_s = pods.get(one.pod, (math.inf, -math.inf))
            pods[one.pod] = (min(first_s, one.first_s), max(last_s, one.last_s))
    result = []
    for (namespace, topology, task), pods in sorted(spans.items()):
        ordered = sorted(pods.items(), key=lambda item: (item[1], item[0]))
        starts = [-math.inf]
        for (_, (_, last_s)), (_, (first_s, _)) in pairwise(ordered):
            starts.append(max(starts[-1], min(first_s, (first_s + last_s) / 2)))
        for number, (pod, _) in enumerate(ordered):
            node = nodes.get((namespace, pod), "")
            until_s = starts[number + 1] if number + 1 < len(starts) else math.inf
            if node and until_s > starts[number]:
                result.append(
                    Stay(
                        namespace=namespace,
                        topology=topology,
                        task=task,
                        node=node,
                        since_s=starts[number],
                        until_s=until_s,
                    )
                )
    return result
