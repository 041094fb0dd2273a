"""When a retiring pod may end: as soon as all who send to it are known to follow newer routes.

A pod that retires takes along which versions still named it. Whoever sends by a later one sends to
others. What senders follow is measured; while that is unknown, the pod is kept as long as settings
say (`retire_grace_s`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thalweg_operator import naming
from thalweg_operator.act.routes import routes_text, routes_version
from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.observe.facts import PodFact, tasks_in
from thalweg_operator.observe.looking import is_retiring
from thalweg_operator.observe.world import TopologyFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Releasing:
    """The retiring pods of one topology and who sends to them."""

    facts: TopologyFacts
    spec: TopologySpec

    @property
    def is_due(self) -> bool:
        """Whether any pod waits to be released."""
        return any(_waits(pod) for pod in self.facts.pods)

    def last_routes(self, pod: PodFact) -> str:
        """The version of each sending vertex' routes as they are now, for a pod that retires."""
        return ",".join(f"{one}={self._version(one)}" for one in sorted(self._sources(pod)))

    def released(self, followed: Mapping[str, int]) -> frozenset[str]:
        """The uids of retiring pods to which nobody sends any more.

        `followed` has the version that each task sends by, where that is known.
        """
        return frozenset(
            pod.uid for pod in self.facts.pods if _waits(pod) and self._is_left(pod, followed)
        )

    def _is_left(self, pod: PodFact, followed: Mapping[str, int]) -> bool:
        named_by = _parsed(pod.annotations.get(naming.RETIRED_ROUTES, ""))
        sources = self._sources(pod)
        if self._has_source(pod) or not sources <= named_by.keys():
            return False
        return all(self._all_follow(one, named_by[one] + 1, followed) for one in sources)

    def _all_follow(self, vertex: str, version: int, followed: Mapping[str, int]) -> bool:
        senders = [
            (pod, task)
            for pod in self.facts.pods
            if pod.phase == "Running" and not pod.is_deleting
            for task in tasks_in(pod)
            if task.vertex == vertex
        ]
        # Only of a task's newest pod is it known what it follows.
        return not any(is_retiring(pod) for pod, _ in senders) and all(
            followed.get(task.name, 0) >= version for _, task in senders
        )

    def _has_source(self, pod: PodFact) -> bool:
        """Whether nobody sends to a task of it: its next pod still asks it how far it came."""
        targets = {edge.target for edge in self.spec.edges}
        return any(task.vertex not in targets for task in tasks_in(pod))

    def _sources(self, pod: PodFact) -> set[str]:
        targets = {task.vertex for task in tasks_in(pod)}
        return {edge.source for edge in self.spec.edges if edge.target in targets}

    def _version(self, vertex: str) -> int:
        name = naming.routes_object(self.facts.name, vertex)
        text = routes_text(self.facts.config_maps.get(name))
        return 0 if text is None else routes_version(text)


def _waits(pod: PodFact) -> bool:
    return is_retiring(pod) and not pod.is_deleting


def _parsed(text: str) -> dict[str, int]:
    """What somebody has spoilt is left out, so that the pod is kept."""
    parted: Iterable[tuple[str, str, str]] = (word.partition("=") for word in text.split(","))
    return {vertex: int(version) for vertex, _, version in parted if version.isdecimal()}
