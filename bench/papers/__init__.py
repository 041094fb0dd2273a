"""The five papers' experiments: `python -m bench papers [ra|sgp|ns|hd|md …]`, all without a word.

Steady rows run in the analytic mode of the simulator, rows over time in its discrete-event mode.
`--pictures FOLDER` draws them too; `--sensitivity` runs every gated row again with each constant,
and each parameter that the paper does not state, halved and doubled. Two more words: `locality`
compares near-source with Storm's own shuffle, `portfolio` says how often a paper finds a better
placement than Auto.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from argparse import Namespace

    from bench.papers.contest import Contest
    from bench.papers.over_time import Run
    from bench.papers.rows import Row
    from bench.papers.running import Result

Line = TypeVar("Line", bound="Row | Run | Result")


def main(*words: str) -> int:
    """Run what is named; the exit code is 2 where a word is nothing of this."""
    import argparse
    import sys

    from bench.papers.contest import CONTESTS

    more: dict[str, Callable[[], str]] = {"locality": _locality, "portfolio": _portfolio}
    parser = argparse.ArgumentParser(prog="python -m bench papers", description=__doc__)
    parser.add_argument("papers", nargs="*", choices=[[], *CONTESTS, *more], default=[])
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    parser.add_argument("--sensitivity", action="store_true")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--steady", action="store_true", help="leave rows over time out")
    either.add_argument("--runs", action="store_true", help="only rows over time")
    asked = parser.parse_args(list(words))
    for word in asked.papers or [*CONTESTS, *more]:
        sys.stderr.write(f"{word} …\n")
        if word in more:
            print(more[word]())
        else:
            for part in _page(word, asked):
                print(part, end="\n\n", flush=True)
        print()
    return 0


def _locality() -> str:
    from bench.papers.locality import run, told

    return f"## Locality\n\n{told(run())}"


def _portfolio() -> str:
    from bench.papers.portfolio import instances, run, told

    return f"## Portfolio\n\n{told(run(list(instances())))}"


def _told(lines: Sequence[Line], what: str) -> Iterator[Line]:
    """One after the other; whoever waits sees on stderr which one it is and what the last took."""
    import sys
    from time import monotonic

    for line in lines:
        begun_s = monotonic()
        sys.stderr.write(f"  {what} {line.name} … ")
        sys.stderr.flush()
        yield line
        sys.stderr.write(f"{monotonic() - begun_s:.0f} s\n")


def _page(word: str, asked: "Namespace") -> Iterator[str]:
    """Part by part, as they are done: the whole takes minutes."""
    from bench.papers.contest import CONTESTS

    contest = CONTESTS[word]
    yield f"## {contest.title}"
    if not asked.runs:
        yield from _steady(contest, asked)
    if not asked.steady:
        yield from _over_time(contest)
    if asked.sensitivity:
        yield _sensitivity(contest)


def _steady(contest: "Contest", asked: "Namespace") -> Iterator[str]:
    from bench.papers.equal_nodes import at_equal_nodes, told_at_equal_nodes
    from bench.papers.growth import told_growth
    from bench.papers.running import run_row
    from bench.papers.telling import draw, told

    systems = contest.systems
    results = [run_row(row, systems) for row in _told(contest.rows, "row")]
    yield told(contest, results)
    if contest.growths:
        yield told_growth(contest.growths, results)
    if asked.pictures is not None:
        draw(contest, results, asked.pictures / f"{contest.word}-stream.svg")
    again = [at_equal_nodes(one, systems, contest.strategy) for one in _told(results, "again")]
    equal = [one for one in again if one is not None]
    if equal:
        yield told_at_equal_nodes(equal, systems, contest.strategy)
    for table in contest.more:
        yield table()


def _over_time(contest: "Contest") -> Iterator[str]:
    from bench.papers.over_time import run_over_time
    from bench.papers.telling import told_over_time

    runs = _told(contest.runs, "run")
    timed = [one for run in runs for one in run_over_time(run, contest.over_time)]
    if timed:
        yield told_over_time(timed, contest.strategy)


def _sensitivity(contest: "Contest") -> str:
    from bench.papers.gates import is_gated, sensitivity
    from bench.papers.parameters import with_varied_parameters
    from bench.papers.telling import told_sensitivity

    systems = contest.systems
    variants = with_varied_parameters(systems)
    rows = _told([row for row in contest.rows if is_gated(row)], "sensitivity of")
    return told_sensitivity([sensitivity(row, systems, variants) for row in rows])
