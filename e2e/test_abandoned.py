"""A cluster whose owner was killed is removed before the next is made; others stay."""

import os
import signal
import subprocess
import sys

from thalweg_testbed.binaries import cache_directory
from thalweg_testbed.kind import Clusters, KindCluster
from thalweg_testbed.kind.records import Records

NAME = f"thalweg-left-{os.getpid()}"
OWNER = f"""
import signal
from thalweg_testbed.kind import Shape, kind_cluster
with kind_cluster({NAME!r}, Shape(domains=1, per_domain=1)):
    print("up", flush=True)
    signal.pause()
"""


def test_what_a_killed_run_left_is_removed(kind: KindCluster) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        clusters = Clusters(kind.engine)
        # Two clusters side by side, and neither is taken for a leftover while its owner lives.
        clusters.remove_abandoned()
        assert clusters.is_whole(NAME)
        assert len(clusters.open(NAME).ready_nodes()) == 2
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
    clusters.remove_abandoned()
    assert kind.engine.containers(f"label=io.x-k8s.kind.cluster={NAME}") == []
    assert NAME not in Records(cache_directory()).names()
    assert {node.name for node in kind.nodes} <= kind.ready_nodes()
