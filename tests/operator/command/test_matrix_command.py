"""`thalweg matrix` shows what was measured, and a dash for what was not."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thalweg_operator.command import build
from thalweg_operator.errors import StoreUnreadable
from thalweg_spark.publish.store import publish
from thalweg_spark.schemas import TABLES, TEXT, WHOLE


def row(table: str, **known: Any) -> dict[str, Any]:
    """A row of which only some cells are known."""
    blank = {
        column: "" if column in TEXT else 1 if column in WHOLE else float("nan")
        for column in TABLES[table]
    }
    return {**blank, **known}


def store(folder: Path, *, tasks: int = 3, name: str = "wc") -> Path:
    """What a run would have published."""
    own = {"namespace": "default", "topology": name}
    tables: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    tables["task_load"] = [
        row("task_load", **own, vertex="split", task=f"split-{n}", processed_per_s=100.0 + n)
        for n in range(tasks)
    ]
    tables["dependency"] = [
        row("dependency", **own, source_task=f"split-{n}", target_task="count-0", tuples_per_s=8.5)
        for n in range(tasks)
    ]
    tables["node_latency"] = [
        row("node_latency", source_node="a", target_node="<b>", latency_s=0.0125)
    ]
    tables["coverage"] = [row("coverage", matrix="task_load", **own, coverage=0.5)]
    publish(folder / "default-thalweg" / "store", tables, engine="spark", observed_at_s=1e9)
    return folder


def run(*words: str) -> str:
    result = CliRunner().invoke(build(), ["matrix", *words], env={"COLUMNS": "200"})
    if result.exception is not None:
        raise result.exception
    return result.output


def test_in_the_terminal(tmp_path: Path) -> None:
    said = run("wc", "--folder", str(store(tmp_path)))
    assert "default/wc, observed 2001-09-09 01:46:40 UTC, condensed by spark" in said
    assert "task_load 50%" in said
    lines = [line.split() for line in said.splitlines()]
    assert ["split-1", "–", "–", "–", "8.5"] in lines, "from task to task"
    assert ["split-2", "–", "–", "–", "–", "–", "102", "–", "–"] in lines, "unknown is no zero"
    assert ["a", "12.5", "–"] in lines, "from node to node, in ms"


def test_a_store_by_its_address(tmp_path: Path) -> None:
    address = f"file://{store(tmp_path)}/default-thalweg/store"
    assert "default/wc, observed" in run("wc", "--folder", address)


def test_many_tasks_are_shown_by_vertex(tmp_path: Path) -> None:
    said = run("wc", "--folder", str(store(tmp_path, tasks=40)))
    assert "tuples/s from vertex to vertex" in said
    assert ["split", "–", "340"] in [line.split() for line in said.splitlines()]


def test_html_needs_nothing_else_and_trusts_no_name(tmp_path: Path) -> None:
    page = tmp_path / "matrix.html"
    run("wc", "--folder", str(store(tmp_path)), "--output", str(page))
    text = page.read_text()
    assert "8.5" in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "http" not in text


@pytest.mark.slow
def test_png(tmp_path: Path) -> None:
    picture = tmp_path / "matrix.png"
    run("wc", "--folder", str(store(tmp_path)), "--output", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nope"], "no matrices of default/nope under .*; measured are default/wc"),
        (["wc", "-n", "other"], "no matrices of other/wc"),
        (["wc", "--output", "x.jpg"], "must end in .png or .html"),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path: Path, words: list[str], said: str) -> None:
    folder = store(tmp_path)
    with pytest.raises(StoreUnreadable, match=said):
        run(*words, "--folder", str(folder))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="nothing is measured yet"):
        run("wc", "--folder", str(tmp_path))
