"""Who has reserved what on which node, while topologies are decided one after the other."""

from collections.abc import Iterable, Mapping

from thalweg_operator import naming
from thalweg_operator.observe.facts import PodFact


class Ledger:
    """Requests of all pods by node: bound ones, planned ones, and those made in this turn."""

    def __init__(self, pods: Iterable[PodFact]) -> None:
        """Enter every pod that takes room."""
        self._reserved: dict[str, dict[str, float]] = {}
        for pod in pods:
            node = node_of(pod)
            if node is not None:
                self.reserve(node, pod.requests)

    def reserve(self, node: str, requests: Mapping[str, float]) -> None:
        """Enter a pod that is on its way to a node."""
        entry = self._reserved.setdefault(node, {})
        for resource, amount in requests.items():
            entry[resource] = entry.get(resource, 0.0) + amount

    def reserved(self, node: str, resource: str, apart_from: Iterable[PodFact] = ()) -> float:
        """What is taken on a node, not counting some pods that are known to be there."""
        taken = self._reserved.get(node, {}).get(resource, 0.0)
        return taken - sum(pod.requests.get(resource, 0.0) for pod in apart_from)


def node_of(pod: PodFact) -> str | None:
    """The node that a pod is bound to, or planned for while it is not bound."""
    return pod.node or pod.annotations.get(naming.PLANNED_NODE)
