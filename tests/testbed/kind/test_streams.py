"""A stream on kind begins with an example's manifest, as it is but for the image and arguments."""

from typing import Any, cast

from thalweg_operator.api.topology import parse_topology
from thalweg_operator.api.validation import Offer, find_problems
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.streams import Stream


class Unapplied:
    """Stands in for a cluster, below what is tested: it only keeps what it is given."""

    def __init__(self) -> None:
        self.applied: list[dict[str, Any]] = []

    def apply(self, *manifests: dict[str, Any]) -> None:
        self.applied += manifests


def test_an_example_gets_the_image_and_the_arguments() -> None:
    cluster = Unapplied()
    stream = Stream(cast("KindCluster", cluster), "ns", "words", "runtime:1")
    spec = stream.example("word-count-2-3-3-2", ["--rate=5"], mode="Recommend")
    stream.submit(spec)
    assert stream.tasks() == 10
    (manifest,) = cluster.applied
    assert manifest["metadata"] == {"name": "words", "namespace": "ns"}
    parsed = parse_topology(manifest["spec"])
    assert find_problems(parsed, Offer(strategies=("Auto",))) == ()
    for vertex in parsed.vertices:
        (container,) = vertex.template["spec"]["containers"]
        assert container["image"] == "runtime:1"
        assert container["args"][-1] == "--rate=5"
