"""The program of an executor's pod: from Spark's environment to Java's command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg_spark.errors import InvalidInput
from thalweg_spark.executor import executor_command, spark_home

GIVEN = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:41000",
    "SPARK_EXECUTOR_ID": "2",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.9",
    "SPARK_EXECUTOR_POD_NAME": "thalweg-1-exec-2",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_10": "-Dlast=1",
    "SPARK_JAVA_OPT_0": "-Dfirst=a b",
    "SPARK_JAVA_OPT_2": "-Dsecond=1",
    "SPARK_JAVA_OPTS": "none of ours",
}


def test_the_command_has_all_that_the_driver_said() -> None:
    command = executor_command(GIVEN, java="/bin/java", home=Path("/spark"))
    program = command.index("org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    assert command[:program] == [
        *("/bin/java", "-Dfirst=a b", "-Dsecond=1", "-Dlast=1"),
        *("-Xmx512m", "-cp", "/spark/jars/*"),
    ]
    words = command[program + 1 :]
    assert dict(zip(words[::2], words[1::2], strict=True)) == {
        "--driver-url": "spark://CoarseGrainedScheduler@10.0.0.7:41000",
        "--executor-id": "2",
        "--cores": "1",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.9",
        "--resourceProfileId": "0",
        "--podName": "thalweg-1-exec-2",
    }


@pytest.mark.parametrize("name", ["SPARK_DRIVER_URL", "SPARK_EXECUTOR_MEMORY"])
def test_what_is_missing_is_named(name: str) -> None:
    given = {key: value for key, value in GIVEN.items() if key != name}
    with pytest.raises(InvalidInput, match=f"no executor's pod: {name} "):
        executor_command(given, java="/bin/java", home=Path("/spark"))


def test_pips_spark_has_the_program() -> None:
    assert list((spark_home() / "jars").glob("spark-kubernetes_*.jar"))


def started(tmp_path: Path, given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Start the module as a pod does, with a Java that only shows what it was asked."""
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\necho "$SPARK_HOME"\nfor word; do echo "$word"; done\nexit 52\n')
    java.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return subprocess.run(
        [sys.executable, "-m", "thalweg_spark.executor", "executor"],
        env={**environment, **given, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_becomes_java(tmp_path: Path) -> None:
    done = started(tmp_path, GIVEN)
    home, *words = done.stdout.splitlines()
    assert done.returncode == 52, "the exit code is Java's, by which Spark tells why it ended"
    assert home == str(spark_home())
    assert words == executor_command(GIVEN, java="", home=spark_home())[1:]


def test_elsewhere_it_says_why_not(tmp_path: Path) -> None:
    done = started(tmp_path, {})
    assert done.returncode == 2
    assert "error: this is no executor's pod" in done.stderr
