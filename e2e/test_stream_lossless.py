"""Nothing is lost while pods are deleted and killed, a node pauses, routes and replicas change."""

import sys
import time
from typing import Any

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.streams import Stream

WORDS_A_LINE = 4
SOURCES = 2
ROUTES_CHANGES = 20


@pytest.fixture
def stream(whole: KindCluster, operator: KindCluster, namespace: str, runtime_image: str) -> Stream:
    assert operator is whole
    return Stream(whole, namespace, "words", runtime_image)


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


def through_everything(stream: Stream, kind: KindCluster, lines: int, rate: int) -> str:
    """Disturb it in every way, and return what the auditor saw."""
    audited(stream, lines, rate)
    pods = stream.settled(stream.tasks())
    auditor = pods["audit-0"]
    expected = SOURCES * lines * WORDS_A_LINE
    eventually(lambda: seen(stream, auditor)[0] > 0, timeout_s=120, what="tuples flow")
    stream.end(pods["split-0"])
    stream.end(pods["count-1"], is_killed=True)
    stream.end(pods["read-1"], is_killed=True)
    stream.scale("count", 4)
    stream.scale("split", 2)
    pause_a_node(stream, kind, auditor)
    stream.settled(stream.tasks())
    change_routes(stream)
    stream.scale("count", 2)
    stream.scale("split", 4)
    while_disturbed = seen(stream, auditor)[0]
    assert while_disturbed < expected, "it was over before the last disturbance"
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


def change_routes(stream: Stream) -> None:
    """Give other weights again and again, each time once a sender follows the ones before."""
    for turn in range(ROUTES_CHANGES):
        version = stream.weigh("read", "split", (1.0, 2.0 + turn))
        eventually(
            lambda version=version: followed(stream) >= version,  # type: ignore[misc]
            timeout_s=150,
            what=f"routes version {version}",
        )


def followed(stream: Stream) -> float:
    """The version of the routes that a source sends by."""
    return stream.metrics(stream.pods()["read-0"])["thalweg_routes_version"]


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


@pytest.mark.soak
def test_a_million_ids_arrive(
    stream: Stream, kind: KindCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    told = through_everything(stream, kind, lines=125_000, rate=400)
    with capsys.disabled():
        sys.stdout.write(f"\n{told}\n")
