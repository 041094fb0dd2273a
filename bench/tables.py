"""Markdown tables."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with its columns under each other, so that its source can be read too."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [_line(row, widths) for row in cells]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
    )


def percent(share: float) -> str:
    """A difference in per cent, with its sign."""
    # Adding 0 makes -0.0 a plain 0.
    return f"{round(100 * share, 1) + 0.0:+.1f} %"
