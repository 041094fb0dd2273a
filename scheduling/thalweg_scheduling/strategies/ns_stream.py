"""Ns-Stream: a hierarchical near-source grouping strategy (TSC 2025).

A graph network divides the tasks over nodes so that little flows between them, then those of each
node over processes. While it runs, tuples go to tasks in the sender's own process first, then on
its node, then elsewhere, each up to a cap.

| paper | here |
| --- | --- |
| Eq 1, 2 communication matrix E | `measure.rates.search_rates`, `partition.dependencies` |
| Eq 7, 0/1 before the first measurement | `communication` |
| Eq 3–6, 10 what flows between nodes | `Dependencies.cut` |
| Eq 8, 9 deployment, balance | `place.likely.place_likeliest`, `fair_shares` |
| Eq 12, 13 loss | `partition.graph_network.PartLoss` |
| Algorithm 1, for nodes | `partition.graph_network.part_probabilities`, `place_ns` |
| Algorithm 1, for the workers of a node | the same, `workers` |
| Eq 14 PC, Eq 15 cap | `group.weighing.near_source_flows` |
| Eq 16–18 weights | `group.weighing.weigh_near_source` |
| Eq 19, Algorithm 2, pick | `group.near_source.NearSource` |

Deviations:

- (12) balances numbers of tasks; here a node's part is its share of all capacity.
- A subgraph may be larger than its node or its share: the surest tasks come first, who finds its
  node full goes to the next likely one, and in the end to the cheapest that has room.
- Of more nodes than tasks, or than `most_nodes`, only those next to the sources are divided to,
  enough to hold the topology with room to spare: the paper has a cluster to itself.
- Which subgraph goes to which node is not said; parts and nodes keep their order.
- The paper deploys once, before anything flows, and only groups anew while a topology runs. The
  operator places tasks so at first, too, but goes on to ask `place_ns` by what is measured: its
  moves are made before they break, and only where J gains by them. Who wants the paper's way sets
  `placement.mode: Off`.
- (15)–(18) as ruled in `group.near_source`: rates per second, caps shared by all who send there.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from thalweg_scheduling.group.near_source import ALPHA
from thalweg_scheduling.group.weighing import weigh_near_source
from thalweg_scheduling.measure.amounts import Amounts, amounts
from thalweg_scheduling.measure.rates import Rates
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.dependencies import dependencies
from thalweg_scheduling.partition.graph_network import Parts, Training, part_probabilities
from thalweg_scheduling.place.hosting import hosted
from thalweg_scheduling.place.likely import place_likeliest
from thalweg_scheduling.place.multi_domain import node_order
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.settling import settle
from thalweg_scheduling.strategies.ranges import within
from thalweg_scheduling.strategies.strategy import Strategy

SPARE = 1.5
"""Of a large cluster so many times what the topology takes is divided to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NsParameters:
    """The paper's parameters; where it is silent, ours."""

    alpha: float = ALPHA
    """α, from 0.05 to 1: the share of its time that a task may be busy; .5 to .7 is advised."""
    training: Training = field(default_factory=Training)
    """2 encoders of 64 are published; steps (1 to 10,000) and rate (0 to 1) are not."""
    imbalance: float = 0.2
    """From 0 to 1: how much more than its share a node may get; Eq 9 says about none."""
    workers_per_node: int = 2
    """From 1 to 64; not stated."""
    most_nodes: int = 64
    """From 1 to 1024; ours."""

    def __post_init__(self) -> None:
        within("alpha", self.alpha, 0.05, 1)
        within("imbalance", self.imbalance, 0, 1)
        within("workers_per_node", self.workers_per_node, 1, 64)
        within("most_nodes", self.most_nodes, 1, 1024)
        within("training.encoders", self.training.encoders, 1, 8)
        within("training.hidden", self.training.hidden, 1, 1024)
        within("training.steps", self.training.steps, 1, 10_000)
        within("training.rate", self.training.rate, 0, 1)


PUBLISHED = NsParameters()


