"""Tasks that share pods, on real nodes: fewer pods than tasks, and none of it is lost with one."""

from typing import Any

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.counting import Counted
from thalweg_testbed.kind.monitoring import Prometheus
from thalweg_testbed.kind.streams import Stream
from thalweg_testbed.kind.topologies import is_ready

LINES = 600
SOURCES = 2
WITHIN = 0.02


def hosts(stream: Stream) -> dict[str, list[str]] | None:
    """The tasks of each pod, once every task is in exactly one and all of these are Ready."""
    pods = [pod for pod in stream.all_pods() if "deletionTimestamp" not in pod["metadata"]]
    found = {pod["metadata"]["name"]: tasks_of(pod) for pod in pods}
    tasks = [task for hosted in found.values() for task in hosted]
    is_whole = len(tasks) == len(set(tasks)) == stream.tasks()
    return found if is_whole and all(map(is_ready, pods)) else None


def tasks_of(pod: dict[str, Any]) -> list[str]:
    told: str = pod["metadata"].get("annotations", {}).get("thalweg.dev/tasks", "")
    return told.split(",") if told else []


def test_tasks_share_pods(
    whole: KindCluster, namespace: str, looping: str, prometheus: Prometheus
) -> None:
    stream = Stream(whole, namespace, "shared", looping)
    words = ["--rate=30", f"--last={LINES}"]
    still = {"placement": {"processes": "Shared"}, "scaling": {"mode": "Off"}}
    spec = stream.example("word-count-2-3-3-2", words, **still)
    stream.submit(spec)
    found = eventually(
        lambda: hosts(stream), timeout_s=240, every_s=1.0, what="every task", show=stream.show
    )
    assert found is not None
    assert len(found) < stream.tasks()
    counted = Counted(prometheus, namespace, spec)
    lines = SOURCES * LINES
    eventually(
        lambda: counted.processed("output") > 0,
        timeout_s=180,
        every_s=2.0,
        what="words at the sink",
        show=stream.show,
    )
    fullest = max(found, key=lambda name: len(found[name]))
    whole.kubectl("delete", "pod", fullest, "-n", namespace, "--wait=false")
    eventually(
        lambda: counted.all("thalweg_complete_seconds_count") >= (1 - WITHIN) * lines,
        timeout_s=300,
        every_s=2.0,
        what="all lines are acknowledged",
        show=lambda: f"{counted.processed('read'):g}\n{stream.show()}",
    )
    eventually(
        lambda: not counted.differences(WITHIN),
        timeout_s=30,
        what="what was sent is what came",
        show=lambda: "\n".join(counted.differences(WITHIN)),
    )
    assert abs(counted.processed("read") - lines) <= WITHIN * lines, "made twice, or not counted"
    assert not counted.still()
    again = eventually(lambda: hosts(stream), timeout_s=60, what="every task", show=stream.show)
    assert again is not None
    assert fullest not in again
