"""What a row's numbers are worth: the gates of the experiments.

Order: pairs that are at least 10 % apart in the paper must come in the same order here; only
systems with a published rule, and the paper's own. Captured share: the paper's strategy gains at
least half of what the best plan known gains. Beside it the paper's gain, half of it and ours; where
even the best plan known does not reach half, the gain is out of reach in this model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite

from bench.papers.rows import Measure, Row
from bench.papers.running import Result, run_row
from bench.papers.setting import VARIED
from bench.papers.systems import Kind, System

APART = 0.1
LEAST_CAPTURED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One pair of systems that the paper sets apart."""

    better: str
    worse: str
    holds: bool


def orders(result: Result) -> list[Order]:
    """Every pair that counts, and whether it holds here."""
    numbers = result.row.paper
    found = []
    for one, other in combinations([name for name in numbers if _counts(result, name)], 2):
        if abs(numbers[one] - numbers[other]) < APART * max(numbers[one], numbers[other]):
            continue
        better, worse = (one, other) if result.beats(numbers[one], numbers[other]) else (other, one)
        holds = result.beats(result.values[better], result.values[worse])
        found.append(Order(better=better, worse=worse, holds=holds))
    return found


def _counts(result: Result, name: str) -> bool:
    return name in result.values and result.kinds[name] in (Kind.RULE, Kind.PAPER)


def verdict(result: Result, name: str) -> str:
    """One sentence on a paper's strategy in a row."""
    if result.row.contradicts:
        return f"reported only: {result.row.contradicts}"
    words = []
    pairs = orders(result)
    if pairs:
        held = sum(pair.holds for pair in pairs)
        words.append(f"order {held} of {len(pairs)}")
    captured = result.captured(name)
    if isfinite(captured):
        words.append(f"η {captured:.2f}{'' if captured >= LEAST_CAPTURED else ' (below 0.5)'}")
    else:
        words.append("no plan known gains anything")
    paper = result.paper_gain(name)
    if paper is not None and result.bound < paper / 2:
        words.append("half of the paper's gain is out of reach in this model")
    return "; ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How often the order of a row survives other constants."""

    row: Row
    held_by: tuple[str, ...]
    broken_by: tuple[str, ...]

    @property
    def runs(self) -> int:
        """With how many constants it was run."""
        return len(self.held_by) + len(self.broken_by)


def sensitivity(row: Row, systems: Sequence[System]) -> Sensitivity:
    """Halve and double every constant."""
    held: list[str] = []
    broken: list[str] = []
    for name in VARIED:
        for factor in (0.5, 2.0):
            constants = row.setting.constants
            if getattr(constants, name) == 0:
                continue
            setting = row.setting.with_constants(constants.scaled(name, factor))
            pairs = orders(run_row(replace(row, setting=setting), systems, seeds=(1,), tries=0))
            kept = all(pair.holds for pair in pairs)
            (held if kept else broken).append(f"{name} × {factor:g}")
    return Sensitivity(row=row, held_by=tuple(held), broken_by=tuple(broken))


def is_gated(row: Row) -> bool:
    """Whether a row's order counts."""
    return not row.contradicts and bool(row.paper) and row.measure is not Measure.NODES
