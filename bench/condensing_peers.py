"""What each peer of `condensing` does, in a process of its own: `python -m bench.condensing_peers`.

All make the same of the same samples: the rate of every pair of tasks (the mean of readings without
the largest and the smallest), and what each task processed, was busy and used. Standard output
gets one line of JSON.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from thalweg_spark.condense.series import Series
from thalweg_spark.engine import Tables, Windows, condense

AT_S = 1_700_000_000.0
SCRAPE_S = 5.0
SAMPLES = 1000
"""Of one series: 83 minutes."""
FAN_OUT = 7
LOADS = ("processed", "busy", "cpu")
SERIES_A_TASK = FAN_OUT + len(LOADS)
LABELS = ("namespace", "topology", "vertex", "task", "to_vertex", "to_task", "pod")


def write_history(file: Path, samples: int) -> None:
    """Counters of as many tasks as it takes, a row group for every 100 tasks."""
    from thalweg_spark.steps.series import SERIES_ARROW, batches

    tasks = max(1, samples // (SAMPLES * SERIES_A_TASK))
    rng = np.random.default_rng(1)
    file.parent.mkdir(parents=True, exist_ok=True)
    with parquet.ParquetWriter(
        file, SERIES_ARROW, compression="lz4", use_dictionary=["fact"]
    ) as out:
        for first in range(0, tasks, 100):
            several = range(first, min(tasks, first + 100))
            rows = [one for task in several for one in _task(task, tasks, rng)]
            out.write_table(pa.Table.from_batches(batches(rows, AT_S), schema=SERIES_ARROW))


def _task(task: int, tasks: int, rng: np.random.Generator) -> Iterator[tuple[str, Series]]:
    own = {
        "namespace": "n",
        "topology": f"t{task // 500}",
        "vertex": "v",
        "task": f"v-{task}",
        "pod": f"v-{task}-1",
    }
    begun_s = AT_S - SCRAPE_S * (SAMPLES - 1) + rng.uniform(0, 0.5)
    times_s = np.array([begun_s + SCRAPE_S * scrape for scrape in range(SAMPLES)])
    for fact in LOADS:
        rises = rng.random(SAMPLES) * (500 if fact == "processed" else 5)
        yield fact, Series(labels=own, times_s=times_s, values=np.cumsum(rises))
    for step in range(FAN_OUT):
        edge = {**own, "to_vertex": "w", "to_task": f"w-{(task + step) % tasks}"}
        values = np.cumsum(rng.integers(0, 500, SAMPLES)).astype(float)
        yield "tuples", Series(labels=edge, times_s=times_s, values=values)


def _windows() -> Windows:
    return Windows(scaling_s=SAMPLES * SCRAPE_S, placement_s=SAMPLES * SCRAPE_S)


def by_numpy(file: Path, _: str) -> Tables:
    """Every row group to series, then the numpy path as it is."""
    pulled: dict[str, list[Series]] = {}
    source = parquet.ParquetFile(file)
    for group in range(source.num_row_groups):
        table = source.read_row_group(group, columns=["fact", *LABELS, "times_s", "numbers"])
        for fact, series in _series(table):
            pulled.setdefault(fact, []).append(series)
    return condense(pulled, None, at_s=AT_S, windows=_windows())


def _series(table: pa.Table) -> Iterator[tuple[str, Series]]:
    words = {name: table[name].to_pylist() for name in ("fact", *LABELS)}
    lists = table["times_s"].combine_chunks()
    offsets, times_s = lists.offsets.to_numpy(), lists.values.to_numpy()
    values = table["numbers"].combine_chunks().values.to_numpy()
    for row in range(len(table)):
        part = slice(offsets[row], offsets[row + 1])
        labels = {name: words[name][row] for name in LABELS if words[name][row]}
        yield words["fact"][row], Series(labels=labels, times_s=times_s[part], values=values[part])


def by_spark(file: Path, master: str) -> Tables:
    """The Spark steps, in a session that has done one small run before.

    The rows are whole series, as what is pulled in one piece is.
    """
    from thalweg_spark.session import spark_session

    with spark_session(master) as session:
        _tables(session.read.parquet(str(file)).limit(100))
        begun = time.perf_counter()
        found = _tables(session.read.parquet(str(file)))
        _tell(found, time.perf_counter() - begun)
    return found


def _tables(read: Any) -> Tables:  # noqa: ANN401 - a DataFrame; pyspark is imported by one peer only
    from thalweg_spark.job import tables_of_series

    return tables_of_series(read, None, at_s=AT_S, windows=_windows())


def by_pandas(file: Path, _: str) -> Tables:
    """Each metric as `MetricRangeDataFrame`, then what one would write with pandas."""
    import pandas as pd
    from prometheus_api_client import MetricRangeDataFrame

    answers = _answers(file)
    begun = time.perf_counter()
    found: Tables = {"dependency": [], "task_load": []}
    loads: dict[str, Any] = {}
    for fact, answer in answers.items():
        frame = MetricRangeDataFrame(answer, ts_as_datetime=False).reset_index()
        frame["value"] = frame["value"].astype(float)
        names = ["topology", "task", *(["to_task"] if fact == "tuples" else [])]
        frame = frame.sort_values([*names, "timestamp"])
        groups = frame.groupby(names, sort=False)
        rise, took_s = groups["value"].diff(), groups["timestamp"].diff()
        frame = frame.assign(rise=rise.where(rise >= 0), took_s=took_s.where(rise >= 0))
        if fact == "tuples":
            slot = groups.cumcount() // 2
            sums = frame.groupby([*names, slot])[["rise", "took_s"]].sum()
            readings = (sums["rise"] / sums["took_s"]).groupby(level=list(range(3)))
            trimmed = (readings.sum() - readings.max() - readings.min()) / (readings.count() - 2)
            found["dependency"] = trimmed.reset_index().to_dict("records")
        else:
            sums = frame.groupby(names)[["rise", "took_s"]].sum()
            loads[fact] = sums["rise"] / sums["took_s"]
    found["task_load"] = pd.DataFrame(loads).reset_index().to_dict("records")
    _tell(found, time.perf_counter() - begun)
    return found


def _answers(file: Path) -> dict[str, list[dict[str, Any]]]:
    """As the client library gives them: a list of [time, "value"] a series."""
    answers: dict[str, list[dict[str, Any]]] = {}
    for fact, series in _series(parquet.read_table(file)):
        values = [
            [at, repr(value)]
            for at, value in zip(series.times_s.tolist(), series.values.tolist(), strict=True)
        ]
        answers.setdefault(fact, []).append({"metric": dict(series.labels), "values": values})
    return answers


def _tell(found: Tables, seconds: float) -> None:
    """Said once, by whoever knows when the work itself began."""
    rows = {name: len(found[name]) for name in ("dependency", "task_load")}
    total = sum(_rate(row) for row in found["dependency"])
    sys.stdout.write(json.dumps({"seconds": seconds, "rows": rows, "sum": total}) + "\n")


def _rate(row: Mapping[Any, Any]) -> float:
    """Pandas calls a column without a name 0."""
    return float(row["tuples_per_s"] if "tuples_per_s" in row else row[0])


PEERS = {"numpy": by_numpy, "spark": by_spark, "pandas": by_pandas}


def main(peer: str, file: str, master: str) -> None:
    """Run one peer."""
    begun = time.perf_counter()
    found = PEERS[peer](Path(file), master)
    if peer == "numpy":
        _tell(found, time.perf_counter() - begun)


if __name__ == "__main__":
    main(*sys.argv[1:4])
