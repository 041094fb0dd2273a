"""4 domains of 3 nodes, every pair of domains at a distance of its own."""

import os
import time
from itertools import combinations
from statistics import median

import pytest

from thalweg_testbed.binaries import Report
from thalweg_testbed.kind import Shape, kind_cluster
from thalweg_testbed.latency import Links

pytestmark = pytest.mark.soak


def test_twelve_nodes_at_six_distances(progress: Report) -> None:
    begun_s = time.monotonic()
    shape = Shape(domains=4, per_domain=3)
    with kind_cluster(f"thalweg-full-{os.getpid()}", shape, report=progress) as cluster:
        progress(f"==> 4 domains of 3 nodes Ready after {time.monotonic() - begun_s:.0f} s")
        assert len(cluster.ready_nodes()) == 13
        pairs = list(combinations(cluster.domains, 2))
        asked = {pair: 0.005 * (index + 1) for index, pair in enumerate(pairs)}
        # Setting measures, and is an error if one of them is not what was asked for.
        measured = cluster.set_latency(Links.symmetric(asked))
        progress(f"    and latencies true after {time.monotonic() - begun_s:.0f} s")
        seen = [
            median(
                one.forward_s
                for one in measured
                if {one.source_domain, one.target_domain} == set(pair)
            )
            for pair in pairs
        ]
        assert seen == sorted(seen)
        assert {one.source for one in measured} == {node.name for node in cluster.workers}
