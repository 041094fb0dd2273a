"""Who takes part in which paper's rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.papers import alphas, checks, hd, md, ns, preliminary, ra, sgp
from bench.papers.grouping import near_source
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
        scales = self.word in ("sgp", "md")
        regroup = near_source if self.word == "ns" else None
        ours = (strategy(name, scales=scales, regroup=regroup) for name in (self.strategy, "Auto"))
        return (*rules, *ours)


CONTESTS = {
    contest.word: contest
    for contest in (
        Contest(
            word="ra",
            title="Ra-Stream",
            strategy="RaStream",
            rows=ra.ROWS,
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
            more=(checks.placed_by_anyone, checks.more_tasks, preliminary.more_and_more),
            baselines=(RAS, EVEN),
            challengers=lambda: (
                strategy("SgpStream", scales=True),
                strategy("Auto", scales=True),
            ),
        ),
        Contest(
            word="ns",
            title="Ns-Stream",
            strategy="NsStream",
            rows=ns.ROWS,
            runs=ns.RUNS,
            more=(lambda: alphas.told(alphas.run()), preliminary.before_near_source),
            baselines=(EVEN, R_STORM, TOP_STORM, SP_ANT),
            challengers=lambda: (
                strategy("NsStream", regroup=near_source),
                strategy("Auto", regroup=near_source),
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
