"""Plans from files: the snapshot that the operator would build, and what is decided from it."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from thalweg_operator.api.topology import Processes, TopologySpec
from thalweg_operator.command.inputs import Topology, read_nodes, read_topology
from thalweg_operator.command.measured import (
    OBSERVED,
    assumed_loads,
    read_latency,
    read_loads,
    read_rates,
    silent_edges,
)
from thalweg_operator.deciding import Situation, build_snapshot
from thalweg_operator.observe.eligibility import why_not_eligible
from thalweg_operator.observe.facts import NodeFact
from thalweg_operator.observe.ledger import Ledger
from thalweg_scheduling.decide import decide
from thalweg_scheduling.measure.needs import needs, overloaded
from thalweg_scheduling.measure.objective import cross_domain_share
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.limits import Limits, ScalingLimits
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency
from thalweg_scheduling.model.memory import Lull, Memory
from thalweg_scheduling.model.plan import Missing, Plan, Prediction
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.proposal import processes_for
from thalweg_scheduling.scale import resized
from thalweg_scheduling.simulate import predict
from thalweg_scheduling.strategies import STRATEGIES, strategy_named

NOW_S = OBSERVED.at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What a plan is made from."""

    topology: Path
    nodes: Path
    latency: Path | None = None
    rates: Path | None = None
    loads: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The files, read."""

    topology: Topology
    nodes: tuple[NodeFact, ...]
    snapshot: Snapshot
    notes: tuple[Reason, ...]
    """What the files leave open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A plan and what can be said about it without a cluster."""

    plan: Plan
    domain_of: Mapping[str, str]
    """Node to domain."""
    replicas: Mapping[str, int]
    """Vertex to tasks, of all vertices."""
    cross_domain_share: float
    nodes_used: int
    prediction: Prediction | None
    """Absent where not every task has a node."""
    overloaded: tuple[str, ...]
    reasons: tuple[Reason, ...]
    missing: tuple[Missing, ...]
    planning_s: float


def read_case(files: Files, classes: LatencyClasses) -> Case:
    """Read all files; whichever is wrong says so."""
    topology = read_topology(files.topology, frozenset(STRATEGIES))
    nodes = read_nodes(files.nodes)
    snapshot = build_snapshot(
        Situation(
            name=topology.name,
            spec=topology.spec,
            replicas={vertex.name: vertex.replicas.initial for vertex in topology.spec.vertices},
            surveys={},
            nodes={node.name: node for node in nodes},
            ledger=Ledger(()),
            now_s=NOW_S,
        )
    )
    traffic = read_rates(files.rates, snapshot) if files.rates else None
    pairs_s = read_latency(files.latency, snapshot) if files.latency else None
    return Case(
        topology=topology,
        nodes=nodes,
        snapshot=replace(
            snapshot,
            traffic=traffic,
            loads=read_loads(files.loads, snapshot) if files.loads else None,
            latency=NodeLatency(pairs_s=pairs_s, classes=classes, observed=OBSERVED),
            limits=_limits(snapshot.limits, topology.spec),
        ),
        notes=(
            *_notes(silent_edges(snapshot, traffic) if traffic else None),
            *((_ASSUMED,) if files.rates and not files.loads else ()),
        ),
    )


def answer(case: Case, strategy: str, *, seed: int, scale: bool) -> Answer:
    """Decide once, as for a topology of which nothing runs yet."""
    rng = np.random.default_rng(seed)
    begun_s = time.perf_counter()
    snapshot = case.snapshot
    scaling_reasons: tuple[Reason, ...] = ()
    if scale:
        scaler = strategy_named(strategy).scale
        scaling = scaler(snapshot, now_s=NOW_S, memory=_long_ago(snapshot))
        scaling_reasons = scaling.reasons
        snapshot = resized(snapshot, scaling.replicas)
    plan = decide(snapshot, strategy, now_s=NOW_S, rng=rng)
    planning_s = time.perf_counter() - begun_s
    node = _positions(snapshot, plan)
    over = np.flatnonzero(overloaded(needs(snapshot), node))
    return Answer(
        plan=plan,
        domain_of={
            name: snapshot.domains[domain]
            for name, domain in zip(snapshot.nodes, snapshot.domain_of, strict=True)
        },
        replicas=MappingProxyType({vertex.name: vertex.replicas for vertex in snapshot.vertices}),
        cross_domain_share=cross_domain_share(snapshot, node),
        nodes_used=len(set(plan.assignments.values())),
        prediction=None if plan.missing else _prediction(snapshot, node),
        overloaded=tuple(snapshot.nodes[position] for position in over),
        reasons=(*case.notes, *scaling_reasons, *plan.reasons),
        missing=tuple(_explained(case, lack) for lack in plan.missing),
        planning_s=planning_s,
    )


def _long_ago(snapshot: Snapshot) -> Memory:
    """What to remember of a topology that has run like this for ever: nobody waits for anything."""
    began_s = float("-inf")
    lulls = {vertex.name: Lull(since_s=began_s, most_wanted=0) for vertex in snapshot.vertices}
    return Memory(at_s=began_s, began_s=began_s, lulls=MappingProxyType(lulls))


def _positions(snapshot: Snapshot, plan: Plan) -> Ints:
    position = {name: number for number, name in enumerate(snapshot.nodes)}
    where = [position.get(plan.assignments.get(task.name, ""), UNPLACED) for task in snapshot.tasks]
    return np.array(where, dtype=np.int64)


def _prediction(snapshot: Snapshot, node: Ints) -> Prediction:
    if snapshot.loads is None and snapshot.traffic is not None:
        snapshot = replace(snapshot, loads=assumed_loads(snapshot, snapshot.traffic))
    return predict(snapshot, node, processes_for(snapshot, node))


def _limits(limits: Limits, spec: TopologySpec) -> Limits:
    shared = spec.placement.processes is Processes.SHARED
    scaling = spec.scaling
    return replace(
        limits,
        placement=replace(limits.placement, shared_processes=shared),
        scaling=ScalingLimits(
            target_utilization=scaling.target_utilization_percent / 100,
            max_step_up=scaling.max_up_factor,
            max_down_share=scaling.max_down_percent / 100,
            backlog_seconds=scaling.backlog_s,
        ),
    )


def _notes(silent: list[str] | None) -> tuple[Reason, ...]:
    if silent is None:
        message = "no rates are given: every edge is taken to carry the same, and J is unknown"
        return (Reason(code=ReasonCode.METRICS_MISSING, message=message),)
    return tuple(
        Reason(code=ReasonCode.METRICS_PARTIAL, message=f"no rate is given for {edge}: 0 is taken")
        for edge in silent
    )


_ASSUMED = Reason(
    code=ReasonCode.METRICS_MISSING,
    message="no loads are given: the prediction takes tasks to be as busy as they should be",
)


def _explained(case: Case, lack: Missing) -> Missing:
    """Where no node is eligible, say what is against each."""
    if lack.resource != "nodes":
        return lack
    vertex = lack.task.rpartition("-")[0]
    template = next(one for one in case.topology.spec.vertices if one.name == vertex).template
    label = case.topology.spec.placement.domain_label
    why = Counter(
        why_not_eligible(template["spec"], node, domain_label=label) for node in case.nodes
    )
    details = ", ".join(f"{reason} ({count})" for reason, count in sorted(why.items()))
    return replace(lack, message=f"no node may run {lack.task}: {details or 'there is none'}")
