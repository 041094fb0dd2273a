"""One setting from a laptop to a cluster: the same matrices on every kind of master."""

import dataclasses
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg_fake_prometheus import fake_prometheus
from thalweg_operator.observe.store import read_matrices
from thalweg_testbed.spark_servers import ConnectSpark, StandaloneSpark

pytestmark = pytest.mark.spark

AT_S = 1000.0


@pytest.fixture(scope="module")
def source() -> Iterator[str]:
    with fake_prometheus() as server:
        for number in range(6):
            own = {
                "namespace": "n",
                "topology": "wc",
                "vertex": "split",
                "task": f"split-{number}",
                "pod": f"p{number}",
            }
            samples = [(AT_S - 5 * step, str(1e6 - step * (number + 1))) for step in range(60)]
            server.series.setdefault("thalweg_processed_total", []).append((own, samples))
            edge = {**own, "to_vertex": "count", "to_task": "count-0"}
            server.series.setdefault("thalweg_tuples_total", []).append((edge, samples))
        yield server.url


def condensed(folder: Path, source: str, *words: str) -> dict[str, list[dict[str, Any]]]:
    """What one run of the command publishes."""
    command = [sys.executable, "-m", "thalweg_spark", "condense", "--source", source]
    command += ["--store", str(folder), "--at", str(AT_S), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    found = read_matrices(folder)
    assert found is not None
    assert found.engine == json.loads(done.stdout)["engine"]
    return {name: [dict(row) for row in rows] for name, rows in found.tables.items()}


def rounded(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    def shown(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return "unknown" if math.isnan(value) else round(value, 9)

    return {
        name: [{key: shown(value) for key, value in row.items()} for row in rows]
        for name, rows in tables.items()
    }


@dataclasses.dataclass(frozen=True)
class Place:
    """Something that Spark can run on."""

    url: str
    has_worked: Callable[[], bool]


@pytest.fixture(params=["spark://", "sc://"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "spark://":
        with StandaloneSpark(tmp_path / "cluster") as cluster:
            work = [tmp_path / "cluster" / f"work-{number}" for number in range(2)]
            # Each worker has a folder for every application that it ran an executor of.
            yield Place(cluster.url, lambda: all(any(one.glob("app-*/*")) for one in work))
    else:
        with ConnectSpark(tmp_path / "connect") as server:
            yield Place(server.url, lambda: True)


def test_the_same_matrices_wherever_spark_runs(tmp_path: Path, source: str, place: Place) -> None:
    expected = condensed(tmp_path / "numpy", source, "--engine", "numpy")
    assert len(expected["dependency"]) == 6
    found = condensed(tmp_path / "spark", source, "--spark-master", place.url)
    assert rounded(found) == rounded(expected)
    assert place.has_worked(), "the work was not done on the workers"


def test_a_master_that_is_none(tmp_path: Path, source: str) -> None:
    command = [sys.executable, "-m", "thalweg_spark", "condense", "--source", source]
    command += ["--store", str(tmp_path), "--spark-master", "yarn"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 2
    assert "a Spark master is local[*], spark://…" in done.stderr
