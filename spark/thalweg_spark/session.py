"""The SparkSession: made here and nowhere else, small and quiet."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from thalweg_spark.errors import InvalidInput, SparkUnavailable
from thalweg_spark.pull.spark_source import PrometheusDataSource

_SCHEMES = ("local", "spark://", "k8s://", "sc://")
_ANY: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""What holds wherever Spark runs. The matrices are small: two partitions beat two hundred."""
_OWN: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedJobs": "5",
    "spark.ui.retainedStages": "5",
    "spark.ui.retainedTasks": "50",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.cleaner.periodicGC.interval": "5min",
    "spark.sql.shuffleExchange.maxThreadThreshold": "8",
    "spark.sql.resultQueryStage.maxThreadThreshold": "8",
    "spark.sql.codegen.cache.maxEntries": "500",
}
"""What only the owner of the JVM can say: a child that lives for days must not grow."""


@contextmanager
def spark_session(
    master: str, *, memory: str = "1g", scratch: Path | None = None
) -> Iterator[SparkSession]:
    """A session on `master`; on leaving, it and its files are gone."""
    if not master.startswith(_SCHEMES):
        raise InvalidInput(
            f"a Spark master is local[*], spark://…, k8s://… or sc://…; got {master!r}"
        )
    folder = tempfile.mkdtemp(prefix="thalweg-spark-", dir=scratch)
    session = None
    try:
        session = _start(master, memory, folder)
        session.dataSource.register(PrometheusDataSource)
        yield session
    finally:
        if session is not None:
            session.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _start(master: str, memory: str, folder: str) -> SparkSession:
    builder = SparkSession.builder.appName("thalweg")
    settings = dict(_ANY)
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        require_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
        settings |= {
            **_OWN,
            "spark.driver.memory": memory,
            "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError -XX:+UseSerialGC",
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        }
        if master.startswith("local"):
            settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def require_java() -> str:
    """The path of the java program that Spark will use; refuses when there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    if found is None:
        raise SparkUnavailable(
            "Spark needs Java 17 or later, and there is none: install it (Debian: apt-get install"
            " openjdk-17-jre-headless) or use the engine numpy"
        )
    return found
