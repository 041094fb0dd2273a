"""Charts as PNG, by matplotlib."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from thalweg_operator.command.charts import COLOURS, Chart, Panel
from thalweg_operator.errors import OperatorError

_INCHES = (9.0, 10.0)
_DOTS_PER_INCH = 110


class CannotPaint(OperatorError):
    """What draws PNGs is not installed."""


def refuse_if_missing() -> None:
    """Before anything long is begun."""
    if find_spec("matplotlib") is None:
        raise CannotPaint(
            "--png needs matplotlib: pip install 'thalweg[pictures]', or use --html, which needs "
            "nothing"
        )


def paint(chart: Chart, path: Path) -> None:
    """Write all panels below each other into one file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    figure.suptitle(chart.title)
    axes = figure.subplots(len(chart.panels), 1, sharex=True)
    for axis, panel in zip(axes, chart.panels, strict=True):
        _paint_panel(axis, chart, panel)
    axes[-1].set_xlabel("minutes")
    figure.savefig(path, format="png")


def _paint_panel(axis: Any, chart: Chart, panel: Panel) -> None:  # noqa: ANN401 -- matplotlib's
    for number, (name, values) in enumerate(panel.lines):
        axis.plot(
            chart.minutes,
            values,
            label=name,
            color=COLOURS[number % len(COLOURS)],
            # Lines that lie on each other can still be told apart.
            linewidth=3.2 - 1.8 * number / max(1, len(panel.lines) - 1),
            drawstyle="steps-pre" if panel.is_stepped else "default",
        )
    for minute, _ in chart.changes:
        axis.axvline(minute, color="0.5", linewidth=0.8, linestyle=":")
    axis.set_ylabel(f"{panel.title}\n({panel.unit})")
    axis.set_xlim(0, chart.minutes[-1])
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.25)
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
