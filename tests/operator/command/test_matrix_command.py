"""`thalweg matrix` shows what was measured, and a dash for what was not."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thalweg_operator.command import build
from thalweg_operator.command.matrix import HeatMap, find_matrices
from thalweg_operator.errors import StoreUnreadable
from thalweg_operator.observe.store import read_matrices
from thalweg_spark.publish.store import publish
from thalweg_spark.schemas import TABLES, TEXT, WHOLE


def row(table: str, **known: Any) -> dict[str, Any]:
    """A row of which only some cells are known."""
    blank = {
        column: "" if column in TEXT else 1 if column in WHOLE else float("nan")
        for column in TABLES[table]
    }
    return {**blank, **known}


def store(
    folder: Path,
    *,
    tasks: int = 3,
    name: str = "wc",
    preset: str = "thalweg",
    observed_at_s: float = 1e9,
    coverage: float = 0.5,
) -> Path:
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
    tables["coverage"] = [row("coverage", matrix="task_load", **own, coverage=coverage)]
    tables["node_capacity"] = [
        row("node_capacity", node="a", cpu_allocatable_cores=4.0, memory_used_bytes=2.0**30)
    ]
    publish(
        folder / f"default-{preset}" / "store",
        tables,
        engine="spark",
        observed_at_s=observed_at_s,
        warnings=["store gateway down"],
    )
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
    assert ["a", "4", *"––––", "1024", *"––––––"] in lines, "what a node has"
    assert "the metrics source warned: store gateway down" in said


def test_a_store_by_its_address(tmp_path: Path) -> None:
    address = f"file://{store(tmp_path)}/default-thalweg/store"
    assert "default/wc, observed" in run("wc", "--folder", address)


def test_after_a_change_of_preset_the_store_in_use_is_shown(tmp_path: Path) -> None:
    """Whatever their names sort like; the old one may still see the topology and be kept fresh."""
    store(tmp_path, preset="a-old", observed_at_s=1e9, tasks=1)
    store(tmp_path, preset="b-new", observed_at_s=1.1e9, tasks=2)
    store(tmp_path, preset="c-old", observed_at_s=0.9e9, tasks=1)
    assert len(find_matrices(str(tmp_path), "default", "wc").tables["task_load"]) == 2
    store(tmp_path, preset="d-other", observed_at_s=1.2e9, tasks=1, coverage=math.nan)
    assert len(find_matrices(str(tmp_path), "default", "wc").tables["task_load"]) == 2
    pointer = tmp_path / "default-a-old" / "store" / "CURRENT"
    pointer.write_text(pointer.read_text().replace('"schema_version": ', '"schema_version": 9'))
    assert len(find_matrices(str(tmp_path), "default", "wc").tables["task_load"]) == 2
    with pytest.raises(StoreUnreadable, match="schema version"):
        find_matrices(str(tmp_path), "default", "nope")


def test_only_the_topology_asked_for_is_read(tmp_path: Path) -> None:
    own = {"namespace": "default", "coverage": 1.0}
    tables: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    tables["coverage"] = [
        *(row("coverage", **own, topology=name, matrix="task_load") for name in ("a", "wc", "z")),
        row("coverage", matrix="node_latency"),
    ]
    tables["node_latency"] = [row("node_latency", source_node="a", target_node="b")]
    publish(tmp_path, tables, engine="spark", observed_at_s=1.0)
    found = read_matrices(tmp_path, only=("default", "wc"))
    assert found is not None
    assert [one["topology"] for one in found.tables["coverage"]] == ["wc", ""]
    assert len(found.tables["node_latency"]) == 1


def test_each_cell_is_looked_at_once_for_the_scale() -> None:
    looks = 0

    class Counted(tuple[float, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[float]:
            nonlocal looks
            looks += len(self)
            return super().__iter__()

    size = 30
    names = tuple(map(str, range(size)))
    values = tuple(Counted(range(size)) for _ in names)
    for by_column in (False, True):
        looks = 0
        one = HeatMap(title="", rows=names, columns=names, values=values, by_column=by_column)
        shades = [one.shade(row, column) for row in range(size) for column in range(size)]
        assert looks == size * size
        assert max(shades) == 1.0
        assert one.shade(0, 10) == (1.0 if by_column else 10 / 29)


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
