"""`thalweg matrix`: what was measured last, as heat maps in the terminal, as PNG or as HTML."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from thalweg_operator.errors import StoreUnreadable
from thalweg_operator.observe.store import Matrices, Rows, read_matrices

UNKNOWN = "–"
_MOST_SHOWN = 24
"""More tasks than this are shown together by vertex: a screen has its width."""
_LOADS = (
    ("cpu_cores", "cores", 1.0),
    ("memory_bytes", "MiB", 1 / 2**20),
    ("busy_share", "busy %", 100.0),
    ("backpressured_share", "held up %", 100.0),
    ("wait_s", "wait ms", 1000.0),
    ("processed_per_s", "tuples/s", 1.0),
    ("true_rate_per_s", "could do/s", 1.0),
    ("queue_tuples", "queued", 1.0),
)


_CAPACITY = (
    ("cpu_allocatable_cores", "cores", 1.0),
    ("cpu_used_cores", "used", 1.0),
    ("cpu_others_cores", "by others", 1.0),
    ("cpu_free_cores", "free", 1.0),
    ("memory_allocatable_bytes", "MiB", 1 / 2**20),
    ("memory_used_bytes", "used", 1 / 2**20),
    ("memory_others_bytes", "by others", 1 / 2**20),
    ("memory_free_bytes", "free", 1 / 2**20),
    ("io_share", "disk busy %", 100.0),
    ("receive_bytes_per_s", "in MB/s", 1e-6),
    ("transmit_bytes_per_s", "out MB/s", 1e-6),
    ("bandwidth_bytes_per_s", "link MB/s", 1e-6),
)


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Numbers by row and column; NaN where nobody knows."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    by_column: bool = False
    """Whether each column has a scale of its own."""

    def shade(self, row: int, column: int) -> float:
        """From 0 to 1, by the scale that the cell belongs to; NaN stays NaN."""
        most = self._most[column if self.by_column else 0]
        return self.values[row][column] / most if most > 0 else 0.0 * self.values[row][column]

    @cached_property
    def _most(self) -> tuple[float, ...]:
        """The largest number of each column, or of all: every cell asks."""
        parts = zip(*self.values, strict=True) if self.by_column else [chain(*self.values)]
        return tuple(max(filter(math.isfinite, part), default=0.0) for part in parts)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="matrix")(matrix)


def matrix(
    topology: Annotated[str, typer.Argument(help="Name of the topology.")],
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Its namespace.")] = "default",
    folder: Annotated[
        str, typer.Option(help="The folder of the setting condense.folder, or a matrix store.")
    ] = "/var/lib/thalweg",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a .png or .html instead.")
    ] = None,
) -> None:
    """Show what was measured last of a topology: traffic, loads, and latency between nodes.

    The matrix store is in the operator's pod:
    kubectl exec -n thalweg deploy/thalweg -- thalweg matrix word-count
    """
    found = find_matrices(folder, namespace, topology)
    maps = heat_maps(found, namespace, topology)
    caption = _caption(found, namespace, topology)
    if output is None:
        show(Console(), maps, caption)
    elif output.suffix == ".html":
        output.write_text(as_html(maps, caption), encoding="utf-8")
    elif output.suffix == ".png":
        write_png(output, maps, caption)
    else:
        raise StoreUnreadable(f"--output must end in .png or .html; got {output.name}")


def find_matrices(folder: str, namespace: str, topology: str) -> Matrices:
    """The matrices of whichever source measures the topology."""
    nested = () if "://" in folder else sorted(Path(folder).glob("*/store"))
    stores = [folder, *(str(one) for one in nested)]
    found: list[Matrices] = []
    troubles: list[StoreUnreadable] = []
    for store in stores:
        try:
            one = read_matrices(store, only=(namespace, topology))
        except StoreUnreadable as error:
            troubles.append(error)
            continue
        if one is not None and one.rows("task_load", namespace, topology):
            found.append(one)
    if found:
        return max(found, key=lambda one: _currency(one, namespace, topology))
    if troubles:
        raise troubles[0]
    raise StoreUnreadable(f"no matrices of {namespace}/{topology} under {folder}{_known(stores)}")


def _currency(found: Matrices, namespace: str, topology: str) -> tuple[bool, float]:
    """What the operator measures the topology by goes before what only happens to see it, such as
    the store of a preset that it named once; then what was observed last.
    """
    rows = found.rows("coverage", namespace, topology)
    return any(math.isfinite(_number(row["coverage"])) for row in rows), found.observed_at_s


def _known(stores: Sequence[str]) -> str:
    every = (read_matrices(store) for store in stores)
    rows = (row for one in every if one is not None for row in one.tables["task_load"])
    seen = sorted({f"{row['namespace']}/{row['topology']}" for row in rows})
    return f"; measured are {', '.join(seen)}" if seen else "; nothing is measured yet"


def heat_maps(found: Matrices, namespace: str, topology: str) -> list[HeatMap]:
    """Traffic from task to task, what tasks did, how far apart nodes are, and what they have."""
    loads = found.rows("task_load", namespace, topology)
    tasks = sorted({row["task"] for row in loads}, key=_in_order)
    traffic = found.rows("dependency", namespace, topology)
    tasks += sorted({row["target_task"] for row in traffic} - set(tasks), key=_in_order)
    maps = [_traffic(traffic, tasks), _loads(loads)]
    nodes = (_latency(found.tables["node_latency"]), _capacity(found.tables["node_capacity"]))
    return [*maps, *(one for one in nodes if one.rows)]


def _in_order(task: str) -> tuple[str, int]:
    vertex, _, index = task.rpartition("-")
    return (vertex, int(index)) if index.isdigit() else (task, 0)


def _traffic(rows: Rows, tasks: Sequence[str]) -> HeatMap:
    """Beyond a screen's width whole vertices; their tasks' rates add up."""
    together = len(tasks) > _MOST_SHOWN

    def named(task: str) -> str:
        return (task.rpartition("-")[0] or task) if together else task

    names = tuple(dict.fromkeys(named(task) for task in tasks))
    position = {name: number for number, name in enumerate(names)}
    values = [[math.nan] * len(names) for _ in names]
    for row in rows:
        source, target = position[named(row["source_task"])], position[named(row["target_task"])]
        rate = _number(row["tuples_per_s"])
        before = values[source][target]
        values[source][target] = rate if math.isnan(before) else before + rate
    title = f"tuples/s from {'vertex to vertex' if together else 'task to task'}"
    return HeatMap(title=title, rows=names, columns=names, values=tuple(map(tuple, values)))


def _loads(rows: Rows) -> HeatMap:
    ordered = sorted(rows, key=lambda row: _in_order(row["task"]))
    return _by_column("loads of tasks", "task", ordered, _LOADS)


def _capacity(rows: Rows) -> HeatMap:
    ordered = sorted(rows, key=lambda row: str(row["node"]))
    return _by_column("what nodes have and use", "node", ordered, _CAPACITY)


def _by_column(
    title: str, name: str, rows: Rows, columns: Sequence[tuple[str, str, float]]
) -> HeatMap:
    return HeatMap(
        title=title,
        rows=tuple(row[name] for row in rows),
        columns=tuple(word for _, word, _ in columns),
        values=tuple(
            tuple(_number(row[column]) * factor for column, _, factor in columns) for row in rows
        ),
        by_column=True,
    )


def _latency(rows: Rows) -> HeatMap:
    nodes = sorted({row["source_node"] for row in rows} | {row["target_node"] for row in rows})
    position = {node: number for number, node in enumerate(nodes)}
    values = [[math.nan] * len(nodes) for _ in nodes]
    for row in rows:
        source, target = position[row["source_node"]], position[row["target_node"]]
        values[source][target] = _number(row["latency_s"]) * 1000
    return HeatMap(
        title="one-way latency between nodes, ms",
        rows=tuple(nodes),
        columns=tuple(nodes),
        values=tuple(map(tuple, values)),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _caption(found: Matrices, namespace: str, topology: str) -> str:
    newest = "unknown"
    if found.observed_at_s > 0:
        newest = datetime.fromtimestamp(found.observed_at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    shares = [
        f"{row['matrix']} {_percent(_number(row['coverage']))}"
        for row in (*found.rows("coverage", namespace, topology), *found.rows("coverage", "", ""))
    ]
    covered = f"; coverage: {', '.join(shares)}" if shares else ""
    covered += f"; the metrics source warned: {'; '.join(found.warnings)}" if found.warnings else ""
    return f"{namespace}/{topology}, observed {newest}, condensed by {found.engine}{covered}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if math.isfinite(share) else "unknown"


def shown(value: float) -> str:
    """Three digits; what is unknown is a dash, never 0."""
    if math.isnan(value):
        return UNKNOWN
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def show(console: Console, maps: Sequence[HeatMap], caption: str) -> None:
    """All maps, one under the other."""
    console.print(caption, markup=False, highlight=False, soft_wrap=True)
    for one in maps:
        console.print()
        if len(one.columns) > _MOST_SHOWN:
            text = f"{one.title}: {len(one.columns)} columns; --output FILE.html shows them"
            console.print(text, markup=False, highlight=False)
            continue
        console.print(one.title, markup=False, highlight=False)
        table = Table(box=None)
        table.add_column("")
        for column in one.columns:
            table.add_column(column, justify="right", overflow="fold")
        for row, name in enumerate(one.rows):
            cells = [_cell(one, row, column) for column in range(len(one.columns))]
            table.add_row(Text(name), *cells)
        console.print(table)


def _cell(one: HeatMap, row: int, column: int) -> Text:
    share = one.shade(row, column)
    style = "dim" if math.isnan(share) else f"black on {_colour(share)}"
    return Text(f" {shown(one.values[row][column])} ", style=style)


def _colour(share: float) -> str:
    """From a pale yellow to a strong red."""
    strength = min(max(share, 0.0), 1.0)
    red, green, blue = 255 - 35 * strength, 250 - 170 * strength, 220 - 170 * strength
    return f"#{int(red):02x}{int(green):02x}{int(blue):02x}"


def as_html(maps: Sequence[HeatMap], caption: str) -> str:
    """One page that needs nothing else."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        f"<title>{html.escape(caption)}</title>",
        "<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
        "td,th{padding:.2em .5em;text-align:right;font-weight:normal}th{color:#555}</style>",
        f"<p>{html.escape(caption)}</p>",
    ]
    for one in maps:
        parts.append(f"<h2>{html.escape(one.title)}</h2><table><tr><th></th>")
        parts += [f"<th>{html.escape(column)}</th>" for column in one.columns]
        for row, name in enumerate(one.rows):
            parts.append(f"</tr><tr><th>{html.escape(name)}</th>")
            parts += [_html_cell(one, row, column) for column in range(len(one.columns))]
        parts.append("</tr></table>")
    return "".join([*parts, "</html>\n"])


