"""Tables and pictures of what came out."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from bench.papers.contest import Contest
from bench.papers.gates import Sensitivity, orders_apart, verdict
from bench.papers.over_time import Told
from bench.papers.rows import Said, numbers_of
from bench.papers.running import Result
from bench.tables import percent, table


def told(contest: Contest, results: Sequence[Result]) -> str:
    """All rows: the numbers, and what they are worth."""
    return "\n\n".join([_numbers(contest, results), _worth(contest, results)])


def told_sensitivity(found: Sequence[Sensitivity]) -> str:
    """In how many runs with halved and doubled constants each order holds."""
    rows = [(one.row.name, f"{len(one.held_by)} of {one.runs}", _broken(one)) for one in found]
    return table(("row", "order holds", "broken by"), rows)


def _broken(one: Sensitivity) -> str:
    if not one.held_by:
        return "all of them"
    if len(one.held_by) < len(one.broken_by):
        return f"all but {', '.join(one.held_by)}"
    return ", ".join(one.broken_by) or "–"


def told_over_time(found: Sequence[Told], strategy: str) -> str:
    """One line for each stretch of a run, and what it is worth beside the baseline."""
    names = list(found[0].values)
    rows = []
    for one in found:
        paper = one.paper_gain(strategy)
        rows.append(
            (
                one.run.name,
                one.span.name,
                one.span.unit,
                *(_timed(one, name) for name in names),
                "–" if paper is None else percent(paper),
                percent(one.gain(strategy)),
                percent(one.gain("Auto")) if "Auto" in one.values else "–",
                _held(one),
            )
        )
    gains = ("paper's gain", f"{strategy} here", "Auto here")
    return table(("run", "when", "measure", *names, *gains, "order"), rows)


def _held(one: Told) -> str:
    """How many of the pairs that the paper sets apart come in its order here."""
    if one.run.contradicts:
        return "reported only"
    numbers = {name: n for name, n in numbers_of(one.span.paper).items() if name in one.values}
    more = one.span.more_is_better
    held = [pair.holds for pair in orders_apart(numbers, one.values, more_is_better=more)]
    for better, worse in combinations(one.span.ranks, 2):
        higher, lower = (better, worse) if more else (worse, better)
        held.append(one.values[higher] > one.values[lower])
    return f"{sum(held)} of {len(held)}" if held else "–"


def _timed(one: Told, name: str) -> str:
    paper = one.span.paper.get(name)
    words = _short(one.values[name])
    return words if paper is None else f"{words} (paper {_said(paper)})"


def _said(paper: Said) -> str:
    return paper if isinstance(paper, str) else _short(paper)


def _numbers(contest: Contest, results: Sequence[Result]) -> str:
    names = [system.name for system in contest.systems]
    rows = [
        (
            result.row.name,
            result.row.measure.value,
            f"{result.row.rate_per_s:g}",
            *(_cell(result, name) for name in names),
            _short(result.best),
        )
        for result in results
    ]
    return table(("row", "measure", "tuples/s", *names, "best plan known"), rows)


def _cell(result: Result, name: str) -> str:
    """`ours (paper's), nodes`."""
    if name not in result.values:
        return "no room"
    words = _short(result.values[name])
    if name in result.row.paper:
        mark = ", fitted" if name in result.row.fitted else ""
        words += f" (paper {_said(result.row.paper[name])}{mark})"
    return f"{words}, {result.nodes[name]} nodes"


def _worth(contest: Contest, results: Sequence[Result]) -> str:
    name = contest.strategy
    rows = []
    for result in results:
        if name not in result.values:
            continue
        paper = result.paper_gain(name)
        rows.append(
            (
                result.row.name,
                result.row.base,
                "–" if paper is None else percent(paper),
                "–" if paper is None else percent(paper / 2),
                percent(result.gain(name)),
                percent(result.gain("Auto")) if "Auto" in result.values else "–",
                percent(result.bound),
                verdict(result, name),
            )
        )
    head = (
        "row",
        "against",
        "paper's gain",
        "half",
        f"{name} here",
        "Auto here",
        "bound",
        "what holds",
    )
    return table(head, rows)


def _short(value: float) -> str:
    if value >= 1e6:
        return "overloaded"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def draw(contest: Contest, results: Sequence[Result], path: Path) -> None:
    """Bars of the gains over the baseline: the paper's, ours, and the bound."""
    import matplotlib as mpl

    mpl.use("svg")
    # The same numbers give the same file.
    mpl.rcParams["svg.hashsalt"] = "thalweg"
    from matplotlib import pyplot as plt

    name = contest.strategy
    shown = [
        result
        for result in results
        if name in result.values and result.paper_gain(name) is not None
    ]
    figure, axes = plt.subplots(figsize=(7.2, 0.6 + 0.75 * max(1, len(shown))))
    kinds = (
        ("in the paper", [100 * (one.paper_gain(name) or 0.0) for one in shown], "#b0b7bf"),
        (f"{name} here", [100 * one.gain(name) for one in shown], "#1f6f8b"),
        ("Auto here", [100 * one.gain("Auto") for one in shown], "#e08e45"),
        ("best plan known", [100 * one.bound for one in shown], "#7a9e7e"),
    )
    for offset, (label, gains, colour) in enumerate(kinds):
        places = [place + (offset - 1.5) * 0.2 for place in range(len(shown))]
        axes.barh(places, gains, height=0.18, label=label, color=colour)
    axes.set_yticks(range(len(shown)), [one.row.name for one in shown])
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_xlabel(f"gain over the baseline, % ({contest.title})")
    axes.legend(frameon=False, fontsize="small")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
