"""Without measurements that can be trusted nothing is taken away, whatever they seem to say.

One topology, scaled up while it was busy. Then its measurements go wrong in every way, and those
that are still there say that it has next to nothing to do.
"""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_operator.settings import CondenseSettings, MetricsSource
from thalweg_scraped_streams import every_sample, scraped
from thalweg_stories import Story, by_task, chain, standing, vertex
from thalweg_testbed import Cluster

pytestmark = pytest.mark.control_plane

NAME = "flow"
BUSY_PER_S, IDLE_PER_S = 2000.0, 50.0
ENOUGH = 3
"""Tasks that do 1000 a second each, for the busy time."""
TURNS = 4


class Bed:
    """The topology, and the Prometheus that tells of it."""

    def __init__(self, story: Story, prometheus: FakePrometheus) -> None:
        self.story = story
        self.prometheus = prometheus
        self._told: set[str] = set()

    def tell(self, per_s: float, *, without: str = "") -> None:
        """Let Prometheus have whole, fresh series for the tasks that there are."""
        tasks: dict[str, list[str]] = {"read": [], "split": []}
        for task in by_task(self.story.pods(NAME)):
            if task != without:
                tasks[task.rpartition("-")[0]].append(task)
        self._told = set(by_task(self.story.pods(NAME)))
        edges = [("read", "split")]
        self.prometheus.answer_with = lambda _: None
        self.prometheus.series = dict(
            scraped(self.story.namespace, NAME, tasks, edges, per_s=per_s)
        )

    def splits(self) -> int:
        return int(self.story.vertex(NAME, "split")["spec"]["replicas"])

    def is_measured(self) -> bool:
        return self.story.condition(NAME, "MetricsAvailable")[0] == "True"

    def heal(self) -> None:
        """Busy, measured, and at rest: whatever still was under way has ended."""
        self.tell(BUSY_PER_S)
        self.story.until(self._is_at_rest, what="measurements and rest")

    def _is_at_rest(self) -> bool:
        if self._told != set(by_task(self.story.pods(NAME))):
            self.tell(BUSY_PER_S)
            return False
        ended = all(standing(plan) in ("Applied", "Lapsed") for plan in self.story.plans(NAME))
        is_enough = self.splits() == ENOUGH and self.story.is_settled(NAME)
        return ended and is_enough and self.is_measured() and not self.story.turn()

    def held(self) -> dict[str, Any]:
        """All that must not change."""
        return {
            "pods": {pod["metadata"]["uid"] for pod in self.story.pods(NAME)},
            "splits": self.splits(),
            "plans": [(p["metadata"]["name"], standing(p)) for p in self.story.plans(NAME)],
            "decision": self.story.topology(NAME)["status"]["lastDecision"],
        }


@pytest.fixture(scope="module")
def bed(control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    namespace = f"t-{secrets.token_hex(4)}"
    control_plane.create_namespace(namespace)
    with fake_prometheus() as prometheus:
        story = Story(
            control_plane,
            namespace,
            metrics_sources={"default": MetricsSource(url=prometheus.url)},
            condense=CondenseSettings(
                folder=str(tmp_path_factory.mktemp("store")), interval_s=0.5, engine="numpy"
            ),
        )
        try:
            yield _scaled_up(Bed(story, prometheus))
        finally:
            story.close()
            control_plane.delete_namespace(namespace)


def _scaled_up(bed: Bed) -> Bed:
    scaling = {"mode": "Auto", "cooldownSeconds": 0, "scaleDownAfterSeconds": 0}
    spec = {"placement": {"mode": "Off"}, "scaling": scaling, "metrics": {"staleAfterSeconds": 20}}
    bed.story.apply(chain(NAME, vertex("read"), vertex("split", 2, most=4), **spec))
    bed.story.until_ready(NAME)
    bed.heal()
    return bed


def _gone(bed: Bed) -> None:
    bed.prometheus.answer_with = lambda _: (503, b"")


def _empty(bed: Bed) -> None:
    bed.prometheus.series = {}


def _not_a_number(bed: Bed) -> None:
    bed.tell(IDLE_PER_S)
    every_sample(bed.prometheus, lambda at, _: (at, "NaN"))


def _partial(bed: Bed) -> None:
    bed.tell(IDLE_PER_S, without="split-1")


def _old(bed: Bed) -> None:
    """The last sample of each series is ten minutes old."""
    bed.tell(IDLE_PER_S)
    every_sample(bed.prometheus, lambda at, value: (at - 1200, value))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param(_empty, "MetricsMissing", id="empty"),
        pytest.param(_not_a_number, "MetricsMissing", id="NaN"),
        pytest.param(_partial, "MetricsPartial", id="partial"),
        pytest.param(_old, "MetricsMissing", id="ten minutes old"),
        pytest.param(_gone, "MetricsStale", id="gone"),
    ],
)
def test_nothing_is_taken_away(bed: Bed, fault: Callable[[Bed], None], reason: str) -> None:
    bed.heal()
    held = bed.held()
    fault(bed)
    # A run under way ends late on a busy machine: then they are called old first.
    bed.story.until(
        lambda: bed.story.condition(NAME, "MetricsAvailable")[:2] == ("False", reason),
        what=f"the fault to be called {reason}",
    )
    for _ in range(TURNS):
        bed.story.turn()
    assert bed.held() == held


def test_a_restarted_operator_takes_nothing_away_either(bed: Bed) -> None:
    bed.heal()
    held = bed.held()
    _gone(bed)
    bed.story.restart()
    bed.story.until(lambda: not bed.is_measured(), what="the fault to be noticed")
    for _ in range(TURNS):
        bed.story.turn()
    assert bed.held() == held


def test_the_same_load_is_believed_when_it_is_measured(bed: Bed) -> None:
    bed.heal()
    bed.tell(IDLE_PER_S)
    bed.story.until(lambda: bed.splits() == 1, what="tasks that nobody needs to go")
