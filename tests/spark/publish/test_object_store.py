"""The matrix store on an object store that speaks S3: a real server, real requests."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from thalweg_operator.errors import StoreUnreadable
from thalweg_operator.observe.store import Matrices, read_matrices
from thalweg_spark.errors import StoreUnwritable
from thalweg_spark.publish.store import RUNS, located, publish
from thalweg_spark.schemas import TABLES
from thalweg_testbed.objects import ObjectStore

pytestmark = pytest.mark.spark

KEPT = 3
RUN_COUNT = 6


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with closing(ObjectStore(tmp_path_factory.mktemp("objects"))) as found:
        yield found


def coverage(number: int) -> dict[str, list[dict[str, Any]]]:
    row = {
        "matrix": "task_load",
        "namespace": "n",
        "topology": "wc",
        "window_s": 30.0,
        "observed_at_s": 100.0,
        "samples": number,
        "coverage": 1.0,
    }
    return {**{name: [] for name in TABLES}, "coverage": [row]}


def test_what_is_written_is_read_by_the_operator(objects: ObjectStore) -> None:
    root = objects.address("there")
    run = publish(root, coverage(7), engine="spark", observed_at_s=100.0)
    found = read_matrices(root, only=("n", "wc"))
    assert found is not None
    assert (found.run, found.engine, found.observed_at_s) == (run, "spark", 100.0)
    assert list(found.tables["coverage"]) == coverage(7)["coverage"]


def test_before_the_first_run_there_is_nothing(objects: ObjectStore) -> None:
    assert read_matrices(objects.address("nobody")) is None


def test_readers_see_whole_runs_in_order_and_old_ones_go(objects: ObjectStore) -> None:
    root = objects.address("busy")
    publish(root, coverage(0), engine="numpy", observed_at_s=0.0, keep=KEPT)

    def write() -> None:
        for number in range(1, RUN_COUNT + 1):
            publish(root, coverage(number), engine="numpy", observed_at_s=number, keep=KEPT)

    seen: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            seen.append(samples(read_matrices(root)))
        writing.result()
    seen.append(samples(read_matrices(root)))
    assert seen == sorted(seen)
    assert seen[-1] == RUN_COUNT
    assert len(set(seen)) > 1, "it was over before anybody looked"
    files, place = located(root)
    from pyarrow import fs

    assert len(files.get_file_info(fs.FileSelector(f"{place}/{RUNS}"))) == KEPT


def samples(found: Matrices | None) -> int:
    """What a run says, in every place where it says it."""
    assert found is not None
    (row,) = found.tables["coverage"]
    assert found.observed_at_s == row["samples"]
    return int(row["samples"])


def test_a_wrong_password_is_said_and_not_repeated(objects: ObjectStore) -> None:
    root = objects.address("there", secret="not-the-password")
    with pytest.raises(StoreUnwritable, match="there") as refused:
        publish(root, coverage(1), engine="spark", observed_at_s=1.0)
    with pytest.raises(StoreUnreadable) as unread:
        read_matrices(root)
    for error in (refused, unread):
        assert "not-the-password" not in str(error.value)


def test_a_server_that_is_gone_is_a_reason(tmp_path: Path) -> None:
    with closing(ObjectStore(tmp_path)) as short:
        root = short.address("there")
        publish(root, coverage(1), engine="spark", observed_at_s=1.0)
    with pytest.raises(StoreUnwritable, match="there"):
        publish(root, coverage(2), engine="spark", observed_at_s=2.0)
