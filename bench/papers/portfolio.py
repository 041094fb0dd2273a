"""Whether a paper ever finds a better placement than our own search: what its place in Auto's
portfolio would be worth.

Every paper places the same instances as Auto, and all placements are told in J. Small instances are
those of `bench.gap`, up to 30 tasks; middle ones are drawn with up to 1,000.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

import numpy as np

from bench.instances import Instance, small_instances
from bench.streams import Size, one_topology
from bench.tables import table
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.strategies import STRATEGIES

PAPERS = ("HdStream", "MdStream", "NsStream", "RaStream", "SgpStream")
MIDDLE = (
    Size(tasks=60, nodes=12, domains=3),
    Size(tasks=120, nodes=20, domains=4),
    Size(tasks=250, nodes=40, domains=4),
    Size(tasks=500, nodes=60, domains=6),
    Size(tasks=1000, nodes=100, domains=8),
)
SEEDS = (1, 2)
EQUAL = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How one paper did beside Auto."""

    name: str
    ratios: tuple[float, ...]
    """J of the paper over J of Auto, instance by instance; infinite where it left tasks out."""

    @property
    def wins(self) -> int:
        """Where the paper is better."""
        return sum(ratio < 1 - EQUAL for ratio in self.ratios)

    @property
    def draws(self) -> int:
        """Where both are as good."""
        return sum(abs(ratio - 1) <= EQUAL for ratio in self.ratios)


def instances() -> Iterator[Instance]:
    """All of them, the small first."""
    yield from small_instances()
    for size in MIDDLE:
        for seed in SEEDS:
            yield Instance(name=f"{size.tasks} tasks", snapshot=one_topology(size, seed))


def run(battery: Sequence[Instance]) -> list[Tally]:
    """Place everything by everybody."""
    ratios: dict[str, list[float]] = {name: [] for name in PAPERS}
    for instance in battery:
        auto = _value(instance, "Auto")
        for name in PAPERS:
            ratios[name].append(_ratio(_value(instance, name), auto))
    return [Tally(name=name, ratios=tuple(found)) for name, found in ratios.items()]


def told(found: Sequence[Tally]) -> str:
    """One line a paper."""
    rows = [
        (
            one.name,
            f"{one.wins} of {len(one.ratios)}",
            one.draws,
            f"{median(ratio for ratio in one.ratios if isfinite(ratio)):.2f}",
            f"{min(one.ratios):.3f}",
        )
        for one in found
    ]
    head = ("paper", "better than Auto", "as good", "J over Auto's, median", "the least")
    return table(head, rows)


def _value(instance: Instance, name: str) -> tuple[int, float]:
    snapshot = instance.snapshot
    everyone = np.ones(len(snapshot.placement), dtype=np.bool_)
    proposal = STRATEGIES[name].place(snapshot, movable=everyone, rng=np.random.default_rng(1))
    return problem_of(snapshot, everyone).score(np.array(proposal.node))


def _ratio(paper: tuple[int, float], auto: tuple[int, float]) -> float:
    if paper[0] != auto[0]:
        return float("inf") if paper[0] > auto[0] else 0.0
    if paper[1] == auto[1]:
        return 1.0
    return paper[1] / auto[1] if auto[1] > 0 else float("inf")
