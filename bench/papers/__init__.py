"""The five papers' experiments: `python -m bench papers [ra|sgp|ns|hd|md …]`, all without a word.

Steady rows run in the analytic mode of the simulator, rows over time in its discrete-event mode.
`--pictures FOLDER` draws them too, `--sensitivity` runs every gated row again with each constant
halved and doubled. Two more words: `locality` compares near-source with Storm's own shuffle,
`portfolio` says how often a paper finds a better placement than Auto.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace


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
    parser.add_argument("--steady", action="store_true", help="leave rows over time out")
    asked = parser.parse_args(list(words))
    for word in asked.papers or [*CONTESTS, *more]:
        sys.stderr.write(f"{word} …\n")
        if word in more:
            print(more[word]())
        else:
            print(_page(word, asked))
        print()
    return 0


def _locality() -> str:
    from bench.papers.locality import run, told

    return f"## Locality\n\n{told(run())}"


def _portfolio() -> str:
    from bench.papers.portfolio import instances, run, told

    return f"## Portfolio\n\n{told(run(list(instances())))}"


def _page(word: str, asked: "Namespace") -> str:
    from bench.papers.contest import CONTESTS
    from bench.papers.gates import is_gated, sensitivity
    from bench.papers.over_time import run_over_time
    from bench.papers.running import run_row
    from bench.papers.telling import draw, told, told_over_time, told_sensitivity

    contest = CONTESTS[word]
    systems = contest.systems
    results = [run_row(row, systems) for row in contest.rows]
    parts = [f"## {contest.title}", told(contest, results)]
    if contest.runs and not asked.steady:
        timed = [one for run in contest.runs for one in run_over_time(run, contest.over_time)]
        parts.append(told_over_time(timed))
    if asked.sensitivity:
        gated = [sensitivity(row, systems) for row in contest.rows if is_gated(row)]
        parts.append(told_sensitivity(gated))
    if asked.pictures is not None:
        draw(contest, results, asked.pictures / f"{word}-stream.svg")
    return "\n\n".join(parts)
