"""A cluster whose owner was killed is removed before the next is made; others stay."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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

OWN_KUBECONFIG = "apiVersion: v1\nkind: Config\ncurrent-context: mine\n"


def test_what_a_killed_run_left_is_removed(kind: KindCluster, tmp_path: Path) -> None:
    # As of somebody with a cluster of their own.
    own = tmp_path / "config"
    own.write_text(OWN_KUBECONFIG)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "KUBECONFIG": str(own)},
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        clusters = Clusters(kind.engine)
        # Two clusters side by side, and neither is taken for a leftover while its owner lives.
        clusters.remove_abandoned()
        assert clusters.fault_of(NAME) == ""
        assert len(clusters.open(NAME).ready_nodes()) == 2
        assert own.read_text() == OWN_KUBECONFIG
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
    clusters.remove_abandoned()
    assert kind.engine.containers(f"label=io.x-k8s.kind.cluster={NAME}") == []
    assert NAME not in Records(cache_directory()).names()
    assert {node.name for node in kind.nodes} <= kind.ready_nodes()


def test_a_node_that_came_too_late_is_removed(kind: KindCluster) -> None:
    if not kind.engine.is_ours:
        pytest.skip("in somebody else's Docker it might be somebody else's")
    image = kind.engine.run("inspect", "--format", "{{.Image}}", kind.nodes[0].name).strip()
    late = f"{NAME}-late"
    kind.engine.run("create", "--name", late, "--label", f"io.x-k8s.kind.cluster={late}", image)
    Clusters(kind.engine).remove_abandoned()
    assert kind.engine.state_of(late) == ""
    assert {node.name for node in kind.nodes} <= kind.ready_nodes()
