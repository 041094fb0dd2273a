"""The SparkSession: made here and nowhere else, small and quiet."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from thalweg_spark.java import require_java
from thalweg_spark.pods import Executors, pods_of, remove_left_over
from thalweg_spark.pull.spark_source import PrometheusDataSource
from thalweg_spark.settings import are_pods, is_remote, require_master, session_settings


@contextmanager
def spark_session(
    master: str,
    *,
    memory: str = "1g",
    scratch: Path | None = None,
    executors: Executors | None = None,
) -> Iterator[SparkSession]:
    """A session on `master`; on leaving, it, its files and its executors are gone."""
    require_master(master)
    folder = Path(tempfile.mkdtemp(prefix="thalweg-spark-", dir=scratch))
    session = None
    try:
        session = _start(master, memory, folder, executors)
        session.dataSource.register(PrometheusDataSource)
        yield session
    finally:
        if session is not None:
            session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _start(master: str, memory: str, folder: Path, executors: Executors | None) -> SparkSession:
    builder = SparkSession.builder.appName("thalweg")
    pods = None
    if is_remote(master):
        builder = builder.remote(master)
    else:
        require_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        builder = builder.master(master)
    if are_pods(master):
        pods = pods_of(os.environ)
        remove_left_over(master, pods)
    settings = session_settings(
        master, memory=memory, folder=folder, pods=pods, executors=executors
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
