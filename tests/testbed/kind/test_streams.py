"""A stream on kind begins with an example's manifest, as it is but for the image and arguments."""

import os
import signal
import subprocess
from typing import Any, cast

import pytest

from thalweg_operator.api.topology import parse_topology
from thalweg_operator.api.validation import Offer, find_problems
from thalweg_testbed.commands import call
from thalweg_testbed.errors import CommandFailed
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


class Here:
    """Stands in for a cluster whose only node is this machine."""

    def __init__(self) -> None:
        self.engine = self

    def shell(self, _node: str, script: str) -> str:
        return call(["sh", "-eu"], stdin=script)


def test_a_workers_process_is_killed_and_no_other() -> None:
    stream = Stream(cast("KindCluster", Here()), "ns", "words", "runtime:1")
    names = f"words-{os.getpid()}-1", f"words-{os.getpid()}-10"
    killed, spared = (
        subprocess.Popen(["sleep", "60"], env={**os.environ, "THALWEG_POD": name}) for name in names
    )
    pod = {"metadata": {"name": names[0]}, "spec": {"nodeName": "here"}}
    try:
        stream.kill(pod)
        assert killed.wait(timeout=30) == -signal.SIGKILL
        assert spared.poll() is None
        with pytest.raises(CommandFailed):
            stream.kill(pod)
    finally:
        for process in (killed, spared):
            process.kill()
            process.wait()
