"""What Spark is told, by where it runs."""

from pathlib import Path

import pytest

from thalweg_spark.errors import InvalidInput
from thalweg_spark.pods import TEMPLATE, Executors, Pods
from thalweg_spark.settings import require_master, session_settings

FOLDER = Path("/scratch")
PODS = Pods(
    image="registry/operator:1",
    namespace="streams",
    driver_pod="thalweg-7d9-x2x",
    driver_host="10.0.0.7",
)


def settings(master: str, pods: Pods | None = None) -> dict[str, str]:
    return session_settings(master, memory="1g", folder=FOLDER, pods=pods)


@pytest.mark.parametrize("master", ["local[*]", "spark://h:7077", "k8s://https://h", "sc://h"])
def test_masters(master: str) -> None:
    require_master(master)


@pytest.mark.parametrize("master", ["", "yarn", "https://h", "kubernetes://h"])
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(InvalidInput, match="a Spark master is"):
        require_master(master)


def test_somebody_elses_spark_is_told_only_what_a_session_may_say() -> None:
    found = settings("sc://h")
    assert all(name.startswith("spark.sql.") for name in found)


def test_a_local_spark_listens_to_nobody_else() -> None:
    found = settings("local[*]")
    assert found["spark.driver.bindAddress"] == found["spark.driver.host"] == "127.0.0.1"
    assert found["spark.driver.memory"] == "1g"
    assert not any("kubernetes" in name for name in found)


def test_a_standalone_cluster_gets_no_word_of_pods() -> None:
    found = settings("spark://h:7077")
    assert "spark.driver.host" not in found
    assert not any("kubernetes" in name for name in found)


def test_executors_are_pods_of_the_drivers() -> None:
    found = settings("k8s://https://h", PODS)
    assert found["spark.kubernetes.container.image"] == "registry/operator:1"
    assert found["spark.kubernetes.namespace"] == "streams"
    assert found["spark.kubernetes.driver.pod.name"] == "thalweg-7d9-x2x"
    assert found["spark.driver.host"] == "10.0.0.7"
    assert found["spark.kubernetes.executor.podTemplateFile"] == str(TEMPLATE)
    assert found["spark.authenticate"] == "true"
    assert found["spark.driver.memory"] == "1g"


def test_nothing_but_pods_is_made_or_deleted() -> None:
    found = settings("k8s://https://h", PODS)
    assert found["spark.kubernetes.executor.disableConfigMap"] == "true"
    assert found["spark.kubernetes.driver.service.deleteOnTermination"] == "false"
    assert found["spark.kubernetes.driver.ownPersistentVolumeClaim"] == "false"


def test_executors_have_a_number_and_a_size() -> None:
    found = session_settings(
        "k8s://https://h",
        memory="1g",
        folder=FOLDER,
        pods=PODS,
        executors=Executors(count=5, memory="2g"),
    )
    assert found["spark.executor.instances"] == "5"
    assert found["spark.executor.memory"] == "2g"
