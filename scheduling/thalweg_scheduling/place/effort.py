"""How hard the search of large topologies tries: more where it is cheap."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How hard to try."""

    node_share: float = 0.25
    """Tasks are drawn together up to this share of the smallest node."""
    deals: int = 8
    """How often domains are dealt, each time from another beginning."""
    deal_steps: int = 20_000
    """Annealing steps of each deal, at most."""
    passes: int = 8
    anneal_steps: int = 0
    """Annealing steps of single tasks at the end."""


INTERPRETED = Effort(deals=4, deal_steps=1_500, anneal_steps=3_000)
"""For kernels as they are written, on some hundred tasks."""
VECTORISED = Effort(deals=2, deal_steps=1_500, passes=4)
"""For the stand-ins by numpy, on thousands of tasks."""


def compiled_effort(tasks: int) -> Effort:
    """For compiled kernels."""
    if tasks <= 2_000:
        return Effort(deals=16, anneal_steps=50 * tasks)
    if tasks <= 20_000:
        return Effort(deals=8, deal_steps=6_000, anneal_steps=40_000)
    return Effort(deals=4, anneal_steps=tasks)
