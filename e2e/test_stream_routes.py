"""Routes that change while it flows: senders hear at once, and send as the routes say."""

import sys
import time
from typing import Any

import pytest

from thalweg_scheduling.group.near_source import routed_shares
from thalweg_scheduling.group.receivers import Origin, Receiver
from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.streams import Stream

LINES_PER_S = 120
WEIGHTS = ((1.0, 1.0, 4.0), (5.0, 2.0, 3.0), (1.0, 8.0, 1.0), (2.0, 3.0, 5.0))
AT_ONCE_S = 20.0
"""Far below the minute and more that a kubelet takes to refresh files by itself."""
TUPLES = 2000
"""Of each sender, after which shares are looked at."""
WITHIN = 0.01


@pytest.fixture
def stream(whole: KindCluster, looping: str, namespace: str) -> Stream:
    stream = Stream(whole, namespace, "words", looping)
    words = [f"--rate={LINES_PER_S}", "--emulated-wait-ms=0"]
    still = {"strategy": "Even", "mode": "Recommend", "scaling": {"mode": "Off"}}
    spec = stream.example("word-count-2-3-3-2", words, **still)
    for vertex in spec["vertices"]:
        if vertex["name"] == "output":
            # One in each domain: those that count have one near, and do not fill it.
            vertex["replicas"] = {"min": 1, "max": 4, "initial": 4}
    to_split, _, to_output = spec["edges"]
    to_split["grouping"] = {"type": "Weighted"}
    to_output["grouping"] = {"type": "NearSource"}
    stream.submit(spec)
    return stream


def senders(stream: Stream, vertex: str) -> dict[str, dict[str, Any]]:
    """The pods of a vertex, by task."""
    return {task: pod for task, pod in stream.pods().items() if task.startswith(f"{vertex}-")}


def until_followed(stream: Stream, vertex: str, version: int) -> float:
    """Wait until every sender sends by a version; give the seconds that it took."""
    began_s = time.monotonic()
    eventually(
        lambda: stream.followed(vertex) >= version,
        timeout_s=AT_ONCE_S,
        what=f"all senders follow version {version}",
        show=stream.show,
    )
    took_s = time.monotonic() - began_s
    for pod in senders(stream, vertex).values():
        assert int(pod["metadata"]["annotations"]["thalweg.dev/routes-version"]) >= version
    return took_s


def sent_from_now(stream: Stream, vertex: str, to: str) -> dict[str, dict[str, float]]:
    """The shares of a vertex' receivers in what each of its tasks sends from now on."""
    pods = senders(stream, vertex)
    before = {task: stream.sent(pod) for task, pod in pods.items()}
    found: dict[str, dict[str, float]] = {}

    def is_enough(task: str) -> bool:
        now = stream.sent(pods[task])
        counts = {one: now[one] - before[task].get(one, 0.0) for one in now if to in one}
        whole = sum(counts.values())
        found[task] = {one: count / max(1.0, whole) for one, count in counts.items()}
        return whole >= TUPLES

    for task in pods:
        eventually(
            lambda task=task: is_enough(task),  # type: ignore[misc]
            timeout_s=120,
            every_s=1.0,
            what=f"{TUPLES} tuples of {task}",
            show=stream.show,
        )
    return found


def by_weight(stream: Stream) -> dict[str, float]:
    """The share of each `split` task that the routes ask for."""
    (edge,) = stream.routes("read")["edges"]
    whole = sum(task["weight"] for task in edge["tasks"])
    return {task["name"]: task["weight"] / whole for task in edge["tasks"]}


def by_nearness(stream: Stream, kind: KindCluster) -> dict[str, dict[str, float]]:
    """What each `count` task should send to whom, by the corrected equations."""
    (edge,) = stream.routes("count")["edges"]
    receivers = [
        Receiver(name=one["name"], node=one["node"], domain=one["domain"], weight=one["weight"])
        for one in edge["tasks"]
    ]
    others = {
        Origin(node=one["node"], domain=one["domain"]): one["tasks"] for one in edge["senders"]
    }
    found = {}
    for task, pod in senders(stream, "count").items():
        node = kind.node(pod["spec"]["nodeName"])
        shares = routed_shares(receivers, Origin(node=node.name, domain=node.domain), others)
        found[task] = {one.name: share for one, share in zip(receivers, shares, strict=True)}
    return found


def off(found: dict[str, float], wanted: dict[str, float]) -> float:
    """The largest difference of any receiver's share."""
    return max(abs(found.get(one, 0.0) - wanted.get(one, 0.0)) for one in found | wanted)


def test_senders_hear_at_once_and_keep_the_shares(
    stream: Stream, kind: KindCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    stream.settled(stream.tasks())
    eventually(
        lambda: all(stream.sent(pod) for pod in senders(stream, "count").values()),
        timeout_s=120,
        what="words flow",
        show=stream.show,
    )
    took_s = [
        until_followed(stream, "read", stream.weigh("read", "split", weights))
        for weights in WEIGHTS
    ]
    weighted = sent_from_now(stream, "read", "split")
    wanted = by_weight(stream)
    assert sorted(wanted.values()) == pytest.approx([0.2, 0.3, 0.5])
    assert {task: off(shares, wanted) <= WITHIN for task, shares in weighted.items()} == {
        "read-0": True,
        "read-1": True,
    }, (weighted, wanted)

    near, right = sent_from_now(stream, "count", "output"), by_nearness(stream, kind)
    assert near.keys() == right.keys()
    assert all(off(near[task], right[task]) <= WITHIN for task in near), (near, right)

    stream.scale("split", 4)
    took_s.append(until_followed(stream, "read", stream.until_routed("read", "split", 4)))
    assert all("split-3" in one for one in sent_from_now(stream, "read", "split").values())
    told = ", ".join(f"{one:.1f}" for one in took_s)
    least_near = min(max(shares.values()) for shares in right.values())
    with capsys.disabled():
        sys.stdout.write(
            f"\nall senders followed new routes after {told} s; "
            f"the nearest receiver gets {least_near:.0%} at least\n"
        )
