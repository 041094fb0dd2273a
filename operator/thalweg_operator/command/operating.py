"""`thalweg operator`: run the operator."""

import json
import logging
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg_operator.errors import InvalidSettings
from thalweg_operator.settings import Settings, load_settings

if TYPE_CHECKING:
    from thalweg_operator.clock import Clock
    from thalweg_operator.cluster.client import Client
    from thalweg_operator.report.metrics import Metrics
    from thalweg_operator.running import Turning

HELP = """Run the operator until it is told to stop (SIGTERM or Ctrl-C).

Several may run: one holds the Lease and works, the others stand by. Exit code 0 after a signal,
1 when the Lease was lost (start it again), 2 when the settings are wrong.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("operator", help=HELP)(run_operator)


def run_operator(
    *,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="How to reach the cluster. Without it: the pod's service account, "
            "else $KUBECONFIG, else ~/.kube/config.",
            show_default=False,
        ),
    ] = None,
    context: Annotated[
        str | None, typer.Option(help="Context of the kubeconfig.", show_default=False)
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="YAML file with settings (docs/settings.md).", show_default=False),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="One setting, over the file: --set lease.duration_s=30. May be repeated.",
            show_default=False,
        ),
    ] = None,
    namespaces: Annotated[
        str | None,
        typer.Option(
            help="Serve the topologies of these namespaces only, separated by commas.",
            show_default=False,
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log details.")] = False,
) -> None:
    """Read the settings, connect, run."""
    overrides = parse_overrides(set_ or ())
    if namespaces is not None:
        overrides["namespaces"] = json.dumps([name.strip() for name in namespaces.split(",")])
    loaded = load_settings(settings, overrides)
    _log_to_stderr(logging.DEBUG if verbose else logging.INFO)
    sys.exit(_run(loaded, kubeconfig, context))


def parse_overrides(pairs: Iterable[str]) -> dict[str, str]:
    """Split `name=value` pairs; a later one wins."""
    overrides = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise InvalidSettings(f"--set {pair}: expected NAME=VALUE")
        overrides[name] = value
    return overrides


def _run(settings: Settings, kubeconfig: Path | None, context: str | None) -> int:
    try:
        from thalweg_operator.cluster.connection import connect
        from thalweg_operator.cluster.lease import new_identity
        from thalweg_operator.loop import Loop
        from thalweg_operator.running import Replica
    except ModuleNotFoundError as error:
        raise InvalidSettings(
            f"the operator needs {error.name}, which is not installed: "
            "pip install 'thalweg[operator]'"
        ) from error

    def make_loop(client: "Client", metrics: "Metrics", clock: "Clock") -> "Turning":
        return Loop(client=client, settings=settings, clock=clock, metrics=metrics)

    identity = new_identity()
    agent = f"thalweg-operator/{version('thalweg')} ({identity})"  # tells replicas apart in audits
    connection = connect(kubeconfig, context=context, user_agent=agent)
    return Replica(settings, connection=connection, identity=identity, make_loop=make_loop).run()


def _log_to_stderr(level: int) -> None:
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s")
    formatter.datefmt = "%Y-%m-%dT%H:%M:%S"
    formatter.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("urllib3").setLevel(max(level, logging.INFO))
    if level > logging.DEBUG:
        logging.getLogger("kopf").setLevel(logging.WARNING)  # it would log every event it saw
