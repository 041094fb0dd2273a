"""How far apart nodes are: seeded, and changed by hand while it runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg_runtime.simulated.facts import NodeFact
from thalweg_runtime.simulated.hidden import Hidden
from thalweg_scheduling.model.arrays import Floats

SAME_NODE_S = 0.00005
SAME_DOMAIN_S = 0.00025
CROSS_DOMAIN_S = 0.005

_PAIR_SPREAD = 0.1
_PROBE_SPREAD = 0.04


@dataclass(kw_only=True)
class Network:
    """One-way seconds between nodes, by domain."""

    hidden: Hidden
    domain_label: str
    factor: float = 1.0
    """On everything between two domains."""
    between: dict[frozenset[str], float] = field(default_factory=dict)
    """One-way seconds that somebody has set between two domains; one name is within it."""

    def slow(self, domains: Iterable[str], latency_s: float) -> None:
        """Set what lies between two domains from now on."""
        self.between[frozenset(domains)] = latency_s

    def reset(self) -> None:
        """As it was at the start."""
        self.factor = 1.0
        self.between.clear()

    def latency_s(self, nodes: Sequence[NodeFact]) -> Floats:
        """Shape (nodes, nodes): symmetric, and the same for the same names."""
        domains = sorted({self.domain_of(node) for node in nodes})
        place = {domain: position for position, domain in enumerate(domains)}
        table = np.array([[self._domains_s(a, b) for b in domains] for a in domains])
        at = np.array([place[self.domain_of(node)] for node in nodes], dtype=np.int64)
        own = np.array([self._node_factor(node.name) for node in nodes])
        seconds: Floats = table.reshape(len(domains), len(domains))[np.ix_(at, at)]
        seconds = seconds * np.sqrt(own[:, None] * own[None, :])
        np.fill_diagonal(seconds, SAME_NODE_S)
        return seconds

    def domain_of(self, node: NodeFact) -> str:
        """A node without the label is a domain of its own."""
        return node.labels.get(self.domain_label) or node.name

    def _domains_s(self, one: str, other: str) -> float:
        fixed = self.between.get(frozenset((one, other)))
        if fixed is not None:
            return fixed * (1.0 if one == other else self.factor)
        if one == other:
            return SAME_DOMAIN_S
        first, second = sorted((one, other))
        draw = self.hidden.generator("domains", first, second)
        return float(CROSS_DOMAIN_S * draw.uniform(0.6, 1.6) * self.factor)

    def _node_factor(self, name: str) -> float:
        draw = self.hidden.generator("wire", name)
        return float(np.exp(draw.normal(0.0, _PAIR_SPREAD)))


def probed_rtt_s(latency_s: Floats, draw: np.random.Generator) -> Floats:
    """Round trips as a prober would see them this time: never shorter than they are."""
    jitter = np.abs(draw.normal(0.0, _PROBE_SPREAD, latency_s.shape))
    rtt: Floats = 2 * latency_s * (1 + jitter)
    return rtt
