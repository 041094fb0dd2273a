"""Nothing is lost while pods are deleted and killed, a node pauses, routes and replicas change.

A killed process' sources and links begin anew in the same pod, without a chance to say good-bye.
"""

import sys
import time
from typing import Any

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.streams import Stream

WORDS_A_LINE = 4
SOURCES = 2


@pytest.fixture
def stream(whole: KindCluster, looping: str, namespace: str) -> Stream:
    return Stream(whole, namespace, "words", looping)


def audited(stream: Stream, lines: int, rate: int) -> None:
    """Apply WordCount whose last step keeps account of every tuple."""
    words = [
        "--program=thalweg_runtime.steps.audit",
        f"--rate={rate}",
        f"--last={lines}",
        "--emulated-wait-ms=0",
        "--dead-after-s=4",
        "--hand-over-s=4",
    ]
    # Even: a node other than the auditor's has something to be paused.
    still = {"strategy": "Even", "mode": "Recommend", "scaling": {"mode": "Off"}}
    spec = stream.example("word-count-2-3-3-2", words, **still)
    for vertex in spec["vertices"]:
        if vertex["name"] == "output":
            vertex |= {"name": "audit", "replicas": {"min": 1, "max": 1, "initial": 1}}
    spec["edges"][-1] = {"from": "count", "to": "audit"}
    stream.submit(spec)


def through_everything(
    stream: Stream, kind: KindCluster, *, lines: int, rate: int, changes: int, factor: float = 1.0
) -> str:
    """Disturb it in every way, and return what the auditor saw.

    What is left after the last disturbance comes `factor` times as fast.
    """
    audited(stream, lines, rate)
    pods = stream.settled(stream.tasks())
    auditor = pods["audit-0"]
    expected = SOURCES * lines * WORDS_A_LINE
    eventually(lambda: seen(stream, auditor)[0] > 0, timeout_s=120, what="tuples flow")
    stream.end(pods["split-0"])
    stream.kill(pods["count-1"])
    stream.kill(pods["read-1"])
    stream.scale("count", 4)
    stream.scale("split", 2)
    pause_a_node(stream, kind, auditor)
    are_scaled(stream, count=4, split=2)
    assert restarts(stream) >= {"count-1", "read-1"}, "killed, and started again where they were"
    change_routes(stream, changes)
    stream.scale("count", 2)
    stream.scale("split", 4)
    are_scaled(stream, count=2, split=4)
    while_disturbed = seen(stream, auditor)[0]
    assert while_disturbed < expected, "it was over before the last disturbance"
    for source in ("read-0", "read-1"):
        stream.turn(stream.pods()[source], factor=factor)
    eventually(
        lambda: seen(stream, auditor)[0] >= expected,
        timeout_s=300 + 3 * lines / rate,
        every_s=2.0,
        what=f"{expected} tuples",
        show=lambda: f"{seen(stream, auditor)}\n{stream.show()}",
    )
    distinct, repeated = seen(stream, auditor)
    assert distinct == expected
    return (
        f"{distinct:.0f} tuples, all of them there, {repeated:.0f} came again; "
        f"{while_disturbed:.0f} while it was disturbed"
    )


def are_scaled(stream: Stream, *, count: int, split: int) -> None:
    """Wait until so many tasks get what is sent."""
    stream.until_routed("read", "split", split)
    stream.until_routed("split", "count", count)


def restarts(stream: Stream) -> set[str]:
    """The tasks whose process was started again in its pod."""
    return {
        task
        for task, pod in stream.pods().items()
        if any(one["restartCount"] for one in pod["status"]["containerStatuses"])
    }


def change_routes(stream: Stream, changes: int) -> None:
    """Give other weights again and again, each time once all senders follow the ones before."""
    for turn in range(changes):
        version = stream.weigh("read", "split", (1.0, 2.0 + turn))
        eventually(
            lambda version=version: stream.followed("read") >= version,  # type: ignore[misc]
            timeout_s=20,
            what=f"routes version {version}",
            show=stream.show,
        )


def pause_a_node(stream: Stream, kind: KindCluster, auditor: dict[str, Any]) -> None:
    """For ten seconds; not the auditor's, who alone knows what came."""
    home = auditor["spec"]["nodeName"]
    nodes = {pod["spec"]["nodeName"] for pod in stream.pods().values()} - {home}
    node = sorted(nodes)[0]
    kind.sleep_node(node)
    time.sleep(10)
    kind.wake_node(node)


def seen(stream: Stream, auditor: dict[str, Any]) -> tuple[float, float]:
    found = stream.metrics(auditor)
    names = "thalweg_audit_distinct_total", "thalweg_audit_repeated_total"
    return found.get(names[0], 0.0), found.get(names[1], 0.0)


def test_every_id_arrives(
    stream: Stream, kind: KindCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same as below, with so few ids that it is over soon after the last disturbance."""
    told = through_everything(stream, kind, lines=5000, rate=20, changes=3, factor=15.0)
    with capsys.disabled():
        sys.stdout.write(f"\n{told}\n")


@pytest.mark.soak
@pytest.mark.timeout(2400)
def test_a_million_ids_arrive(
    stream: Stream, kind: KindCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    told = through_everything(stream, kind, lines=125_000, rate=400, changes=20)
    with capsys.disabled():
        sys.stdout.write(f"\n{told}\n")
