"""Making and removing kind clusters, and removing those that killed runs left."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg_testbed.binaries import (
    KIND,
    LATENCY,
    SERVERS,
    Report,
    cache_directory,
    find_binaries,
    print_progress,
)
from thalweg_testbed.commands import call
from thalweg_testbed.docker import Engine, use_engine
from thalweg_testbed.docker.host import raise_limits, read_host
from thalweg_testbed.errors import BedError
from thalweg_testbed.images.node import find_node_image
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.records import Record, Records
from thalweg_testbed.kind.shape import Shape, kind_configuration

__all__ = ["Clusters", "kind_cluster"]

_CREATE_S = 900.0
_LABEL = "label=io.x-k8s.kind.cluster"


class Clusters:
    """The kind clusters of one Docker and one cache directory."""

    def __init__(
        self, engine: Engine, *, cache: Path | None = None, report: Report = print_progress
    ) -> None:
        self.engine = engine
        self._cache = cache or cache_directory()
        self._report = report
        self.records = Records(self._cache)

    def open(self, name: str) -> KindCluster:
        """Return a cluster that is up."""
        if self.records.read(name) is None:
            raise BedError(f"no cluster {name} is up: start one with `make kind`")
        kubectl = [program for program in SERVERS if program.name == "kubectl"]
        return KindCluster(
            engine=self.engine,
            records=self.records,
            name=name,
            kubectl=find_binaries(kubectl, report=self._report)["kubectl"],
            report=self._report,
        )

    def is_whole(self, name: str) -> bool:
        """Tell whether a cluster's nodes are all there, running or asleep."""
        nodes = self.engine.containers(f"{_LABEL}={name}")
        states = {self.engine.state_of(node) for node in nodes}
        return (
            self.records.read(name) is not None
            and bool(states)
            and states
            <= {
                "running",
                "paused",
            }
        )

    def create(self, name: str, shape: Shape, *, is_owned: bool) -> KindCluster:
        """Make a cluster and return when every node is Ready; an owned one ends with us."""
        self.remove_abandoned()
        for line in raise_limits():
            self._report(f"warning: {line}")
        image = self.prepare()
        self.remove(name)
        record = Record(name=name, docker_host=self.engine.host)
        self.records.write(record.owned() if is_owned else record)
        self._report(
            f"==> making the kind cluster {name}: {shape.domains} domains of"
            f" {shape.per_domain} nodes, from {image}"
        )
        try:
            return self._create(name, shape, image)
        except BaseException:
            self.remove(name)
            raise

    def prepare(self) -> str:
        """Make what every cluster is made of, unless it is there; return the nodes' image."""
        kubectl = [program for program in SERVERS if program.name == "kubectl"]
        find_binaries([KIND, LATENCY, *kubectl], report=self._report)
        return find_node_image(
            self.engine, cache=self._cache, host=read_host(), report=self._report
        )

    def _create(self, name: str, shape: Shape, image: str) -> KindCluster:
        configuration = self.records.directory(name) / "kind.json"
        configuration.write_text(kind_configuration(shape))
        self._kind(
            *("create", "cluster", "--name", name, "--image", image, "--wait", "0s"),
            *("--config", str(configuration), "--kubeconfig", str(self.records.kubeconfig(name))),
        )
        cluster = self.open(name)
        cluster.connect(count=shape.node_count)
        # A node that a killed Docker left must not come back by itself when the next one starts.
        self.engine.run("update", "--restart=no", *(node.name for node in cluster.nodes))
        return cluster

    def remove(self, name: str) -> bool:
        """Remove a cluster and all that is known of it; False if there was none."""
        containers = self.engine.containers(f"{_LABEL}={name}")
        was_there = bool(containers) or self.records.read(name) is not None
        self.engine.remove_containers(containers)
        self.records.forget(name)
        return was_there

    def remove_abandoned(self) -> None:
        """Remove clusters whose process is gone, and records whose nodes are."""
        for record in self.records.of_docker(self.engine.host):
            if record.is_abandoned():
                self._report(f"==> removing the kind cluster {record.name} that a killed run left")
                self.remove(record.name)
            elif not record.owner_pid and not self.engine.containers(f"{_LABEL}={record.name}"):
                self.records.forget(record.name)
        if self.engine.is_ours:
            self._remove_unrecorded()

    def _remove_unrecorded(self) -> None:
        """Remove nodes that came after their cluster was given up: kind's own children outlive it.

        Only in a Docker of our own, where nobody else has any; what is being made is on record.
        """
        known = {record.name for record in self.records.of_docker(self.engine.host)}
        format_ = '{{.Names}} {{.Label "io.x-k8s.kind.cluster"}}'
        listing = self.engine.run("ps", "--all", "--format", format_, "--filter", _LABEL)
        nodes = [line.split() for line in listing.splitlines()]
        self.engine.remove_containers([node for node, cluster in nodes if cluster not in known])

    def _kind(self, *arguments: str) -> str:
        program = find_binaries([KIND], report=self._report)[KIND.name]
        return call([program, *arguments], env=self.engine.environment, timeout_s=_CREATE_S)


@contextmanager
def kind_cluster(
    name: str,
    shape: Shape | None = None,
    *,
    cache: Path | None = None,
    report: Report = print_progress,
) -> Iterator[KindCluster]:
    """Give a cluster of one's own, removed afterwards, also if this process is killed: later."""
    home = cache or cache_directory()
    with use_engine(cache=home, report=report) as engine:
        clusters = Clusters(engine, cache=home, report=report)
        with _one_maker(home):
            cluster = clusters.create(name, shape or Shape(), is_owned=True)
        try:
            yield cluster
        finally:
            clusters.remove(name)


@contextmanager
def _one_maker(home: Path) -> Iterator[None]:
    """Make one cluster at a time: two at once take longer than one after the other."""
    with (home / "kind.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