def place_ns(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,
    parameters: NsParameters = PUBLISHED,
) -> Proposal:
    """Algorithm 1 twice: over nodes, then over the workers of each node."""
    problem = problem_of(snapshot, movable)
    used = amounts(snapshot)
    nodes = _nodes(problem, used, parameters.most_nodes)
    if nodes.size == 0 or not movable.any():
        return proposed(snapshot, np.where(movable, UNPLACED, snapshot.placement))
    weight, capacity = used.weighted_by({}, _mean(used))
    part_of = np.full(len(snapshot.nodes) + 1, UNPLACED, dtype=np.int64)
    part_of[nodes] = np.arange(len(nodes))
    certain = np.where(movable, UNPLACED, part_of[snapshot.placement])
    involved = movable | (certain != UNPLACED)
    graph = dependencies(communication(problem), weight, involved)
    likely = np.zeros((len(movable), len(nodes)))
    likely[involved] = part_probabilities(
        graph,
        Parts(capacity=capacity[nodes], certain=certain[involved]),
        rng,
        parameters.training,
    )
    most = fair_shares(weight[involved], capacity[nodes], parameters.imbalance)
    stays = certain != UNPLACED
    most -= np.bincount(certain[stays], weight[stays], minlength=len(nodes))
    wish = place_likeliest(problem, likely, nodes, weight=weight, most=most)
    node = settle(problem, wish)
    worker = workers(problem, node, rng, parameters)
    note = f"a graph network divided {int(movable.sum())} tasks over {len(nodes)} nodes"
    return replace(proposed(snapshot, node, (note,)), process=hosted(problem, node, worker))


def communication(problem: Problem) -> Rates:
    """E: what was measured, or before that 1 for every pair that will talk (Eq 7)."""
    rates = problem.rates
    if problem.snapshot.traffic is not None:
        return rates
    return replace(rates, per_s=np.ones(len(rates.per_s)))


def fair_shares(weight: Floats, capacity: Floats, imbalance: float) -> Floats:
    """Eq 9: what each node may get, its share of everything and a little more.

    A share is rounded up to whole tasks of the heaviest kind.
    """
    share = capacity / max(float(capacity.sum()), 1e-300) * float(weight.sum())
    heaviest = max(float(weight.max(initial=0.0)), 1e-300)
    most: Floats = (1 + imbalance) * np.ceil(share / heaviest - 1e-9) * heaviest
    return most * (1 + 1e-9)


def workers(
    problem: Problem, node: Ints, rng: np.random.Generator, parameters: NsParameters
) -> Ints:
    """Shape (tasks,): the worker of each task on its node, by Algorithm 1 on the node's own graph.

    Only where processes may be shared; otherwise each task is its own anyhow.
    """
    worker = np.zeros(len(node), dtype=np.int64)
    if not problem.snapshot.limits.placement.shared_processes:
        return worker
    weight = np.ones(len(node))
    equal = np.ones(parameters.workers_per_node)
    for each in np.unique(node[node != UNPLACED]):
        here = (node == each) & problem.movable
        if here.sum() <= 1:
            continue
        anybody = np.full(int(here.sum()), UNPLACED)
        likely = part_probabilities(
            dependencies(communication(problem), weight, here),
            Parts(capacity=equal, certain=anybody),
            rng,
            parameters.training,
        )
        worker[here] = likely.argmax(axis=1)
    return worker


def _nodes(problem: Problem, used: Amounts, most: int) -> Ints:
    """The nodes that are divided to, in order; in a large cluster the first that are enough."""
    snapshot = problem.snapshot
    stays = ~problem.movable & (snapshot.placement != UNPLACED)
    hosts = np.unique(snapshot.placement[stays])
    order = node_order(problem, np.zeros(len(snapshot.nodes)))
    able = np.asarray(snapshot.eligible[problem.movable].any(axis=0))
    order = order[able[order]]
    wanted = min(int(problem.movable.sum()), most)
    if len(order) > wanted:
        weight, capacity = used.weighted_by({}, _mean(used))
        held = np.cumsum(capacity[order])
        enough = int(np.searchsorted(held, SPARE * weight[problem.movable].sum())) + 1
        order = order[: max(wanted, enough)]
    return np.unique(np.concatenate([order, hosts])).astype(np.int64)


def _mean(used: Amounts) -> Floats:
    if len(used.there) == 0:
        return np.ones(len(used.words))
    mean: Floats = np.maximum(used.there, 0.0).mean(axis=0)
    return mean


def ns_stream(parameters: NsParameters = PUBLISHED) -> Strategy:
    """The strategy with other parameters than these."""
    return Strategy(
        place=partial(place_ns, parameters=parameters),
        weigh=partial(weigh_near_source, alpha=parameters.alpha),
    )


NS_STREAM = ns_stream()
