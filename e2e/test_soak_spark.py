"""The chart's operator condenses with Spark, and nobody had to ask for it."""

from collections.abc import Iterator

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.images import Images
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.installation import (
    condensing_engine,
    install_operator,
    roll_back_operator,
)
from thalweg_testbed.kind.monitoring import Prometheus
from thalweg_testbed.kind.streams import Stream

pytestmark = pytest.mark.soak


@pytest.fixture
def by_default(
    kind: KindCluster, images: Images, prometheus: Prometheus, looping: str
) -> Iterator[str]:
    """Install the operator with a metrics source and nothing else; give the workers' image."""
    settings = {"metrics_sources": {"default": {"url": prometheus.url}}}
    install_operator(kind, images, settings=settings)
    yield looping
    roll_back_operator(kind)


def test_spark_makes_the_matrices(kind: KindCluster, by_default: str, namespace: str) -> None:
    stream = Stream(kind, namespace, "words", by_default)
    stream.submit(stream.example("word-count-2-3-3-2", ["--rate=20"]))
    stream.settled(stream.tasks())
    # Numpy bridges the time until Spark is there.
    eventually(
        lambda: condensing_engine(kind) == "spark",
        timeout_s=300,
        every_s=2.0,
        what="matrices made by Spark",
        show=lambda: f"{condensing_engine(kind)}\n{stream.show()}",
    )
