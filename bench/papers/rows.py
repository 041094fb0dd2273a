"""One line of an experiment: what was measured, of whom, and the numbers that the paper has."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from bench.papers.setting import Setting

Said = float | str
"""What a paper has of a system: a number, or words where it has no more than a range."""


def numbers_of(paper: Mapping[str, Said]) -> dict[str, float]:
    """The numbers of what a paper says: only with these can be reckoned."""
    return {name: said for name, said in paper.items() if not isinstance(said, str)}


class Measure(Enum):
    """What is compared, and its unit."""

    LATENCY = "complete latency, ms"
    COMPONENTS = "latency without the network, ms"
    WAITING = "waiting before processing, ms"
    PROCESSING = "processing, ms"
    BOTTLENECK = "highest rate without failure, tuples/s"
    THROUGHPUT = "throughput, tuples/s"
    PENDING = "throughput with so many tuples pending, tuples/s"
    NODES = "nodes used"
    CPU = "CPU of the nodes used, %"
    UTILIZATION = "mean of CPU and memory of the nodes used, %"

    @property
    def more_is_better(self) -> bool:
        """Whether a larger number is the better one."""
        return self not in _LESS_IS_BETTER

    @property
    def is_of_nodes(self) -> bool:
        """Whether it says how nodes are used: then using fewer is the point of it."""
        return self in (Measure.NODES, Measure.CPU, Measure.UTILIZATION)


_LESS_IS_BETTER = (
    Measure.LATENCY,
    Measure.COMPONENTS,
    Measure.WAITING,
    Measure.PROCESSING,
    Measure.NODES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An experiment at one rate."""

    name: str
    setting: Setting
    measure: Measure
    rate_per_s: float
    base: str
    """The baseline that gains are told against."""
    paper: Mapping[str, Said]
    """What the paper has by system; a system without anything is run all the same."""
    fitted: tuple[str, ...] = ()
    """Systems whose number the constants were fitted to: they agree by construction."""
    contradicts: str = ""
    """Why it is reported only; empty where it counts."""
    ranks: tuple[str, ...] = ()
    """Whom the paper has before whom where it has no numbers, the best first."""
    pending: float = 0.0
    """Tuples in flight where the source is held back by their number."""
