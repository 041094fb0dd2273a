"""The chart's operator with executors as pods: they are replaced when Spark is killed, and end."""

from collections.abc import Iterator

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.images import Images
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.installation import (
    NAMESPACE,
    condensing_engine,
    install_operator,
    roll_back_operator,
)
from thalweg_testbed.kind.monitoring import Prometheus
from thalweg_testbed.kind.streams import Stream

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

LONG_S = 400.0
KILL_JAVA = """
import os, pathlib
for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
    if comm.read_text().strip() == "java":
        os.kill(int(comm.parent.name), 9)
"""


@pytest.fixture
def in_pods(
    kind: KindCluster, images: Images, prometheus: Prometheus, looping: str
) -> Iterator[str]:
    """Install the operator with the one setting; give the workers' image."""
    settings = {
        "pass_interval_s": 5.0,
        "metrics_sources": {"default": {"url": prometheus.url}},
        "condense": {"spark_master": "k8s://https://kubernetes.default.svc"},
    }
    install_operator(kind, images, settings=settings)
    yield looping
    roll_back_operator(kind)


def executors(kind: KindCluster) -> dict[str, str]:
    """The phase of each executor."""
    found = kind.get("pods", "-n", NAMESPACE, "-l", "spark-role=executor")["items"]
    return {one["metadata"]["name"]: one["status"]["phase"] for one in found}


def two_running(kind: KindCluster, *, but: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """Exactly two executors, all running, and none of those before."""
    found = executors(kind)
    is_so = sorted(found.values()) == ["Running"] * 2 and not but & set(found)
    return frozenset(found) if is_so else None


def test_a_killed_spark_leaves_no_executor(kind: KindCluster, in_pods: str, namespace: str) -> None:
    stream = Stream(kind, namespace, "words", in_pods)
    stream.submit(stream.example("word-count-2-3-3-2", ["--rate=20"]))
    stream.settled(stream.tasks())

    def show() -> str:
        return f"{executors(kind)} {condensing_engine(kind)}\n{stream.show()}"

    first = eventually(
        lambda: two_running(kind), timeout_s=LONG_S, every_s=2.0, what="executors", show=show
    )
    assert first is not None
    eventually(
        lambda: condensing_engine(kind) == "spark",
        timeout_s=LONG_S,
        every_s=2.0,
        what="matrices made by Spark",
        show=show,
    )
    (owner,) = {
        one["name"]
        for name in first
        for one in kind.get("pod", name, "-n", NAMESPACE)["metadata"]["ownerReferences"]
    }
    kind.kubectl("exec", owner, "-n", NAMESPACE, "--", "python3", "-c", KILL_JAVA)
    second = eventually(
        lambda: two_running(kind, but=first),
        timeout_s=LONG_S,
        every_s=2.0,
        what="other executors, and none of the first",
        show=show,
    )
    assert second
    kind.kubectl("delete", "pod", owner, "-n", NAMESPACE, "--wait=false")
    eventually(
        lambda: not set(second) & set(executors(kind)),
        timeout_s=LONG_S,
        every_s=2.0,
        what="they go with the operator's pod",
        show=show,
    )
