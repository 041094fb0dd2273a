"""`thalweg version`."""

import platform
from importlib.metadata import version

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("version", help="Print the version.")(print_version)


def print_version() -> None:
    """Print our version and Python's: the first thing asked in every report of a fault."""
    typer.echo(f"thalweg {version('thalweg')} (Python {platform.python_version()})")
