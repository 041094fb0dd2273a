"""A run as lines over time: as SVG in a page of its own, with nothing fetched from elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.simulate.windows import Trial

WIDTH, HEIGHT = 860, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 28, 34
COLOURS = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#c14c8a", "#8a6d3b", "#d44c47", "#64748b")
"""Told apart by the colour-blind as well, as far as eight can be."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_TICKS = 4
_DONE = frozenset(
    {
        ReasonCode.FIRST_PLACEMENT,
        ReasonCode.REPLACED,
        ReasonCode.MOVED,
        ReasonCode.SCALED_UP,
        ReasonCode.SCALED_DOWN,
        ReasonCode.REGROUPED,
        ReasonCode.MAY_SLEEP,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart: lines over the same minutes. What is unknown is NaN and leaves a gap."""

    title: str
    unit: str
    lines: tuple[tuple[str, tuple[float, ...]], ...]
    is_stepped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """All panels of a run, and the minutes at which something was changed."""

    title: str
    minutes: tuple[float, ...]
    panels: tuple[Panel, ...]
    changes: tuple[tuple[float, str], ...]


def chart_of(trial: Trial, title: str) -> Chart:
    """Latency, throughput, replicas and nodes."""

    def line(name: str, factor: float = 1.0) -> tuple[float, ...]:
        return tuple((factor * trial.over(name)).tolist())

    vertices = trial.windows[0].replicas
    replicas = tuple(
        (name, tuple(float(window.replicas[name]) for window in trial.windows)) for name in vertices
    )
    return Chart(
        title=title,
        minutes=tuple((trial.over("at_s") / 60).tolist()),
        panels=(
            Panel(
                title="Latency",
                unit="ms",
                lines=(
                    ("source to sink", line("latency_s", 1e3)),
                    ("complete", line("complete_latency_s", 1e3)),
                ),
            ),
            Panel(
                title="Throughput",
                unit="tuples/s",
                lines=(
                    ("offered", line("offered_per_s")),
                    ("throughput", line("throughput_per_s")),
                ),
            ),
            Panel(title="Replicas", unit="tasks", lines=replicas, is_stepped=True),
            Panel(
                title="Nodes",
                unit="nodes",
                lines=(("awake", line("nodes_awake")), ("used", line("nodes_used"))),
                is_stepped=True,
            ),
        ),
        changes=tuple((at_s / 60, why_changed(reasons)) for at_s, reasons in trial.decisions),
    )


def why_changed(reasons: Sequence[Reason]) -> str:
    """The reasons that say what is done; the rest is in the JSON."""
    done = [each.message for each in reasons if each.code in _DONE]
    return "; ".join(done or [each.message for each in reasons[:1]])


def ticks(most: float) -> list[float]:
    """Round numbers from 0 up to at least `most`.

    >>> ticks(7.0)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    if not most > 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(power * each for each in _STEPS if power * each * _TICKS >= most * (1 - 1e-9))
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def as_html(chart: Chart, facts: Sequence[tuple[str, str]]) -> str:
    """The page."""
    rows = "".join(
        f"<tr><th>{escape(word)}</th><td>{escape(told)}</td></tr>" for word, told in facts
    )
    changes = "".join(
        f"<tr><th>{minute:.1f} min</th><td>{escape(why)}</td></tr>" for minute, why in chart.changes
    )
    pictures = "\n".join(_svg(chart, panel) for panel in chart.panels)
    told = f"<h2>What was changed, and why</h2><table>{changes}</table>" if changes else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(chart.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(chart.title)}</h1>
<table>{rows}</table>
{pictures}
{told}
</body>
</html>
"""


def _svg(chart: Chart, panel: Panel) -> str:
    known = [value for _, values in panel.lines for value in values if math.isfinite(value)]
    heights = ticks(max(known, default=0.0))
    minutes = ticks(chart.minutes[-1])
    across = (WIDTH - LEFT - RIGHT) / chart.minutes[-1]
    down = (HEIGHT - TOP - BOTTOM) / heights[-1]
    bottom = HEIGHT - BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(panel.title)}">',
        f'<text class="title" x="{LEFT}" y="16">{escape(f"{panel.title} ({panel.unit})")}</text>',
    ]
    for value in heights:
        y = bottom - value * down
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="y" x="{LEFT - 6}" y="{y + 4:.1f}">{value:g}</text>')
    for minute in minutes:
        if minute <= chart.minutes[-1] * (1 + 1e-9):
            x = LEFT + minute * across
            parts.append(f'<text class="x" x="{x:.1f}" y="{bottom + 16}">{minute:g}</text>')
    parts.append(f'<text class="x" x="{WIDTH - RIGHT + 24}" y="{bottom + 16}">min</text>')
    for minute, why in chart.changes:
        x = LEFT + minute * across
        parts.append(
            f'<path class="change" d="M{x:.1f} {TOP}V{bottom}"><title>{minute:.1f} min: '
            f"{escape(why)}</title></path>"
        )
    for number, (name, values) in enumerate(panel.lines):
        colour = COLOURS[number % len(COLOURS)]
        points = [
            (LEFT + minute * across, bottom - value * down)
            for minute, value in zip(chart.minutes, values, strict=True)
        ]
        path = _path(points, is_stepped=panel.is_stepped)
        # Lines that lie on each other can still be told apart.
        thick = 3.4 - 2 * number / max(1, len(panel.lines) - 1)
        parts.append(
            f'<path class="line" stroke="{colour}" stroke-width="{thick:.1f}" d="{path}"/>'
        )
        y = TOP + 10 + 18 * number
        x = WIDTH - RIGHT + 12
        parts.append(
            f'<path class="line" stroke="{colour}" stroke-width="{thick:.1f}" d="M{x} {y - 4}h16"/>'
        )
        parts.append(f'<text x="{x + 22}" y="{y}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"])


def _path(points: Sequence[tuple[float, float]], *, is_stepped: bool) -> str:
    """Lines through the points that are known; a step holds back from its own minute."""
    words, before = [], None
    for x, y in points:
        if not math.isfinite(y):
            before = None
        elif before is None:
            words.append(f"M{x:.1f} {y:.1f}")
            before = x, y
        else:
            words.append(f"V{y:.1f}H{x:.1f}" if is_stepped else f"L{x:.1f} {y:.1f}")
            before = x, y
    return "".join(words)


_STYLE = """
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }
body { max-width: 900px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; }
svg { width: 100%; margin: .6rem 0; font-size: 11px; fill: currentColor; }
.title { font-weight: 600; font-size: 13px; }
.grid { stroke: currentColor; stroke-opacity: .15; fill: none; }
.change { stroke: currentColor; stroke-opacity: .45; stroke-dasharray: 3 3; fill: none; }
.line { fill: none; }
.y { text-anchor: end; } .x { text-anchor: middle; }
th { text-align: left; padding-right: 1rem; vertical-align: top; white-space: nowrap; }
"""
