"""The papers' topologies from their manifests, under the loop: what is sent is what comes."""

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


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(one, marks=pytest.mark.soak) for one in LARGE)]
)
def test_what_is_sent_is_what_comes(
    apart: KindCluster, namespace: str, looping: str, prometheus: Prometheus, name: str
) -> None:
    stream = Stream(apart, namespace, name, looping)
    spec = stream.example(name, ["--rate=20", f"--last={LINES}"])
    stream.submit(spec)
    stream.settled(stream.tasks())
    stream.until_measured()
    counted = Counted(prometheus, namespace, spec)
    (source,) = counted.sources
    tasks = next(one["replicas"] for one in spec["vertices"] if one["name"] == source)["initial"]
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
