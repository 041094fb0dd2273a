"""`thalweg settings`: every setting with its meaning and default, as a file that can be used."""

import ast
import dataclasses
import inspect
import itertools
import textwrap
from collections.abc import Iterator, Mapping

import typer
import yaml

from thalweg_operator import settings as settings_module
from thalweg_operator.settings import MetricsSource, Settings

_WIDTH = 100
_EXAMPLE: Mapping[str, tuple[str, object]] = {
    "metrics_sources": ("default", MetricsSource(url="http://prometheus.monitoring:9090")),
    "presets": (
        "our-engine",
        'include = ["kubernetes", "prober"]\n'
        "[queries]\n"
        "tuples = 'engine_sent_total{job=\"engine\"}'\n"
        'processed = "engine_handled_total"\n'
        'busy = {select = "engine_busy_ms_total", scale = 0.001}\n'
        "[labels]\n"
        'namespace = "namespace"\n'
        'pod = "pod"\n'
        'topology = "job_name"\n'
        'vertex = "stage"\n'
        'task = "{stage}-{index}"\n'
        'to_task = "{to_stage}-{to_index}"\n'
        'to_vertex = "to_stage"\n',
    ),
}
"""Mappings that are empty by default: what an entry looks like."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    help_text = "Print all settings with their meaning and defaults, as a settings file."
    app.command("settings", help=help_text)(print_settings)


def print_settings() -> None:
    """Print the file."""
    typer.echo(settings_file(), nl=False)


def settings_file() -> str:
    """Return the defaults as YAML with the fields' docstrings as comments."""
    return "\n".join(_lines(Settings())) + "\n"


def meanings(group: type) -> dict[str, str]:
    """Return the docstring that follows each field of one of the settings' classes."""
    tree = ast.parse(inspect.getsource(settings_module))
    body = next(
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == group.__name__
    )
    found = {}
    for entry, after in itertools.pairwise(body):
        if (
            isinstance(entry, ast.AnnAssign)
            and isinstance(entry.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[entry.target.id] = " ".join(str(after.value.value).split())
    return found


def _lines(group: object, indent: str = "") -> Iterator[str]:
    meant = meanings(type(group))
    for entry in dataclasses.fields(group):  # type: ignore[arg-type]
        value = getattr(group, entry.name)
        comment = f"{indent}# "
        yield from textwrap.wrap(
            meant[entry.name], _WIDTH, initial_indent=comment, subsequent_indent=comment
        )
        if dataclasses.is_dataclass(value):
            yield f"{indent}{entry.name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, Mapping):
            yield f"{indent}{entry.name}: {{}}"
            yield from _example(entry.name, indent)
        else:
            yield f"{indent}{entry.name}: {_scalar(value)}"


def _example(name: str, indent: str) -> Iterator[str]:
    """Show an entry of a mapping, commented out."""
    key, example = _EXAMPLE[name]
    yield f"{indent}#   {key}:{' |' if isinstance(example, str) else ''}"
    for line in example.splitlines() if isinstance(example, str) else _lines(example):
        yield f"{indent}#     {line}"


def _scalar(value: object) -> str:
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")
