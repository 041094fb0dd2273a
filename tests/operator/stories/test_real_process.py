"""The operator as a process of its own: Lease, watch and loop together."""

import random
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from thalweg_ear import Ear
from thalweg_operator.cluster.resources import LEASES
from thalweg_stories import DEADLINE_S, Story, word_count
from thalweg_testbed import OPERATOR_USER, Cluster, Process, eventually
from thalweg_walks import Ground, Walker

pytestmark = pytest.mark.control_plane

SIGKILLED = 128 + signal.SIGKILL
NEVER = -1
PASSES = 5


class Stage:
    """Starts operators in namespaces and ends them with the test."""

    def __init__(self, cluster: Cluster, folder: Path, running: ExitStack) -> None:
        self._kubeconfig = str(cluster.kubeconfig_for(OPERATOR_USER))
        self._folder = folder
        self._running = running
        self._started = 0

    def run(self, *command: str) -> Process:
        self._started += 1
        name = f"operator-{self._started}"
        process = Process(name, [sys.executable, *command], log=self._folder / f"{name}.log")
        return self._running.enter_context(process)

    def operator(self, namespace: str, *settings: str) -> Process:
        """What a user starts: `thalweg operator`."""
        pairs = [f"lease.namespace={namespace}", "serving.port=0", *settings]
        return self.run(
            *("-m", "thalweg_operator", "operator", "--kubeconfig", self._kubeconfig),
            *("--namespaces", namespace),
            *(f"--set={pair}" for pair in pairs),
        )

    def doomed(self, namespace: str, writes: int) -> Process:
        return self.run("-m", "thalweg_doomed_operator", self._kubeconfig, namespace, str(writes))


@pytest.fixture
def stage(control_plane: Cluster, tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as running:
        yield Stage(control_plane, tmp_path, running)


@pytest.fixture
def ground(control_plane: Cluster) -> Iterator[Ground]:
    made = Ground(control_plane)
    yield made
    made.close()


def _free_lease(ground_or_story: Ground | Story, namespace: str) -> None:
    """A Lease that is there and free is led at once; a missing one might just have been deleted."""
    lease = {"metadata": {"name": "thalweg", "namespace": namespace}, "spec": {}}
    ground_or_story.user.create(LEASES, lease)


def _looks(ear: Ear, namespace: str) -> int:
    """How often the loop has read the topologies."""
    reads = ear.heard().by(OPERATOR_USER).of("streamtopologies", namespace=namespace)
    return sum(record.verb == "list" for record in reads)


def test_an_idle_process_writes_nothing_but_its_lease(story: Story, stage: Stage) -> None:
    _free_lease(story, story.namespace)
    process = stage.operator(story.namespace, "pass_interval_s=0.5", "retire_grace_s=0")
    story.apply(word_count())
    eventually(
        lambda: story.is_settled("word-count"),
        what="ready",
        timeout_s=DEADLINE_S,
        show=process.log_tail,
    )
    # The last writes of the start may still be on their way: two more looks, and all is told.
    ear = Ear(story.cluster)
    eventually(lambda: _looks(ear, story.namespace) > 2)
    ear = Ear(story.cluster)
    eventually(lambda: _looks(ear, story.namespace) > PASSES)
    writes = ear.heard().within(story.namespace).writes_by(OPERATOR_USER)
    assert {record.resource for record in writes} <= {"leases"}
    assert process.is_running()
    assert process.stop(grace_s=30) == 0


def test_a_change_wakes_the_process(story: Story, stage: Stage) -> None:
    """Its passes are an hour apart: what it does is done because the watch told it."""
    _free_lease(story, story.namespace)
    ear = Ear(story.cluster)
    process = stage.operator(story.namespace, "pass_interval_s=3600", "retire_grace_s=0")
    eventually(lambda: _looks(ear, story.namespace), what="the first look", timeout_s=DEADLINE_S)
    story.apply(word_count())
    eventually(
        lambda: story.is_settled("word-count"),
        what="ready",
        timeout_s=DEADLINE_S,
        show=process.log_tail,
    )
    old = story.pod_of("word-count", "split-0")["metadata"]["uid"]
    story.kubectl("delete", "pod", story.pod_of("word-count", "split-0")["metadata"]["name"])
    eventually(
        lambda: (
            story.is_settled("word-count")
            and story.pod_of("word-count", "split-0")["metadata"]["uid"] != old
        ),
        what="replaced",
        timeout_s=DEADLINE_S,
        show=process.log_tail,
    )


def _end_at(stage: Stage, walkers: list[Walker], points: list[int]) -> None:
    """Let each operator be killed after its number of writes."""
    doomed = [
        stage.doomed(walker.namespace, point) for walker, point in zip(walkers, points, strict=True)
    ]
    eventually(
        lambda: not any(process.is_running() for process in doomed),
        what="all operators killed",
        timeout_s=DEADLINE_S,
        show=lambda: [process.log_tail() for process in doomed],
    )
    assert [process.exit_code for process in doomed] == [SIGKILLED] * len(doomed)


def _finish(stage: Stage, walkers: list[Walker], wanted: dict[str, Any]) -> None:
    """Start each operator again; all come to the same end."""
    heirs = [stage.doomed(walker.namespace, NEVER) for walker in walkers]
    eventually(
        lambda: all(walker.state() == wanted for walker in walkers),
        what="the same end everywhere",
        timeout_s=DEADLINE_S,
        show=lambda: [
            wanted,
            *((w.state(), h.log_tail()) for w, h in zip(walkers, heirs, strict=True)),
        ],
    )
    for walker, heir in zip(walkers, heirs, strict=True):
        walker.assert_one_pod_each()
        assert heir.stop(grace_s=30) == 0


@pytest.mark.lengthy(seconds=55)
def test_killed_by_the_kernel(ground: Ground, stage: Stage) -> None:
    """As the walk through every write, with real processes at a few of them."""
    first, *others = ground.walkers(4)
    first.apply(word_count())
    ground.go([first])
    for walker in others:
        _free_lease(ground, walker.namespace)
        walker.apply(word_count())
    choice = random.Random(3)
    _end_at(stage, others, choice.sample(range(first.writes), len(others)))
    _finish(stage, others, first.state())

    changed = word_count(image="example.org/worker:2")
    first.arm(None)
    for walker in (first, *others):
        walker.apply(changed)
    ground.go([first])
    # A process turns when it likes, and may need fewer turns: the last writes may not come.
    _end_at(stage, others, choice.sample(range(first.writes // 2), len(others)))
    _finish(stage, others, first.state())
