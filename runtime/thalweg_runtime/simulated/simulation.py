"""All topologies of a world, moved on together."""

from dataclasses import dataclass, field

import numpy as np

from thalweg_runtime.simulated.counting import Counters
from thalweg_runtime.simulated.facts import NodeFact, TopologyFact, World
from thalweg_runtime.simulated.flowing import Conditions, Tick, flow
from thalweg_runtime.simulated.hidden import Hidden
from thalweg_runtime.simulated.network import Network, probed_rtt_s
from thalweg_runtime.simulated.offering import Profile
from thalweg_runtime.simulated.staging import Stage, stage_of
from thalweg_scheduling.model.arrays import Floats

Key = tuple[str, str]

_LEAST_FREE = 0.05
"""However greedy the others are, the kernel gives everyone this share of a node."""


@dataclass(kw_only=True)
class Offer:
    """What arrives at a topology: a profile, and what somebody turned it to."""

    profile: Profile
    began_at_s: float = 0.0
    factor: float = 1.0

    def rate_per_s(self, at_s: float) -> float:
        """Tuples a second over all sources."""
        return self.factor * self.profile.rate_per_s(at_s - self.began_at_s)


@dataclass(kw_only=True)
class Play:
    """One topology that is being played."""

    counters: Counters
    draw: np.random.Generator
    backlog: Floats
    has_begun: bool = False
    tick: Tick | None = None
    offered_per_s: float = 0.0
    cores: dict[str, float] = field(default_factory=dict)
    """What it uses of each node."""

    @property
    def stage(self) -> Stage:
        """Where it is played now."""
        return self.counters.stage


class Simulation:
    """The state of everything; one thread at a time."""

    def __init__(self, *, seed: int, profile: Profile, domain_label: str) -> None:
        self.hidden = Hidden(seed=seed)
        self.network = Network(hidden=self.hidden, domain_label=domain_label)
        self.now_s = 0.0
        self.plays: dict[Key, Play] = {}
        self.nodes: tuple[NodeFact, ...] = ()
        self.rtt_s: Floats = np.zeros((0, 0))
        self._profile = profile
        self._offers: dict[Key, Offer] = {}
        self._parameters = self.hidden.parameters()
        self._world = World()
        self._latency_s: Floats = np.zeros((0, 0))
        self._probes = self.hidden.generator("probes")

    def see(self, world: World) -> None:
        """Take in what the cluster is now."""
        if world == self._world:
            return
        before = {play.stage.fact.key: play.stage.fact for play in self.plays.values()}
        nodes_changed = world.nodes != self.nodes
        self._world, self.nodes = world, world.nodes
        if nodes_changed:
            self._latency_s = self.network.latency_s(self.nodes)
        for fact in world.topologies:
            self._offers.setdefault(fact.key, Offer(profile=self._profile))
            if nodes_changed or before.get(fact.key) != fact:
                self._set(fact)
        there = {fact.key for fact in world.topologies}
        for key in self.plays.keys() - there:
            del self.plays[key]
        for key in self._offers.keys() - there:
            del self._offers[key]

    def network_changed(self) -> None:
        """Work out everything that depends on the network again."""
        self._latency_s = self.network.latency_s(self.nodes)
        for fact in self._world.topologies:
            self._set(fact)

    def offers(self, topology: str | None = None) -> list[Offer]:
        """What arrives at one topology, or at each."""
        return [offer for (_, name), offer in self._offers.items() if topology in (None, name)]

    def offer_by_default(self, profile: Profile) -> None:
        """Let topologies that are not there yet begin with this."""
        self._profile = profile

    def advance(self, dt_s: float) -> None:
        """Let time pass."""
        self.now_s += dt_s
        self.rtt_s = probed_rtt_s(self._latency_s, self._probes)
        for key, play in self.plays.items():
            self._advance(play, self._offers[key], dt_s)

    def _advance(self, play: Play, offer: Offer, dt_s: float) -> None:
        stage = play.stage
        if not play.has_begun:
            # A stream begins once every vertex has somebody to do its work.
            present = {pod.vertex for pod in stage.fact.pods}
            play.has_begun = present == set(stage.fact.vertices)
        play.offered_per_s = offer.rate_per_s(self.now_s) if play.has_begun else 0.0
        under = Conditions(
            offered_per_s=play.offered_per_s,
            dt_s=dt_s,
            parameters=self._parameters,
            free_cores=self._free_cores(play),
        )
        tick = flow(stage, play.backlog, under, play.draw)
        play.counters.add(tick)
        play.backlog, play.tick = tick.backlog, tick
        play.cores = _cores(stage, tick, dt_s)

    def _free_cores(self, play: Play) -> Floats:
        stage = play.stage
        cores = np.array(stage.snapshot.capacity[:, 0])
        free = np.array(cores)
        for other in self.plays.values():
            if other is not play:
                free -= [other.cores.get(node, 0.0) for node in stage.snapshot.nodes]
        left: Floats = np.maximum(free, _LEAST_FREE * cores)
        return left

    def _set(self, fact: TopologyFact) -> None:
        """Build the stage of a topology and let its pods go on."""
        play = self.plays.get(fact.key)
        stage = stage_of(fact, self.nodes, self._latency_s, self.hidden)
        if play is None:
            self.plays[fact.key] = Play(
                counters=Counters(stage),
                draw=self.hidden.generator("noise", *fact.key),
                backlog=np.zeros(len(fact.sources)),
            )
            return
        if play.stage.fact.sources != fact.sources:
            play.backlog = np.zeros(len(fact.sources))
        play.counters = play.counters.moved_to(stage)


def _cores(stage: Stage, tick: Tick, dt_s: float) -> dict[str, float]:
    used = np.zeros(len(stage.snapshot.nodes))
    np.add.at(used, stage.snapshot.placement, tick.cpu_s / dt_s)
    return dict(zip(stage.snapshot.nodes, used.tolist(), strict=True))
