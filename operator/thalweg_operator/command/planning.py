"""`thalweg plan` and `thalweg compare`: decisions from files, with no cluster."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from thalweg_operator.command.offline import Answer, Case

EXIT_INFEASIBLE = 3

PLAN_HELP = """Plan a topology on nodes from files, with no cluster.

Exit code 0 with a plan, 2 when a file or option is wrong (the message names file and line), 3 when
not all tasks fit (the message names the missing resource).
"""
COMPARE_HELP = """Plan with every strategy and print the results side by side.

Exit code 0 if a strategy places all tasks, 2 when a file or option is wrong, 3 if none does.
"""


class Output(StrEnum):
    """For people or for programs."""

    TABLE = "table"
    JSON = "json"


TopologyFile = Annotated[
    Path, typer.Argument(metavar="TOPOLOGY.yaml", help="A StreamTopology manifest.")
]
NodesFile = Annotated[
    Path, typer.Option("--nodes", help="Nodes, as `kubectl get nodes -o yaml` prints them.")
]
LatencyFile = Annotated[
    Path | None,
    typer.Option(
        "--latency",
        help="CSV: source,target,seconds; one way, between nodes or domains.",
        show_default=False,
    ),
]
RatesFile = Annotated[
    Path | None,
    typer.Option(
        "--rates",
        help="CSV: from,to,tuples_per_second,bytes_per_second; tasks or vertices.",
        show_default=False,
    ),
]
LoadsFile = Annotated[
    Path | None,
    typer.Option(
        "--loads",
        help="CSV: task,processed_per_second,busy_share,...; what --scale goes by.",
        show_default=False,
    ),
]
Scale = Annotated[bool, typer.Option("--scale", help="Also decide how many tasks to run.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same plan.")]
Form = Annotated[Output, typer.Option("-o", "--output", help="table or json.")]
SameProcess = Annotated[
    float, typer.Option("--same-process", min=0, help="Seconds within a process.")
]
SameNode = Annotated[float, typer.Option("--same-node", min=0, help="Seconds within a node.")]
SameDomain = Annotated[
    float, typer.Option("--same-domain", min=0, help="Seconds between nodes of a domain.")
]
CrossDomain = Annotated[
    float, typer.Option("--cross-domain", min=0, help="Seconds between domains.")
]


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command("plan", help=PLAN_HELP)(plan)
    app.command("compare", help=COMPARE_HELP)(compare)


def plan(  # noqa: PLR0913 -- each is an option of the command
    *,
    topology: TopologyFile,
    nodes: NodesFile,
    latency: LatencyFile = None,
    rates: RatesFile = None,
    loads: LoadsFile = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="Instead of the one in TOPOLOGY.yaml.", show_default=False),
    ] = None,
    scale: Scale = False,
    seed: Seed = 0,
    output: Form = Output.TABLE,
    same_process: SameProcess = 0.0,
    same_node: SameNode = 0.0001,
    same_domain: SameDomain = 0.0005,
    cross_domain: CrossDomain = 0.01,
) -> None:
    """Plan once and show the plan."""
    from thalweg_operator.command import offline, showing

    refuse_unknown(strategy)
    case = case_of(
        (topology, nodes, latency, rates, loads),
        (same_process, same_node, same_domain, cross_domain),
    )
    chosen = strategy or case.topology.spec.strategy
    answer = offline.answer(case, chosen, seed=seed, scale=scale)
    if output is Output.JSON:
        typer.echo(showing.dump(showing.as_json(answer)))
    else:
        showing.show_plan(_console(), answer)
    if answer.missing:
        tell_missing(answer)
        raise typer.Exit(EXIT_INFEASIBLE)


def compare(  # noqa: PLR0913 -- each is an option of the command
    *,
    topology: TopologyFile,
    nodes: NodesFile,
    latency: LatencyFile = None,
    rates: RatesFile = None,
    loads: LoadsFile = None,
    scale: Scale = False,
    seed: Seed = 0,
    output: Form = Output.TABLE,
    same_process: SameProcess = 0.0,
    same_node: SameNode = 0.0001,
    same_domain: SameDomain = 0.0005,
    cross_domain: CrossDomain = 0.01,
) -> None:
    """Plan with each strategy and show what they come to."""
    from thalweg_operator.command import offline, showing
    from thalweg_scheduling.strategies import STRATEGIES

    case = case_of(
        (topology, nodes, latency, rates, loads),
        (same_process, same_node, same_domain, cross_domain),
    )
    answers = [offline.answer(case, name, seed=seed, scale=scale) for name in STRATEGIES]
    if output is Output.JSON:
        typer.echo(showing.dump([showing.as_json(answer) for answer in answers]))
    else:
        showing.show_comparison(_console(), answers)
    if all(answer.missing for answer in answers):
        tell_missing(answers[0])
        raise typer.Exit(EXIT_INFEASIBLE)


def case_of(paths: tuple[Path | None, ...], seconds: tuple[float, ...]) -> "Case":
    """Read the files that commands without a cluster share."""
    from thalweg_operator.command.offline import Files, read_case
    from thalweg_scheduling.model.errors import InvalidSnapshot
    from thalweg_scheduling.model.matrices import LatencyClasses

    topology, nodes, latency, rates, loads = paths
    if topology is None or nodes is None:
        raise typer.BadParameter("TOPOLOGY.yaml and --nodes are needed")
    files = Files(topology=topology, nodes=nodes, latency=latency, rates=rates, loads=loads)
    try:
        classes = LatencyClasses(
            same_process_s=seconds[0],
            same_node_s=seconds[1],
            same_domain_s=seconds[2],
            cross_domain_s=seconds[3],
        )
    except InvalidSnapshot as error:
        raise typer.BadParameter(str(error)) from None
    return read_case(files, classes)


def refuse_unknown(strategy: str | None) -> None:
    """Say at once that there is no such strategy, and which there are."""
    from thalweg_scheduling.model.errors import StrategyUnavailable
    from thalweg_scheduling.strategies import strategy_named

    if strategy is None:
        return
    try:
        strategy_named(strategy)
    except StrategyUnavailable as error:
        raise typer.BadParameter(str(error), param_hint="--strategy") from None


def tell_missing(answer: "Answer") -> None:
    """Name what has no room."""
    for lack in answer.missing:
        sys.stderr.write(f"thalweg: infeasible: {lack.message}\n")


def _console() -> "Console":
    from rich.console import Console

    return Console()
