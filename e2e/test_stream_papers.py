"""The papers' topologies from their manifests, under the loop: what is sent is what comes."""

import secrets
from collections.abc import Iterator
from itertools import combinations

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.counting import Counted, is_within
from thalweg_testbed.kind.monitoring import Prometheus
from thalweg_testbed.kind.streams import Stream
from thalweg_testbed.latency import Links

LARGE = ("word-count-4-8-8", "top-n", "comm-count-1", "comm-count-2")
SMALL = ("yahoo", "debs-2024")
"""The third, WordCount 2-3-3-2, has a page of its own: test_stream_flow.py."""
LATER = {"store"}
"""Windows are told when they are over."""
APART_S = 0.010
LINES = 400
WITHIN = 0.02


@pytest.fixture
def apart(whole: KindCluster) -> KindCluster:
    """Give the cluster with its domains 10 ms apart."""
    pairs = dict.fromkeys(combinations(whole.domains, 2), APART_S)
    whole.set_latency(Links.symmetric(pairs), measure=False)
    return whole


@pytest.fixture
def streams(apart: KindCluster, looping: str, names: tuple[str, ...]) -> Iterator[list[Stream]]:
    """Give these topologies, each in a namespace of its own."""
    namespaces = {f"t-{secrets.token_hex(4)}": name for name in names}
    for namespace in namespaces:
        apart.create_namespace(namespace)
    yield [Stream(apart, namespace, name, looping) for namespace, name in namespaces.items()]
    for namespace in namespaces:
        apart.delete_namespace(namespace)


@pytest.mark.parametrize(
    "names",
    [
        # Beside each other: mostly they wait.
        pytest.param(SMALL, id="small"),
        *(pytest.param((one,), id=one, marks=pytest.mark.soak) for one in LARGE),
    ],
)
def test_what_is_sent_is_what_comes(streams: list[Stream], prometheus: Prometheus) -> None:
    for stream in streams:
        stream.submit(stream.example(stream.name, ["--rate=20", f"--last={LINES}"]))
    for stream in streams:
        stream.settled(stream.tasks())
        stream.until_measured()
    for stream in streams:
        through(stream, Counted(prometheus, stream.namespace, stream.spec))


def through(stream: Stream, counted: Counted) -> None:
    """Wait until everything is acknowledged, and compare what was sent with what came."""
    (source,) = counted.sources
    vertices = {one["name"]: one for one in stream.spec["vertices"]}
    tasks = vertices[source]["replicas"]["initial"]
    eventually(
        lambda: counted.all("thalweg_complete_seconds_count") >= (1 - WITHIN) * LINES * tasks,
        timeout_s=300,
        every_s=2.0,
        what="everything is acknowledged",
        show=lambda: f"{counted.processed(source):g}\n{stream.show()}",
    )
    eventually(
        lambda: not counted.differences(WITHIN),
        timeout_s=30,
        what="what was sent is what came",
        show=lambda: "\n".join(counted.differences(WITHIN)),
    )
    assert is_within(counted.processed(source), LINES * tasks, WITHIN)
    assert counted.still() <= LATER
