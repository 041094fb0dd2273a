"""Linear deterministic greedy into processes, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.streaming import Sizes, stream_into_processes
from thalweg_scheduling.place.problem import problem_of


def talking(pairs: dict[tuple[int, int], float], tasks: int, cpu: float = 0.5) -> Snapshot:
    snapshot = make_snapshot(
        {f"v{place}": 1 for place in range(tasks)},
        [],
        Cluster(nodes=2, domains=1, cpu=4.0),
        rates={},
        cpu=cpu,
    )
    flows = {pair: (per_s, 0.0) for pair, per_s in pairs.items()}
    return replace(snapshot, traffic=DependencyMatrix.from_pairs(tasks, flows))


def streamed(snapshot: Snapshot, capacity: float, load: float = 1.0) -> list[int]:
    tasks = len(snapshot.tasks)
    problem = problem_of(snapshot, snapshot.placement == UNPLACED)
    sizes = Sizes(load=np.full(tasks, load), capacity=capacity, processes_per_node=2)
    return [int(each) for each in stream_into_processes(problem, range(tasks), sizes)]


def test_a_task_joins_those_it_talks_with() -> None:
    # Four tasks of 1 in two processes of 2: 0 and 1 start them, 2 talks with 0 and 3 with 1.
    pairs = {(0, 2): 5.0, (1, 3): 5.0, (0, 3): 1.0}
    assert streamed(talking(pairs, 4), capacity=2.0) == [0, 1, 0, 1]


def test_what_is_free_counts_as_much_as_the_traffic() -> None:
    # Three processes of 4, two tasks each in the first two; then 6 talks a little more with the
    # fuller one: 3 · (1 - 3/4) is less than 2 · (1 - 2/4).
    pairs = {(0, 3): 1.0, (0, 6): 1.0, (1, 4): 9.0, (2, 5): 9.0, (1, 7): 9.0}
    loads = np.ones(9)
    snapshot = talking({**pairs, (0, 8): 3.0, (1, 8): 2.0}, 9)
    problem = problem_of(snapshot, snapshot.placement == UNPLACED)
    sizes = Sizes(load=loads, capacity=4.0, processes_per_node=2)
    process = stream_into_processes(problem, range(9), sizes)
    assert process[:3].tolist() == [0, 1, 2]
    first, second = np.flatnonzero(process[:8] == 0), np.flatnonzero(process[:8] == 1)
    value = [3.0 * (1 - len(first) / 4), 2.0 * (1 - len(second) / 4)]
    assert process[8] == int(np.argmax(value))


def test_who_knows_nobody_goes_to_the_least_loaded() -> None:
    assert streamed(talking({}, 6), capacity=2.0) == [0, 1, 2, 0, 1, 2]


def test_a_full_process_takes_nobody() -> None:
    pairs = {(0, 1): 9.0, (0, 2): 9.0, (0, 3): 9.0}
    assert np.bincount(streamed(talking(pairs, 4), capacity=2.0)).max() == 2


def test_a_task_that_no_process_takes_gets_one_of_its_own() -> None:
    assert sorted(streamed(talking({}, 3), capacity=0.5)) == [0, 1, 2]


def test_what_no_node_could_host_together_is_not_put_together() -> None:
    pairs = {(0, 1): 9.0}
    assert len(set(streamed(talking(pairs, 2, cpu=3.0), capacity=9.0))) == 2
    apart = np.array([[True, False], [False, True]])
    assert len(set(streamed(replace(talking(pairs, 2), eligible=apart), capacity=9.0))) == 2


def test_a_shared_process_has_one_core() -> None:
    shared = Limits(placement=PlacementLimits(shared_processes=True))
    snapshot = replace(talking({(0, 1): 9.0, (1, 2): 9.0}, 3), limits=shared)
    assert np.bincount(streamed(snapshot, capacity=9.0)).max() == 2


@pytest.mark.parametrize("staying", [0, 1])
def test_newcomers_join_those_who_stay(staying: int) -> None:
    snapshot = talking({(0, 1): 9.0, (1, 2): 1.0}, 3)
    placement = np.full(3, UNPLACED)
    placement[0] = staying
    process = streamed(replace(snapshot, placement=placement), capacity=2.0)
    assert process[1] == process[0]
