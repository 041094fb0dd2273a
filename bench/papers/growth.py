"""How much latency grows from the lowest to the highest rate of a figure.

The papers' texts tell the growth where their figures have the curves: in per cent, or only whose is
the least.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType

from bench.papers.gates import orders_apart
from bench.papers.rows import numbers_of
from bench.papers.running import Result
from bench.papers.systems import Kind
from bench.tables import percent, table


def _nothing() -> Mapping[str, float]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Two rows of one figure, by their names."""

    name: str
    low: str
    high: str
    paper: Mapping[str, float] = field(default_factory=_nothing)
    """By system, as a share of the latency at the lowest rate."""
    ranks: tuple[str, ...] = ()
    """Whose the paper says is less than whose where it has no numbers, the least first."""


def told_growth(growths: Sequence[Growth], results: Sequence[Result]) -> str:
    """One line a figure."""
    by = {result.name: result for result in results}
    names = list(by[growths[0].low].kinds)
    rows = []
    for one in growths:
        grown = growth(by[one.low], by[one.high])
        rows.append(
            (
                one.name,
                *(_cell(grown, one.paper, name) for name in names),
                _order(one, grown, by[one.low].kinds),
            )
        )
    return table(("latency grows by", *names, "order"), rows)


def growth(low: Result, high: Result) -> dict[str, float]:
    """By system, for those that have room in both rows."""
    return {
        name: high.values[name] / low.values[name] - 1 for name in low.values if name in high.values
    }


def _cell(grown: Mapping[str, float], paper: Mapping[str, float], name: str) -> str:
    if name not in grown:
        return "no room"
    words = percent(grown[name])
    return f"{words} (paper {percent(paper[name])})" if name in paper else words


def _order(one: Growth, grown: Mapping[str, float], kinds: Mapping[str, Kind]) -> str:
    counts = [name for name in grown if kinds[name] in (Kind.RULE, Kind.PAPER)]
    told = {name: n for name, n in numbers_of(one.paper).items() if name in counts}
    held = [pair.holds for pair in orders_apart(told, grown, more_is_better=False)]
    ranked = [name for name in one.ranks if name in counts]
    held += [grown[less] < grown[more] for less, more in combinations(ranked, 2)]
    return f"{sum(held)} of {len(held)}" if held else "–"