def _html_cell(one: HeatMap, row: int, column: int) -> str:
    share = one.shade(row, column)
    colour = "" if math.isnan(share) else f' style="background:{_colour(share)}"'
    where = html.escape(f"{one.rows[row]} → {one.columns[column]}", quote=True)
    return f'<td{colour} title="{where}">{shown(one.values[row][column])}</td>'


def write_png(file: Path, maps: Sequence[HeatMap], caption: str) -> None:
    """The same as a picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise StoreUnreadable(
            "a PNG needs matplotlib: pip install 'thalweg[pictures]', or write .html instead"
        ) from error
    figure = Figure(figsize=(9, 5 * len(maps)), layout="constrained")
    figure.suptitle(caption, fontsize=9)
    for axes, one in zip(figure.subplots(len(maps), 1, squeeze=False)[:, 0], maps, strict=True):
        shades = [
            [one.shade(row, column) for column in range(len(one.columns))]
            for row in range(len(one.rows))
        ]
        axes.imshow(shades, cmap="YlOrRd", vmin=0, vmax=1, aspect="auto")
        axes.set_title(one.title, fontsize=10)
        axes.set_xticks(range(len(one.columns)), one.columns, rotation=90, fontsize=7)
        axes.set_yticks(range(len(one.rows)), one.rows, fontsize=7)
    figure.savefig(file, dpi=120)
