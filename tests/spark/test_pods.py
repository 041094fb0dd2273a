"""Executors as pods: who they belong to, and that those of a killed driver do not stay."""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import certifi
import pytest

from thalweg_spark.errors import InvalidInput, SparkUnavailable
from thalweg_spark.pods import TEMPLATE, Executors, Pods, pod_settings, pods_of, remove_left_over

LABEL = "thalweg.dev/spark-driver"


def test_the_environment_of_a_pod() -> None:
    found = pods_of(
        {
            "THALWEG_EXECUTOR_IMAGE": "registry/operator:1",
            "THALWEG_EXECUTOR_TEMPLATE": "/etc/thalweg/executor.yaml",
            "THALWEG_EXECUTOR_ACCOUNT": "nobody",
            "THALWEG_POD_NAME": "thalweg-0",
            "THALWEG_POD_NAMESPACE": "streams",
            "THALWEG_POD_IP": "10.0.0.7",
        }
    )
    assert found == Pods(
        image="registry/operator:1",
        namespace="streams",
        template=Path("/etc/thalweg/executor.yaml"),
        service_account="nobody",
        driver_pod="thalweg-0",
        driver_host="10.0.0.7",
    )


def test_by_hand_an_image_is_enough() -> None:
    found = pods_of({"THALWEG_EXECUTOR_IMAGE": "mine"})
    assert found == Pods(image="mine", namespace="default", template=TEMPLATE)
    settings = pod_settings(found, Executors())
    assert not {"spark.driver.host", "spark.kubernetes.driver.pod.name"} & set(settings)
    assert not any("label" in name or "serviceAccount" in name for name in settings)


def test_without_an_image_it_is_said_which_name_is_missing() -> None:
    with pytest.raises(InvalidInput, match="THALWEG_EXECUTOR_IMAGE"):
        pods_of({})


@pytest.mark.parametrize(
    ("pod", "label"), [("thalweg-7d9-x2x", "thalweg-7d9-x2x"), ("a" * 70 + "-z", "a" * 61 + "-z")]
)
def test_executors_carry_their_drivers_name(pod: str, label: str) -> None:
    settings = pod_settings(Pods(image="mine", driver_pod=pod), Executors())
    assert settings["spark.kubernetes.driver.pod.name"] == pod
    assert settings[f"spark.kubernetes.executor.label.{LABEL}"] == label


def test_a_label_does_not_begin_with_a_dash() -> None:
    settings = pod_settings(Pods(image="mine", driver_pod="a-" + "b" * 62), Executors())
    assert settings[f"spark.kubernetes.executor.label.{LABEL}"] == "b" * 62


@dataclass
class Api:
    """An API server that deletes what it is asked to, or refuses."""

    url: str = ""
    code: int = 200
    asked: list[tuple[str, dict[str, list[str]], str]] = field(default_factory=list)


@pytest.fixture
def api() -> Iterator[Api]:
    found = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_DELETE(self) -> None:
            parts = urlsplit(self.path)
            who = self.headers["Authorization"]
            found.asked.append((parts.path, parse_qs(parts.query), who))
            self.send_response(found.code)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found.url = f"k8s://http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("secret\n")
    shutil.copy(certifi.where(), tmp_path / "ca.crt")
    return tmp_path


HERE = Pods(image="mine", namespace="streams", driver_pod="thalweg-0")


def test_what_a_killed_driver_left_is_deleted(api: Api, account: Path) -> None:
    remove_left_over(api.url, HERE, account=account)
    selector = [f"spark-role=executor,{LABEL}=thalweg-0"]
    path = "/api/v1/namespaces/streams/pods"
    assert api.asked == [(path, {"labelSelector": selector}, "Bearer secret")]


def test_outside_a_cluster_nothing_is_asked(api: Api, account: Path) -> None:
    remove_left_over(api.url, Pods(image="mine"), account=account)
    assert api.asked == []


def test_a_missing_right_is_said(api: Api, account: Path) -> None:
    api.code = 403
    with pytest.raises(SparkUnavailable, match="cannot be managed: HTTP Error 403"):
        remove_left_over(api.url, HERE, account=account)


def test_a_silent_server_is_said(account: Path) -> None:
    with pytest.raises(SparkUnavailable, match="cannot be asked for pods"):
        remove_left_over("k8s://http://127.0.0.1:9", HERE, account=account)
