"""A paper's strategy with other parameters: each part gets them."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import NOW_S, OBSERVED, Cluster, make_snapshot
from thalweg_scheduling.group.weighted import WeightSteps
from thalweg_scheduling.measure.fluctuation import surroundings_of
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.scale.gradient import Descent
from thalweg_scheduling.scale.parallelism_update import Elasticity
from thalweg_scheduling.strategies.hd_stream import HdParameters, hd_stream
from thalweg_scheduling.strategies.md_stream import MdParameters, md_stream
from thalweg_scheduling.strategies.ns_stream import NsParameters, ns_stream
from thalweg_scheduling.strategies.ra_stream import RaParameters, ra_stream
from thalweg_scheduling.strategies.sgp_stream import SgpParameters, sgp_stream
from thalweg_scheduling.strategies.strategy import Strategy


def running(
    busy: float = 0.5, grouping: GroupingType = GroupingType.SHUFFLE, *, wait_s: float = 0.001
) -> Snapshot:
    """Ten tasks on four nodes, measured; every other one lets tuples wait for longer."""
    snapshot = make_snapshot(
        placement=[0, 1, 2, 3, 0, 1, 2, 3, 0, 1],
        cluster=Cluster(nodes=4, domains=1, cpu=8.0),
        limits=Limits(placement=PlacementLimits(shared_processes=True)),
    )
    tasks = len(snapshot.tasks)
    loads = TaskLoad(
        cpu_cores=np.full(tasks, busy),
        memory_bytes=np.full(tasks, np.nan),
        busy_share=np.full(tasks, busy),
        backpressured_share=np.zeros(tasks),
        wait_s=np.where(np.arange(tasks) % 2, wait_s, 50 * wait_s),
        processed_per_s=np.full(tasks, 40.0),
        true_rate_per_s=np.full(tasks, 40.0 / busy),
        queue_tuples=np.zeros(tasks),
        observed=OBSERVED,
    )
    edges = tuple(replace(edge, grouping=grouping) for edge in snapshot.edges)
    return replace(snapshot, edges=edges, loads=loads, memory=Memory(at_s=NOW_S))


def placed(strategy: Strategy, snapshot: Snapshot) -> Proposal:
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    return strategy.place(snapshot, movable=everyone, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ra_stream(), ra_stream(RaParameters(underload=0.05, overload=0.1))),
        (md_stream(), md_stream(MdParameters(margin=0.1))),
        (ns_stream(), ns_stream(NsParameters(most_nodes=1))),
        (sgp_stream(), sgp_stream(SgpParameters(slots_per_node=16))),
    ],
)
def test_placers_get_them(one: Strategy, other: Strategy) -> None:
    snapshot = running()
    assert placed(one, snapshot).node.tolist() != placed(other, snapshot).node.tolist()


def test_hd_streams_trigger_gets_them() -> None:
    before = running()
    assert before.traffic is not None
    memory = Memory(at_s=NOW_S, placed_by=surroundings_of(before))
    faster = replace(before.traffic, tuples_per_s=1.5 * before.traffic.tuples_per_s)
    after = replace(before, memory=memory, traffic=faster)
    calm, nervous = hd_stream(HdParameters(tolerated=0.6)), hd_stream(HdParameters(tolerated=0.4))
    assert calm.hesitate is not None
    assert nervous.hesitate is not None
    assert calm.hesitate(after) is not None
    assert nervous.hesitate(after) is None


def test_scalers_get_them() -> None:
    busy = running(0.8)
    lazy = SgpParameters(descent=Descent(most_busy=0.9))
    assert sgp_stream().scale(busy, now_s=NOW_S).replicas
    assert not sgp_stream(lazy).scale(busy, now_s=NOW_S).replicas
    hurried = MdParameters(elasticity=Elasticity(settling_s=0.0, most_busy=0.7))
    assert not md_stream().scale(busy, now_s=NOW_S).replicas
    assert md_stream(hurried).scale(busy, now_s=NOW_S).replicas


def test_groupings_get_them() -> None:
    weighted = running(grouping=GroupingType.WEIGHTED)
    steep = SgpParameters(weights=WeightSteps(initial=10.0, rise=10.0))
    one, other = (
        strategy.weigh(weighted, weighted.placement, None)[0].shares
        for strategy in (sgp_stream(), sgp_stream(steep))
    )
    assert max(other.values()) > max(one.values()) + 0.02
    near = running(0.9, GroupingType.NEAR_SOURCE)
    kept, sent = (
        strategy.weigh(near, near.placement, None)
        for strategy in (ns_stream(NsParameters(alpha=0.05)), ns_stream(NsParameters(alpha=1.0)))
    )
    assert [dict(each.shares) for each in kept] != [dict(each.shares) for each in sent]
