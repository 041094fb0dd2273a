"""`thalweg simulate`: a topology under a load that changes, from files, with no cluster."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg_operator.command.planning import (
    EXIT_INFEASIBLE,
    CrossDomain,
    Form,
    LatencyFile,
    LoadsFile,
    NodesFile,
    Output,
    RatesFile,
    SameDomain,
    SameNode,
    SameProcess,
    TopologyFile,
    case_of,
    refuse_unknown,
    tell_missing,
)

if TYPE_CHECKING:
    from thalweg_operator.command.offline import Case
    from thalweg_operator.command.rehearsing import Wish
    from thalweg_scheduling.simulate.profiles import Profile
    from thalweg_scheduling.simulate.windows import Trial

HELP = """Run a topology under a changing load on paper, and draw what happens.

Tasks are placed by the strategy, which then looks at what it could measure every 30 seconds and
moves, scales and regroups as it would in mode Auto. Printed and drawn are latency, throughput,
replicas and nodes over time.

PROFILE says how many tuples arrive each second, and when (tuples/s and seconds):

\b
  constant:1000                  always 1000
  step:1000:5000:600             1000, from second 600 on 5000; more :RATE:AT may follow
  ramp:1000:5000:600:1200        1000 until second 600, rising to 5000 by second 1200
  day:500:7000:3600              two peaks a day; a day of 3600 s instead of 24 hours
  burst:1000:8000:300:30:600     8000 from second 300 for 30 s, the same every 600 s
  file:rates-over-time.csv       CSV: seconds,tuples_per_second

What a tuple costs is taken from --rates and --loads, as they were measured. Without them, tasks are
taken to be as busy as they should be at the profile's first rate.

Exit code 0 after a run, 2 when a file or option is wrong (the message names file and line), 3 when
not all tasks fit.
"""
_WEEK_MINUTES = 7 * 24 * 60


class Cut(StrEnum):
    """How finely time is cut."""

    AUTO = "auto"
    EVENTS = "events"
    BATCHES = "batches"


ProfileWords = Annotated[
    str, typer.Option(metavar="PROFILE", help="How many tuples arrive, and when; see above.")
]
StrategyName = Annotated[
    str | None, typer.Option(help="Instead of the one in TOPOLOGY.yaml.", show_default=False)
]
Fixed = Annotated[bool, typer.Option("--fixed", help="Leave everything as it is first placed.")]
Minutes = Annotated[float, typer.Option(min=0.1, max=_WEEK_MINUTES, help="How long the run is.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same run.")]
Pause = Annotated[
    float, typer.Option(min=0, help="Seconds that a task stands still when it is moved.")
]
CutOption = Annotated[
    Cut,
    typer.Option(
        help="Every tuple by itself (events), or streams in steps of time (batches); auto takes "
        "events up to 10 million."
    ),
]
Png = Annotated[
    Path | None,
    typer.Option(help="Draw into this file; needs thalweg[pictures].", show_default=False),
]
Html = Annotated[
    Path | None,
    typer.Option(help="Draw into this file; it needs nothing else.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", help=HELP)(simulate)


def simulate(  # noqa: PLR0913 -- each is an option of the command
    *,
    topology: TopologyFile,
    nodes: NodesFile,
    profile: ProfileWords,
    latency: LatencyFile = None,
    rates: RatesFile = None,
    loads: LoadsFile = None,
    strategy: StrategyName = None,
    fixed: Fixed = False,
    minutes: Minutes = 60.0,
    seed: Seed = 0,
    pause: Pause = 0.1,
    mode: CutOption = Cut.AUTO,
    png: Png = None,
    html: Html = None,
    output: Form = Output.TABLE,
    same_process: SameProcess = 0.0,
    same_node: SameNode = 0.0001,
    same_domain: SameDomain = 0.0005,
    cross_domain: CrossDomain = 0.01,
) -> None:
    """Place, run, and tell."""
    from thalweg_operator.command.rehearsing import Wish
    from thalweg_scheduling.simulate.trial import Mode

    refuse_unknown(strategy)
    _refuse_unwritable(png, html)
    case = case_of(
        (topology, nodes, latency, rates, loads),
        (same_process, same_node, same_domain, cross_domain),
    )
    wish = Wish(
        strategy=strategy or case.topology.spec.strategy,
        profile=_profile(profile),
        profile_words=profile,
        minutes=minutes,
        seed=seed,
        fixed=fixed,
        pause_s=pause,
        mode=Mode(mode.value.capitalize()),
    )
    trial, told = _run(case, wish)
    _tell(trial, wish, told, output)
    _draw(trial, wish, told, (f"{case.topology.name} under {profile}", png, html))


def _run(case: "Case", wish: "Wish") -> tuple["Trial", str]:
    from thalweg_operator.command import offline, rehearsing

    answer = offline.answer(case, wish.strategy, seed=wish.seed, scale=False)
    if answer.missing:
        tell_missing(answer)
        raise typer.Exit(EXIT_INFEASIBLE)
    with _progress(wish.minutes) as progress:
        return rehearsing.rehearse(case, answer, wish, progress)


def _tell(trial: "Trial", wish: "Wish", told: str, output: Output) -> None:
    from rich.console import Console

    from thalweg_operator.command import rehearsing, showing

    if output is Output.JSON:
        typer.echo(showing.dump(rehearsing.as_json(trial, wish, told)))
    else:
        rehearsing.show(Console(), trial, rehearsing.facts(trial, wish, told))


def _draw(
    trial: "Trial", wish: "Wish", told: str, into: tuple[str, Path | None, Path | None]
) -> None:
    from thalweg_operator.command import painting, rehearsing
    from thalweg_operator.command.charts import as_html, chart_of

    title, png, html = into
    chart = chart_of(trial, title)
    if png is not None:
        painting.paint(chart, png)
    if html is not None:
        page = as_html(chart, rehearsing.facts(trial, wish, told))
        html.write_text(page, encoding="utf-8")


def _profile(words: str) -> "Profile":
    from thalweg_operator.command.rehearsing import read_profile
    from thalweg_scheduling.simulate.profiles import InvalidProfile

    try:
        return read_profile(words)
    except InvalidProfile as error:
        raise typer.BadParameter(str(error), param_hint="--profile") from None


def _refuse_unwritable(png: Path | None, html: Path | None) -> None:
    """A run of minutes should not end with a picture that cannot be drawn or written."""
    if png is not None:
        from thalweg_operator.command import painting

        painting.refuse_if_missing()
    for path in (png, html):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise typer.BadParameter(f"{path} cannot be written: there is no such directory")


@contextmanager
def _progress(minutes: float) -> Iterator[Callable[[float], None]]:
    """A bar for people; for logs a line every tenth."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(f"{minutes:g} minutes", total=1.0)
            yield lambda share: bar.update(task, completed=share)
        return
    told = 0

    def tell(share: float) -> None:
        nonlocal told
        if int(10 * share + 1e-9) > told:
            told = int(10 * share + 1e-9)
            sys.stderr.write(f"thalweg: {share * minutes:.3g} of {minutes:g} minutes simulated\n")
            sys.stderr.flush()

    yield tell
