"""What a row's numbers are worth: the gates of the experiments.

Order: pairs that are at least 10 % apart in the paper must come in the same order here; only
systems with a published rule, and the paper's own. Captured share: the paper's strategy gains at
least half of what the best plan known gains. Beside it the paper's gain, half of it and ours; where
even the best plan known does not reach half, the gain is out of reach in this model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite

from bench.papers.rows import Measure, Row, numbers_of
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
    numbers = {
        name: number
        for name, number in numbers_of(result.row.paper).items()
        if _counts(result, name)
    }
    ranked = [name for name in result.row.ranks if _counts(result, name)]
    more_is_better = result.row.measure.more_is_better
    return [
        *orders_apart(numbers, result.values, more_is_better=more_is_better),
        *(
            Order(
                better=better,
                worse=worse,
                holds=result.beats(result.values[better], result.values[worse]),
            )
            for better, worse in combinations(ranked, 2)
        ),
    ]


def orders_apart(
    numbers: Mapping[str, float], values: Mapping[str, float], *, more_is_better: bool
) -> list[Order]:
    """Every pair that the paper's numbers set apart, and whether ours come in that order."""
    found = []
    for one, other in combinations(numbers, 2):
        if abs(numbers[one] - numbers[other]) < APART * max(numbers[one], numbers[other]):
            continue
        first = (numbers[one] > numbers[other]) is more_is_better
        better, worse = (one, other) if first else (other, one)
        more, less = (better, worse) if more_is_better else (worse, better)
        holds = values[more] > values[less]
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


def sensitivity(
    row: Row, systems: Sequence[System], variants: Mapping[str, Sequence[System]] | None = None
) -> Sensitivity:
    """Halve and double every constant; then run the variants of the systems as they are."""
    held: list[str] = []
    broken: list[str] = []
    for name in VARIED:
        for factor in (0.5, 2.0):
            constants = row.setting.constants
            if getattr(constants, name) == 0:
                continue
            setting = row.setting.with_constants(constants.scaled(name, factor))
            kept = _keeps_order(replace(row, setting=setting), systems)
            (held if kept else broken).append(f"{name} × {factor:g}")
    for label, others in (variants or {}).items():
        (held if _keeps_order(row, others) else broken).append(label)
    return Sensitivity(row=row, held_by=tuple(held), broken_by=tuple(broken))


def _keeps_order(row: Row, systems: Sequence[System]) -> bool:
    return all(pair.holds for pair in orders(run_row(row, systems, seeds=(1,), tries=0)))


def is_gated(row: Row) -> bool:
    """Whether a row's order counts."""
    is_told = bool(numbers_of(row.paper)) or bool(row.ranks)
    return not row.contradicts and is_told and row.measure is not Measure.NODES
