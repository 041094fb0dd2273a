"""The `thalweg` command.

Each module named below adds its commands by `register(app)`. At their top they import nothing that
takes long or that the base installation lacks: `thalweg --help` answers at once, and planning
offline needs neither Kopf nor the Kubernetes client.
"""

import sys
from importlib import import_module

import typer

from thalweg_operator.errors import OperatorError

COMMAND_MODULES = (
    "thalweg_operator.command.operating",
    "thalweg_operator.command.explaining",
    "thalweg_operator.command.planning",
    "thalweg_operator.command.matrix",
    "thalweg_operator.command.simulating",
    "thalweg_operator.command.defaults",
    "thalweg_operator.command.versions",
)
EXIT_WRONG_INPUT = 2


def build() -> typer.Typer:
    """Return the command with all that belongs to it."""
    app = typer.Typer(
        name="thalweg",
        help="Place, scale and route stream workloads by what is measured.",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_several)
    for name in COMMAND_MODULES:
        import_module(name).register(app)
    return app


def main() -> None:
    """Run the command; what is wrong with the input is one line and exit code 2."""
    try:
        build()()
    except OperatorError as error:
        sys.stderr.write(f"thalweg: {error}\n")
        sys.exit(EXIT_WRONG_INPUT)


def _several() -> None:
    """Keep the commands' names even while there is only one."""
