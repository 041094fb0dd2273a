"""The matrix store: readers see a whole run or the one before, never half."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from thalweg_fake_prometheus import fake_prometheus
from thalweg_operator.errors import StoreUnreadable
from thalweg_operator.observe.store import SCHEMA_VERSION as READS
from thalweg_operator.observe.store import TABLES as READ_TABLES
from thalweg_operator.observe.store import read_matrices
from thalweg_spark.__main__ import main
from thalweg_spark.engine import NumpyEngine
from thalweg_spark.errors import InvalidInput, StoreUnwritable
from thalweg_spark.publish.store import ABOUT, POINTER, RUNS, publish
from thalweg_spark.schemas import SCHEMA_VERSION, TABLES

GOLDEN = Path(__file__).parent / "golden"
EMPTY: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
ROW = {
    "matrix": "task_load",
    "namespace": "n",
    "topology": "wc",
    "window_s": 30.0,
    "observed_at_s": 100.0,
    "samples": 3,
    "coverage": 1.0,
}


def test_what_is_written_is_read_by_the_operator(tmp_path: Path) -> None:
    run = publish(tmp_path, {**EMPTY, "coverage": [ROW]}, engine="numpy", observed_at_s=100.0)
    found = read_matrices(tmp_path)
    assert found is not None
    assert (found.run, found.engine, found.observed_at_s) == (run, "numpy", 100.0)
    assert list(found.tables["coverage"]) == [ROW]
    assert list(found.tables["dependency"]) == []


def test_a_store_by_its_address(tmp_path: Path) -> None:
    root = f"file://{tmp_path}/store/"
    publish(root, {**EMPTY, "coverage": [ROW]}, engine="spark", observed_at_s=1.0)
    found = read_matrices(root)
    assert found is not None
    assert list(found.tables["coverage"]) == [ROW]
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    with pytest.raises(StoreUnwritable, match="nowhere://x"):
        publish("nowhere://x", EMPTY, engine="spark", observed_at_s=1.0)
    with pytest.raises(StoreUnreadable, match="pointer"):
        read_matrices("nowhere://x")


@pytest.mark.parametrize(
    "root",
    [
        "s3://me:pass/word@bucket/store",
        "s3://me:pass word@bucket/store",
        "nowhere://me:pass/word@bucket/store",
    ],
)
def test_a_password_in_an_address_is_told_nobody(root: str) -> None:
    with pytest.raises(StoreUnwritable, match="bucket/store") as unwritten:
        publish(root, EMPTY, engine="spark", observed_at_s=1.0)
    with pytest.raises(StoreUnreadable, match="pointer") as unread:
        read_matrices(root)
    for told in (str(unwritten.value), str(unread.value)):
        assert "pass" not in told
        assert "word" not in told


def test_each_topology_has_row_groups_of_its_own(tmp_path: Path) -> None:
    rows = [{**ROW, "topology": name} for name in ("a", "a", "b", "c")]
    run = publish(tmp_path, {**EMPTY, "coverage": rows}, engine="spark", observed_at_s=1.0)
    file = parquet.ParquetFile(tmp_path / RUNS / run / "coverage.parquet")
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [2, 1, 1]


def test_writer_and_reader_agree_on_the_schema() -> None:
    assert READS == SCHEMA_VERSION
    assert set(READ_TABLES) == set(TABLES)


def test_the_golden_store_still_reads_as_it_did() -> None:
    """A store that an earlier release wrote; a change here is a change of the schema's version."""
    found = read_matrices(GOLDEN)
    assert found is not None
    assert (found.warnings, found.is_partial) == (("a store did not answer",), True)
    expected = json.loads((GOLDEN / "expected.json").read_text())
    assert {name: list(rows) for name, rows in found.tables.items()} == expected
    for name, columns in TABLES.items():
        for row in expected[name]:
            assert tuple(row) == columns


def test_before_the_first_run_there_is_nothing(tmp_path: Path) -> None:
    assert read_matrices(tmp_path) is None


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("{", "pointer"),
        (json.dumps({"run": "x", "schema_version": 99, "observed_at_s": 1}), "schema version 99"),
        (
            json.dumps({"run": "x", "schema_version": SCHEMA_VERSION, "observed_at_s": 1}),
            "cannot be read",
        ),
    ],
)
def test_a_spoilt_store_says_so(tmp_path: Path, pointer: str, words: str) -> None:
    (tmp_path / POINTER).write_text(pointer)
    with pytest.raises(StoreUnreadable, match=words):
        read_matrices(tmp_path)


def test_only_the_last_runs_are_kept(tmp_path: Path) -> None:
    (tmp_path / RUNS / "mine").mkdir(parents=True)
    runs = [
        publish(tmp_path, EMPTY, engine="numpy", observed_at_s=float(n), keep=2) for n in range(4)
    ]
    left = {folder.name for folder in (tmp_path / RUNS).iterdir()}
    assert left == {"mine", *runs[-2:]}


