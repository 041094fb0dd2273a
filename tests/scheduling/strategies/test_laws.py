"""What every strategy keeps, whatever it is asked."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from thalweg_generators import (
    NOW_S,
    OBSERVED,
    Cluster,
    applied,
    make_snapshot,
    snapshots,
)
from thalweg_scheduling.decide import decide
from thalweg_scheduling.measure.needs import needs, overloaded
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.limits import Permits
from thalweg_scheduling.model.matrices import LOAD_FIELDS, Observed, TaskLoad
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.baselines import BASELINES
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Placer
from thalweg_scheduling.place.room import Room
from thalweg_scheduling.place.spread import breaks_spread
from thalweg_scheduling.strategies import STRATEGIES
from thalweg_scheduling.strategies.auto import portfolio

every_strategy = pytest.mark.parametrize("strategy", sorted(STRATEGIES))
PLACERS = {name: strategy.place for name, strategy in STRATEGIES.items()} | BASELINES
every_placer = pytest.mark.parametrize(
    "place",
    [pytest.param(place, id=name) for name, place in PLACERS.items()],
)
quickly = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def everyone(snapshot: Snapshot) -> Bools:
    return np.ones(len(snapshot.tasks), dtype=np.bool_)


def decided(snapshot: Snapshot, strategy: str) -> Plan:
    return decide(snapshot, strategy, now_s=NOW_S, rng=rng())


def is_feasible(snapshot: Snapshot) -> bool:
    return problem_of(snapshot, everyone(snapshot)).is_feasible(snapshot.placement)


def nodes_of(snapshot: Snapshot, plan: Plan) -> Ints:
    return np.array(applied(snapshot, plan, NOW_S).placement)


@every_placer
@quickly
@given(snapshot=snapshots())
def test_every_task_is_placed_once_where_it_may_be_and_fits(
    place: Placer, snapshot: Snapshot
) -> None:
    movable = everyone(snapshot)
    proposal = place(snapshot, movable=movable, rng=rng())
    assert proposal.node.shape == (len(snapshot.tasks),)
    homeless = {snapshot.tasks[task].name for task in np.flatnonzero(proposal.node == UNPLACED)}
    assert homeless == {lack.task for lack in proposal.missing}
    for task, node in enumerate(proposal.node):
        assert node == UNPLACED or snapshot.eligible[task, node]
    assert not overloaded(needs(snapshot), proposal.node).any()
    assert not breaks_spread(snapshot, proposal.node, movable)


@every_placer
@quickly
@given(snapshot=snapshots(placed=False))
def test_tasks_that_may_not_move_stay(place: Placer, snapshot: Snapshot) -> None:
    movable = snapshot.placement == UNPLACED
    proposal = place(snapshot, movable=movable, rng=rng())
    assert np.array_equal(place(snapshot, movable=movable, rng=rng()).node, proposal.node)
    assert np.array_equal(proposal.node[~movable], snapshot.placement[~movable])


@every_strategy
@quickly
@given(snapshot=snapshots(placed=False))
def test_newcomers_overload_nothing_that_was_not_overloaded(
    strategy: str, snapshot: Snapshot
) -> None:
    before = overloaded(needs(snapshot), snapshot.placement)
    after = overloaded(needs(snapshot), nodes_of(snapshot, decided(snapshot, strategy)))
    assert not (after & ~before).any()


@every_strategy
@quickly
@given(snapshot=snapshots())
def test_processes_never_span_nodes(strategy: str, snapshot: Snapshot) -> None:
    proposal = STRATEGIES[strategy].place(snapshot, movable=everyone(snapshot), rng=rng())
    for process in np.unique(proposal.process):
        assert len(np.unique(proposal.node[proposal.process == process])) == 1


@every_strategy
@quickly
@given(snapshot=snapshots(placed=True))
def test_each_move_is_feasible_when_its_turn_comes(strategy: str, snapshot: Snapshot) -> None:
    plan = decided(snapshot, strategy)
    tasks = {task.name: position for position, task in enumerate(snapshot.tasks)}
    nodes = {name: position for position, name in enumerate(snapshot.nodes)}
    room = Room(snapshot, everyone(snapshot))
    for move in plan.moves:
        task, source, target = tasks[move.task], nodes[move.source], nodes[move.target]
        assert room.can_move(task, source, target)
        room.take(task, source)
        room.put(task, target)
    limit = snapshot.limits.placement.max_moves
    assert limit is None or len(plan.moves) <= limit


@every_strategy
@quickly
@given(snapshot=snapshots())
def test_the_same_seed_gives_the_same_plan(strategy: str, snapshot: Snapshot) -> None:
    # As text, because an unknown J is NaN, which equals nothing.
    assert str(decided(snapshot, strategy)) == str(decided(snapshot, strategy))


@every_strategy
@quickly
@given(snapshot=snapshots())
def test_renaming_with_order_kept_renames_the_plan(strategy: str, snapshot: Snapshot) -> None:
    renamed = replace(
        snapshot,
        topology="other",
        vertices=tuple(replace(vertex, name=f"x{vertex.name}") for vertex in snapshot.vertices),
        nodes=tuple(f"z{name}" for name in snapshot.nodes),
        domains=tuple(f"y{name}" for name in snapshot.domains),
    )
    expected = {
        f"x{task}": f"z{node}" for task, node in decided(snapshot, strategy).assignments.items()
    }
    assert dict(decided(renamed, strategy).assignments) == expected


@every_strategy
@quickly
@given(snapshot=snapshots())
def test_a_second_decide_is_nothing(strategy: str, snapshot: Snapshot) -> None:
    plan = decided(snapshot, strategy)
    later = applied(snapshot, plan, NOW_S)
    if later.unplaced.size:
        assert not decided(later, strategy).placed
        return
    if 0 < len(plan.placed) < len(snapshot.tasks):
        # Newcomers are placed at once; whether others should move for them is the next question.
        return
    most = snapshot.limits.placement.max_moves
    if most is not None and len(plan.moves) == most and not is_feasible(later):
        # As many as may go at a time; the others that have to leave follow.
        return
    assert decided(later, strategy).changes_nothing
    if most is None:
        if plan.moves and not is_feasible(snapshot):
            # Who had to leave left alone; whether others should move is the next question too.
            rested = replace(later, last_moved_at_s=None)
            later = applied(rested, decided(rested, strategy), NOW_S)
        # Not only because it rests: there is nothing more to gain.
        assert decided(replace(later, last_moved_at_s=None), strategy).changes_nothing


OLD = Observed(at_s=NOW_S - 1e4, window_s=300, samples=20, coverage=1.0)
PART = Observed(at_s=NOW_S, window_s=300, samples=20, coverage=0.5)
NO_FIGURES = (np.nan, -1.0, np.inf)


def _unknown_rates(snapshot: Snapshot) -> list[Snapshot]:
    """Each way of not knowing the traffic, one at a time."""
    traffic = snapshot.traffic
    assert traffic is not None
    found = [replace(traffic, observed=observed) for observed in (None, OLD, PART)]
    for bad in NO_FIGURES if len(traffic.targets) else ():
        per_s = np.array(traffic.tuples_per_s)
        per_s[0] = bad
        found.append(replace(traffic, tuples_per_s=per_s))
    return [replace(snapshot, traffic=each) for each in (None, *found)]


def _unknowns(snapshot: Snapshot) -> list[Snapshot]:
    """Each way of not knowing, one at a time."""
    latency, nodes = snapshot.latency, len(snapshot.nodes)
    found = _unknown_rates(snapshot)
    for observed in (None, OLD, PART):
        found.append(replace(snapshot, latency=replace(latency, observed=observed)))
    for bad in NO_FIGURES:
        if nodes > 1:
            pairs = np.full((nodes, nodes), 0.001)
            pairs[0, 1] = bad
            found.append(replace(snapshot, latency=replace(latency, pairs_s=pairs)))
    return found


@every_strategy
@settings(quickly, max_examples=8)
@given(snapshot=snapshots(placed=True))
def test_the_unknown_never_moves_anything(strategy: str, snapshot: Snapshot) -> None:
    if snapshot.traffic is None or not snapshot.tasks:
        assert not decided(snapshot, strategy).moves
        return
    for unknown in _unknowns(snapshot):
        plan = decided(unknown, strategy)
        assert plan.changes_nothing
        assert plan.reasons[0].code in {
            ReasonCode.METRICS_MISSING,
            ReasonCode.METRICS_STALE,
            ReasonCode.METRICS_PARTIAL,
        }


@every_strategy
def test_the_unknown_permits_a_first_placement(strategy: str) -> None:
    for unknown in _unknowns(make_snapshot()):
        plan = decided(unknown, strategy)
        assert len(plan.placed) == 10
        assert not plan.missing


def _idle(permits: Permits) -> Snapshot:
    """Ten tasks on four nodes, measured and hardly busy: most of it could go."""
    spread = make_snapshot(placement=[0, 1, 2, 3, 0, 1, 2, 3, 0, 1])
    tasks = len(spread.tasks)
    figures = {name: np.full(tasks, 0.01) for name in LOAD_FIELDS}
    figures |= {name: np.zeros(tasks) for name in ("backpressured_share", "wait_s", "queue_tuples")}
    figures |= {"processed_per_s": np.full(tasks, 50.0), "true_rate_per_s": np.full(tasks, 5000.0)}
    loads = TaskLoad(**figures, observed=OBSERVED)
    return replace(spread, loads=loads, limits=replace(spread.limits, permits=permits))


def _unknown_loads(snapshot: Snapshot, figure: str) -> list[Snapshot]:
    """Each way of not knowing what tasks do, one at a time; `figure` of one task, or all."""
    loads = snapshot.loads
    assert loads is not None
    nothing = TaskLoad.unknown(len(snapshot.tasks))
    found = [None, nothing, replace(nothing, observed=OBSERVED)]
    found += [replace(loads, observed=observed) for observed in (None, OLD, PART)]
    for bad in NO_FIGURES:
        figures = np.array(getattr(loads, figure))
        figures[0] = bad
        found.append(replace(loads, observed=OBSERVED, **{figure: figures}))
    return [replace(snapshot, loads=each) for each in found]


def _fewer(snapshot: Snapshot, plan: Plan) -> set[str]:
    return {
        vertex.name
        for vertex in snapshot.vertices
        if plan.replicas.get(vertex.name, vertex.replicas) < vertex.replicas
    }


@every_strategy
def test_the_unknown_never_takes_tasks_away(strategy: str) -> None:
    known = _idle(Permits(scale=True))
    # A paper may wait before its first change; ours would take tasks away at once.
    assert _fewer(known, decided(known, "Auto"))
    for unknown in _unknown_loads(known, "processed_per_s") + _unknown_rates(known):
        assert not _fewer(unknown, decided(unknown, strategy))


@every_strategy
def test_the_unknown_puts_nobody_to_sleep(strategy: str) -> None:
    known = _idle(Permits(sleep=True))
    assert decided(known, strategy).asleep
    for unknown in _unknown_loads(known, "cpu_cores") + _unknowns(known):
        assert not decided(unknown, strategy).asleep


@quickly
@given(snapshot=snapshots())
def test_auto_is_at_least_as_good_as_all_that_it_compares(snapshot: Snapshot) -> None:
    problem = problem_of(snapshot, everyone(snapshot))
    proposal = STRATEGIES["Auto"].place(snapshot, movable=problem.movable, rng=rng())
    homeless, value = problem.score(proposal.node)
    for candidate in portfolio(problem, rng()):
        assert (homeless, value) <= (candidate.homeless, candidate.value)
    present = snapshot.placement
    if problem.is_feasible(present):
        assert (homeless, value) <= problem.score(present)


@every_strategy
@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(make_snapshot({}), id="no tasks"),
        pytest.param(make_snapshot({"only": 1}), id="one task"),
        pytest.param(make_snapshot({"a": 2, "b": 2}, []), id="no edges"),
        pytest.param(make_snapshot({"a": 2, "b": 2}, rates={("a", "b"): 0.0}), id="no traffic"),
        pytest.param(make_snapshot({"a": 2, "b": 2}, rates={("a", "b"): 1e300}), id="huge rates"),
        pytest.param(
            make_snapshot({"a": 1, "b": 1, "c": 1, "d": 1}, [("a", "b"), ("c", "d")]),
            id="disconnected",
        ),
        pytest.param(make_snapshot(cluster=Cluster(nodes=1, domains=1, cpu=8.0)), id="one node"),
        pytest.param(make_snapshot(cluster=Cluster(nodes=4, domains=1)), id="one domain"),
    ],
)
def test_odd_topologies_are_placed(strategy: str, snapshot: Snapshot) -> None:
    plan = decided(snapshot, strategy)
    assert len(plan.assignments) == len(snapshot.tasks)
    assert not plan.missing


@every_strategy
def test_the_infeasible_is_a_value_that_names_what_is_missing(strategy: str) -> None:
    plan = decided(make_snapshot(cpu=3.0), strategy)
    assert len(plan.placed) == 4
    assert len(plan.missing) == 6
    assert {lack.resource for lack in plan.missing} == {"cpu"}
    assert "asks for cpu 3" in plan.missing[0].message


@every_strategy
def test_no_nodes_at_all_is_infeasible_too(strategy: str) -> None:
    snapshot = make_snapshot()
    bare = replace(
        snapshot,
        nodes=(),
        domain_of=np.zeros(0, dtype=np.int64),
        capacity=np.zeros((0, 2)),
        eligible=np.zeros((10, 0), dtype=np.bool_),
    )
    plan = decided(bare, strategy)
    assert len(plan.missing) == 10
    assert not plan.assignments
