"""Who takes part in which paper's rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bench.papers import alphas, checks, hd, md, ns, preliminary, ra, sgp
from bench.papers.grouping import near_source, weighted_by_load
from bench.papers.growth import Growth
from bench.papers.over_time import Run
from bench.papers.rows import Row
from bench.papers.systems import (
    EVEN,
    LC_STREAM,
    R_STORM,
    RAS,
    SP_ANT,
    TOP_STORM,
    Kind,
    System,
    strategy,
)
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.strategies import strategy_named

_NEAR, _WEIGHTED = GroupingType.NEAR_SOURCE, GroupingType.WEIGHTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """A paper's rows and its competitors."""

    word: str
    title: str
    strategy: str
    rows: tuple[Row, ...]
    runs: tuple[Run, ...]
    baselines: tuple[System, ...]
    challengers: Callable[[], Sequence[System]]
    """The paper and ours; made late, so that a strategy that is missing spoils no other paper."""
    growths: tuple[Growth, ...] = ()
    more: tuple[Callable[[], str], ...] = ()
    """Tables of another shape."""

    @property
    def systems(self) -> tuple[System, ...]:
        """Everybody."""
        return (*self.baselines, *self.challengers())

    @property
    def over_time(self) -> tuple[System, ...]:
        """Those with a published rule, the paper and ours; Md-Stream scales in its runs."""
        rules = tuple(each for each in self.baselines if each.kind is Kind.RULE)
        return (*rules, *(self._scaling(each) for each in self.challengers()))

    def _scaling(self, system: System) -> System:
        if self.word != "md":
            return system
        return replace(system, scale=strategy_named(system.name).scale)


CONTESTS = {
    contest.word: contest
    for contest in (
        Contest(
            word="ra",
            title="Ra-Stream",
            strategy="RaStream",
            rows=ra.ROWS,
            growths=ra.GROWTHS,
            runs=ra.RUNS,
            baselines=(EVEN, R_STORM, SP_ANT),
            challengers=lambda: (strategy("RaStream"), strategy("Auto")),
        ),
        Contest(
            word="sgp",
            title="Sgp-Stream",
            strategy="SgpStream",
            rows=sgp.ROWS,
            runs=sgp.RUNS,
            more=(
                checks.placed_by_anyone,
                checks.more_tasks,
                preliminary.more_and_more,
                preliminary.rising,
            ),
            baselines=(RAS, EVEN),
            challengers=lambda: (
                strategy("SgpStream", scales=True, regroup=weighted_by_load, grouping=_WEIGHTED),
                strategy("Auto", scales=True, regroup=weighted_by_load, grouping=_WEIGHTED),
            ),
        ),
        Contest(
            word="ns",
            title="Ns-Stream",
            strategy="NsStream",
            rows=ns.ROWS,
            growths=ns.GROWTHS,
            runs=ns.RUNS,
            more=(lambda: alphas.told(alphas.run()), preliminary.before_near_source),
            baselines=(EVEN, R_STORM, TOP_STORM, SP_ANT),
            challengers=lambda: (
                strategy("NsStream", regroup=near_source, grouping=_NEAR),
                strategy("Auto", regroup=near_source, grouping=_NEAR),
            ),
        ),
        Contest(
            word="hd",
            title="Hd-Stream",
            strategy="HdStream",
            rows=hd.ROWS,
            runs=hd.RUNS,
            baselines=(EVEN, R_STORM),
            challengers=lambda: (strategy("HdStream", in_turn=True), strategy("Auto")),
        ),
        Contest(
            word="md",
            title="Md-Stream",
            strategy="MdStream",
            rows=md.ROWS,
            runs=md.RUNS,
            more=(checks.thresholds, checks.near_and_far),
            baselines=(EVEN, R_STORM, LC_STREAM, SP_ANT),
            challengers=lambda: (strategy("MdStream"), strategy("Auto")),
        ),
    )
}
