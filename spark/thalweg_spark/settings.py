"""What a SparkSession is told, by where Spark runs."""

from collections.abc import Mapping
from pathlib import Path

from thalweg_spark.errors import InvalidInput
from thalweg_spark.pods import SCHEME, Executors, Pods, pod_settings

_SCHEMES = ("local", "spark://", SCHEME, "sc://")
_ANY: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Series come fact by fact; in small batches a step need not open those of other facts.
    "spark.sql.inMemoryColumnarStorage.batchSize": "500",
    # A row is a whole series: of long histories a few hundred of them fill the memory.
    "spark.sql.parquet.columnarReaderBatchSize": "64",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.files.maxPartitionBytes": "16m",
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "32",
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
    "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError -XX:+UseSerialGC",
}
"""What only the owner of the JVM can say: a child that lives for days must not grow."""


def require_master(master: str) -> None:
    """Refuse what names no place that Spark can run on."""
    if not master.startswith(_SCHEMES):
        raise InvalidInput(
            f"a Spark master is local[*], spark://…, k8s://… or sc://…; got {master!r}"
        )


def is_remote(master: str) -> bool:
    """Whether the JVM is somebody else's: Spark Connect."""
    return master.startswith("sc://")


def are_pods(master: str) -> bool:
    """Whether executors are pods."""
    return master.startswith(SCHEME)


def session_settings(
    master: str,
    *,
    memory: str,
    folder: Path,
    pods: Pods | None = None,
    executors: Executors | None = None,
) -> dict[str, str]:
    """All settings of a session; `pods` where executors are pods."""
    if is_remote(master):
        return dict(_ANY)
    settings = {
        **_ANY,
        **_OWN,
        "spark.driver.memory": memory,
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if pods is not None:
        settings |= pod_settings(pods, executors or Executors())
    return settings
