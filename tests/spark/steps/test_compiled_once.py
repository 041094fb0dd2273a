"""A pass finds the code of the pass before it, however the time and the samples have changed."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thalweg_spark.condense.series import Series
from thalweg_spark.engine import Windows
from thalweg_spark.job import tables_of
from thalweg_spark.steps.series import SERIES_ARROW, SERIES_DDL, batches

pytestmark = pytest.mark.spark


def one_pass(session: SparkSession, at_s: float) -> float:
    """Condense what a task did until `at_s`; what it processed per second."""
    times_s = at_s - np.arange(10.0)[::-1]
    own = {"namespace": "n", "topology": "t", "vertex": "v", "task": "v-0", "pod": "p"}
    edge = {**own, "to_vertex": "w", "to_task": "w-0"}
    rows = [
        (fact, Series(labels=labels, times_s=times_s, values=7.0 * np.arange(10.0)))
        for fact, labels in (("processed", own), ("busy", own), ("tuples", edge), ("bytes", edge))
    ]
    table = pa.Table.from_batches(batches(rows, at_s), schema=SERIES_ARROW)
    read = session.createDataFrame(table, schema=SERIES_DDL)
    found = tables_of(read, None, at_s=at_s, windows=Windows())
    rate: float = found["task_load"][0]["processed_per_s"]
    return rate


def compiled(session: SparkSession) -> int:
    """How many classes Spark has generated in this JVM."""
    assert session._jvm is not None
    metrics = session._jvm.org.apache.spark.metrics.source.CodegenMetrics
    count: int = metrics.METRIC_COMPILATION_TIME().getCount()
    return count


def test_a_later_pass_compiles_nothing_new(session: SparkSession) -> None:
    assert [one_pass(session, 1.7e9 + 15 * turn) for turn in range(2)] == pytest.approx([7.0, 7.0])
    before = compiled(session)
    assert before > 0
    one_pass(session, 1.7e9 + 60)
    assert compiled(session) == before