def test_a_late_run_is_not_pointed_to(tmp_path: Path) -> None:
    """Numpy stood in for a Spark that hung; when Spark ends after all, what it has is older."""
    newer = publish(tmp_path, EMPTY, engine="numpy", observed_at_s=0.0, at_s=115.0)
    late = publish(tmp_path, EMPTY, engine="spark", observed_at_s=99.0, at_s=100.0)
    found = read_matrices(tmp_path)
    assert found is not None
    assert found.run == newer
    assert (tmp_path / RUNS / late).is_dir()


def published(folder: Path, *, at_s: float, keep: int = 20) -> str:
    return publish(folder, EMPTY, engine="spark", observed_at_s=1.0, at_s=at_s, keep=keep)


def current(folder: Path) -> str:
    found = read_matrices(folder)
    assert found is not None
    return found.run


def test_late_runs_never_push_out_the_one_that_is_pointed_to(tmp_path: Path) -> None:
    newest = published(tmp_path, at_s=200.0, keep=2)
    late = [published(tmp_path, at_s=100.0 + n, keep=2) for n in range(4)]
    assert current(tmp_path) == newest
    assert {one.name for one in (tmp_path / RUNS).iterdir()} == {newest, *late[-2:]}


def test_a_pointer_from_the_future_does_not_hold_back_later_runs(tmp_path: Path) -> None:
    """A clock that was wrong for a while, or a run asked for with --at."""
    ahead = published(tmp_path, at_s=time.time() + 3600)
    assert current(tmp_path) == ahead
    now = published(tmp_path, at_s=time.time())
    assert current(tmp_path) == now
    slightly = published(tmp_path, at_s=time.time() + 30)
    published(tmp_path, at_s=time.time())
    assert current(tmp_path) == slightly, "clocks differ by seconds"


def test_a_store_keeps_the_run_that_somebody_may_be_reading(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least 2"):
        published(tmp_path, at_s=1.0, keep=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("pointer", ["", "{", "[]"])
def test_while_the_pointer_is_written_the_newest_whole_run_counts(
    tmp_path: Path, pointer: str
) -> None:
    """As on file systems that cannot replace a file at once."""
    published(tmp_path, at_s=1.0)
    whole = published(tmp_path, at_s=2.0)
    half = published(tmp_path, at_s=3.0)
    (tmp_path / RUNS / half / ABOUT).unlink()
    (tmp_path / POINTER).write_text(pointer)
    assert current(tmp_path) == whole


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(StoreUnwritable, match="cannot write"):
        publish(file / "store", EMPTY, engine="numpy", observed_at_s=0.0)


def test_the_command_publishes_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {"namespace": "n", "topology": "wc", "vertex": "split", "task": "split-0"}
    with fake_prometheus() as fake:
        fake.series["thalweg_processed_total"] = [(labels, [(80.0, "0"), (90.0, "100")])]
        words = ["condense", "--engine", "numpy", "--source", fake.url, "--at", "100"]
        code = main([*words, "--store", str(tmp_path / "s")])
    assert code == 0
    report = json.loads(capsys.readouterr().out)
    found = read_matrices(tmp_path / "s")
    assert found is not None
    assert found.run == report["run"]
    assert found.tables["task_load"][0]["processed_per_s"] == pytest.approx(10)


@pytest.mark.parametrize("warnings", [[], ["store gateway down"]])
def test_what_a_source_warned_of_goes_with_the_run(tmp_path: Path, warnings: list[str]) -> None:
    """A partial answer, as Thanos may give; what is of others and left out makes none partial."""
    store = tmp_path / "s"
    with fake_prometheus() as fake:
        fake.warnings = warnings
        words = ["condense", "--engine", "numpy", "--source", fake.url, "--at", "100"]
        assert main([*words, "--store", str(store)]) == 0
    found = read_matrices(store)
    assert found is not None
    left_out = [text for text in found.warnings if text not in warnings]
    assert left_out, "it knows no selector of cAdvisor's"
    assert all(text.startswith("left out: container_") for text in left_out[:2])
    assert set(warnings) <= set(found.warnings)
    assert found.is_partial is bool(warnings)


LIMITED = """
from thalweg_spark.__main__ import _limit_memory
_limit_memory(64)
print(len(bytearray(2**24)))
try:
    bytearray(2**28)
except MemoryError:
    print("refused")
"""


def test_a_numpy_run_has_a_limit_of_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == [str(2**24), "refused"]


def test_a_run_that_needs_too_much_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(NumpyEngine, "find", find)
    words = ["condense", "--engine", "numpy", "--source", "http://x", "--store", str(tmp_path)]
    assert main(words) == 1
    assert "error: condensing needs more memory" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--source", "ftp://x"], 2),
        (["--source", "http://127.0.0.1:9"], 4),
        (["--source", "http://127.0.0.1:9", "--preset", "nope"], 2),
        (["--source", "http://127.0.0.1:9", "--expect", "/nowhere"], 2),
        (["--source", "http://127.0.0.1:9", "--header", "no colon"], 2),
    ],
)
def test_the_exit_code_says_what_to_do(
    tmp_path: Path, words: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["condense", "--engine", "numpy", "--store", str(tmp_path), *words]) == code
    assert capsys.readouterr().err.startswith("error: ")
    assert read_matrices(tmp_path) is None
