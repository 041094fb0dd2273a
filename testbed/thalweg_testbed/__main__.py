"""`python -m thalweg_testbed build | up | down | status`: what the make targets call."""

import argparse
import shutil
import sys

from thalweg_testbed.background import Background
from thalweg_testbed.binaries import cache_directory, find_binaries
from thalweg_testbed.errors import BedError

_COMMANDS = {
    "build": "build the programs of a control plane, once",
    "up": "start a control plane with 12 simulated nodes and leave it running",
    "down": "stop it",
    "status": "tell whether it is up, and show its nodes",
    "keep": "own the cluster that `up` asked for (for `up` only)",
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; an error of the test bed is one message, not a traceback."""
    parser = argparse.ArgumentParser(prog="python -m thalweg_testbed")
    choices = parser.add_subparsers(dest="command", required=True)
    for name, text in _COMMANDS.items():
        choices.add_parser(name, help=text)
    command = parser.parse_args(arguments).command
    try:
        return _run(command, Background(cache_directory()))
    except BedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(command: str, background: Background) -> int:
    if command == "build":
        paths = find_binaries()
        print(f"==> the control plane's {len(paths)} programs are there", file=sys.stderr)
    elif command == "up":
        background.up()
        print(_usage(background))
    elif command == "down":
        print("==> stopped" if background.down() else "==> no cluster was up")
    elif command == "keep":
        background.keep()
    elif background.state() is None:
        print("==> no cluster is up")
        return 1
    else:
        print(_usage(background))
        print(background.cluster().kubectl("get", "nodes", "-L", "topology.kubernetes.io/zone"))
    return 0


def _usage(background: Background) -> str:
    state = background.state()
    own = state.kubectl if state else "kubectl"
    return "\n".join(
        [
            f"==> the cluster is up; its logs are in {background.plane}",
            f"    export KUBECONFIG={background.kubeconfig}",
            f"    {'kubectl' if shutil.which('kubectl') else own} get nodes",
            "    make cluster-down    # stops it",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
