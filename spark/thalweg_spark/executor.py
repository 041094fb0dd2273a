"""What an executor's pod runs: Spark's own program, told by the environment that Spark gave it.

Spark's images have a script for this, pip's package has none; executor.yaml names this module.
"""

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from thalweg_spark.errors import CondenseError, InvalidInput, SparkUnavailable
from thalweg_spark.java import require_java

_PROGRAM = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTIONS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def executor_command(environment: Mapping[str, str], *, java: str, home: Path) -> list[str]:
    """The command line of an executor, from the environment of its pod."""
    missing = [
        name for name in (*_OPTIONS.values(), "SPARK_EXECUTOR_MEMORY") if not environment.get(name)
    ]
    if missing:
        raise InvalidInput(f"this is no executor's pod: {', '.join(missing)} are not set")
    options = [word for option, name in _OPTIONS.items() for word in (option, environment[name])]
    heap = f"-Xmx{environment['SPARK_EXECUTOR_MEMORY']}"
    return [java, *_java_options(environment), heap, "-cp", f"{home}/jars/*", _PROGRAM, *options]


def _java_options(environment: Mapping[str, str]) -> list[str]:
    """What the driver tells Java, in its order: the names are numbered."""
    numbered = ((_JAVA_OPTION.fullmatch(name), value) for name, value in environment.items())
    return [
        value for _, value in sorted((int(found[1]), value) for found, value in numbered if found)
    ]


def spark_home() -> Path:
    """Where pip put Spark; importing it would take longer than finding it."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkUnavailable("there is no pyspark in this image")
    return Path(found.origin).parent


def main() -> None:
    """Become the executor: signals and the exit code are Java's own."""
    try:
        home = spark_home()
        command = executor_command(os.environ, java=require_java(), home=home)
    except CondenseError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(error.exit_code)
    os.execve(command[0], command, {**os.environ, "SPARK_HOME": str(home)})  # noqa: S606


if __name__ == "__main__":
    main()
