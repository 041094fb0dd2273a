"""metrics-server, built from its Go module: what nodes and pods use, as autoscalers ask for it."""

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.images import Images
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.monitoring import install_metrics_server

pytestmark = pytest.mark.soak


def test_top_shows_every_node(kind: KindCluster, images: Images) -> None:
    install_metrics_server(kind, images)

    def shown() -> bool:
        lines = kind.kubectl("top", "nodes", "--no-headers").splitlines()
        return {line.split()[0] for line in lines} == {node.name for node in kind.nodes}

    eventually(shown, timeout_s=180, what="every node in kubectl top")
