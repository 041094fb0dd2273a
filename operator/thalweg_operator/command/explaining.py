"""`thalweg explain NAME`: why a topology is as it is, in words."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg_operator.errors import OperatorError

HELP = """Say why a topology is as it is: what holds, what was decided last and why, what the plan
promised, and what would change it.
"""
_MOVES_SHOWN = 10


class NotThere(OperatorError):
    """There is no such topology."""


def register(app: typer.Typer) -> None:
    """Add `explain`."""
    app.command(name="explain", help=HELP)(explain)


def explain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The StreamTopology.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Its namespace.")] = "default",
    kubeconfig: Annotated[
        Path | None, typer.Option(help="How to reach the cluster.", show_default=False)
    ] = None,
    context: Annotated[
        str | None, typer.Option(help="Context of the kubeconfig.", show_default=False)
    ] = None,
) -> None:
    """Read the topology and its plans, and tell."""
    topology, plans = _read(name, namespace, kubeconfig, context)
    sys.stdout.write("\n".join(explanation(topology, plans)) + "\n")


def explanation(topology: Mapping[str, Any], plans: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The whole answer, line by line."""
    status = topology.get("status") or {}
    spec = topology["spec"]
    yield f"{topology['metadata']['name']}: strategy {spec['strategy']}, mode {spec['mode']}"
    yield from _conditions(status)
    yield from _figures(status)
    yield from _decisions(status)
    newest = max(plans, key=_number, default=None)
    if newest is None:
        yield "No plan has been made yet."
    else:
        yield from _plan(newest)
    yield from _what_next(spec, status, newest)


def _conditions(status: Mapping[str, Any]) -> Iterator[str]:
    conditions = status.get("conditions") or ()
    if not conditions:
        yield "The operator has not looked at it yet."
    for one in conditions:
        yield f"  {one['type']:<17} {one['status']:<8} {one['reason']}: {one['message']}"


def _figures(status: Mapping[str, Any]) -> Iterator[str]:
    measured = status.get("measured") or {}
    shown = [f"{key} {measured[key]}" for key in _FIGURES if key in measured]
    if shown:
        yield f"Measured at {measured.get('at', '?')}: {', '.join(shown)}."


def _decisions(status: Mapping[str, Any]) -> Iterator[str]:
    decisions = status.get("decisions") or ()
    if decisions:
        yield "Decisions, newest first:"
    for one in decisions:
        plan = f" [{one['plan']}]" if one.get("plan") else ""
        yield f"  {one['at']} {one['reason']}: {one['message']}{plan}"


def _plan(plan: Mapping[str, Any]) -> Iterator[str]:
    spec, status = plan["spec"], plan.get("status") or {}
    said = {one["type"]: one for one in status.get("conditions") or ()}
    standing = said.get("Applied", {"reason": "Proposed", "message": "it waits to be approved"})
    name = plan["metadata"]["name"]
    yield f"The newest plan, {name}, is {standing['reason'].lower()}: {standing['message']}"
    yield f"  decided at {spec['decidedAt']} by {spec['strategy']}, generation {spec['generation']}"
    for reason in spec.get("reasons") or ():
        yield f"  because {reason['reason']}: {reason['message']}"
    for one in spec.get("replicas") or ():
        yield f"  {one['vertex']}: {one['from']} → {one['to']} tasks"
    moves = spec.get("moves") or ()
    for one in moves[:_MOVES_SHOWN]:
        yield f"  {one['task']} moves from {one['from']} to {one['to']}"
    if len(moves) > _MOVES_SHOWN:
        yield f"  and {len(moves) - _MOVES_SHOWN} more moves"
    promised = spec.get("predicted") or {}
    if promised:
        yield f"  it promises {_listed(promised)}"
    if "Verified" in said:
        verdict = said["Verified"]
        yield f"  afterwards {_listed(status.get('measured') or {}) or 'nothing was measured'}"
        yield f"  {verdict['reason']}: {verdict['message']}"


def _listed(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in figures.items())


def _what_next(
    spec: Mapping[str, Any], status: Mapping[str, Any], plan: Mapping[str, Any] | None
) -> Iterator[str]:
    """What a person could do to change it."""
    said = {one["type"]: one for one in status.get("conditions") or ()}
    if said.get("Valid", {}).get("status") == "False":
        yield "To change it: correct the spec; until then the last valid one stays in force."
    elif said.get("MetricsAvailable", {}).get("status") != "True":
        yield (
            "To change it: nothing is scaled or moved by itself while measurements are missing; "
            "see MetricsAvailable above."
        )
    elif spec["mode"] in ("Recommend", "Approve") and plan is not None and not plan.get("status"):
        name = plan["metadata"]["name"]
        yield (
            "To change it: approve the plan with kubectl patch splan "
            f'{name} --type=merge -p \'{{"spec":{{"approved":true}}}}\''
        )
    else:
        yield "It changes when what is measured does, or when its spec does."


_FIGURES = ("latency", "throughput", "crossDomain", "awake")


def _number(plan: Mapping[str, Any]) -> int:
    last = str(plan["metadata"]["name"]).rpartition("-")[2]
    return int(last) if last.isdecimal() else 0


def _read(
    name: str, namespace: str, kubeconfig: Path | None, context: str | None
) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    from thalweg_operator.cluster.client import Client, unguarded
    from thalweg_operator.cluster.connection import connect
    from thalweg_operator.cluster.resources import STREAM_PLANS, STREAM_TOPOLOGIES

    client = Client(connect(kubeconfig, context=context), guard=unguarded)
    topology = client.get(STREAM_TOPOLOGIES, namespace, name)
    if topology is None:
        raise NotThere(f"there is no StreamTopology {name} in namespace {namespace}")
    plans = client.list(STREAM_PLANS, namespace=namespace)
    return topology, [plan for plan in plans if plan["spec"]["topology"] == name]
