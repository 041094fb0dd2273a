"""Making and removing kind clusters, and removing those that killed runs left."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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

__all__ = ["Clusters", "kind_cluster", "open_cluster"]

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

    def fault_of(self, name: str) -> str:
        """Say why a cluster is of no use any more; empty if its nodes are all there.

        Workers may sleep or have crashed: that is what they are for, and they can come back.
        """
        record = self.records.read(name)
        if record is None:
            return "nothing is known of it"
        # kind's own name for it.
        control = self.engine.state_of(f"{name}-control-plane")
        if control != "running":
            return f"its control plane's node is {control or 'gone'}"
        missing = record.shape.node_count - len(self.engine.containers(f"{_LABEL}={name}"))
        return f"{missing} of its {record.shape.node_count} nodes are gone" if missing > 0 else ""

    def create(self, name: str, shape: Shape) -> KindCluster:
        """Make a cluster that ends with this process; return when every node is Ready."""
        with self._one_maker():
            self.remove_abandoned()
            return self._make(name, shape, is_owned=True)

    def up(
        self, name: str, *, domains: int | None = None, per_domain: int | None = None
    ) -> KindCluster:
        """Return a cluster that is kept until someone removes it: the one there is, else a new one.

        A number that is not given is that of the one there is.
        """
        with self._one_maker():
            self.remove_abandoned()
            record = self.records.read(name)
            if record is None:
                shape = _changed(Shape(), domains, per_domain)
                return self._make(name, shape, is_owned=False)
            self._refuse_anothers(record)
            shape = _changed(record.shape, domains, per_domain)
            fault = self.fault_of(name)
            if fault:
                self._report(f"==> making {name} anew: {fault}")
                return self._make(name, shape, is_owned=False)
            if shape != record.shape:
                raise BedError(
                    f"cluster {name} is up and has {_in_words(record.shape)}, not"
                    f" {_in_words(shape)}: remove it first, or give another --name"
                )
            self._report(f"==> cluster {name} is already up: {_in_words(shape)}")
            cluster = self.open(name)
            cluster.wait_whole()
            return cluster

    def _refuse_anothers(self, record: Record) -> None:
        if record.owner_pid not in (0, os.getpid()):
            raise BedError(
                f"cluster {record.name} belongs to process {record.owner_pid}, which removes it"
                " when it ends: give another --name"
            )

    def _make(self, name: str, shape: Shape, *, is_owned: bool) -> KindCluster:
        for line in raise_limits():
            self._report(f"warning: {line}")
        image = self.prepare()
        self.remove(name)
        # Ours while it is being made, also one that will be kept: if this process is killed, the
        # half of a cluster that it leaves is known to be one.
        record = Record(name=name, docker_host=self.engine.host, shape=shape).owned()
        self.records.write(record)
        self._report(f"==> making the kind cluster {name}: {_in_words(shape)}, from {image}")
        try:
            cluster = self._create(name, shape, image)
            if not is_owned:
                self.records.write(record.kept())
        except BaseException:
            self.remove(name)
            raise
        return cluster

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
                self._report(f"==> the nodes of the kind cluster {record.name} are gone")
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

    @contextmanager
    def _one_maker(self) -> Iterator[None]:
        """Make one cluster at a time: two at once take longer than one after the other."""
        with (self._cache / "kind.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._report("==> another process is making a cluster: waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

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
        cluster = clusters.create(name, shape or Shape())
        try:
            yield cluster
        finally:
            clusters.remove(name)


@contextmanager
def open_cluster(name: str, *, report: Report = print_progress) -> Iterator[KindCluster]:
    """Give a cluster that `make kind` has left running; it stays."""
    record = Records(cache_directory()).read(name)
    with use_engine(host=record.docker_host if record else None, report=report) as engine:
        yield Clusters(engine, report=report).open(name)


def _changed(shape: Shape, domains: int | None, per_domain: int | None) -> Shape:
    """Return a shape with the numbers that are given."""
    return replace(
        shape,
        domains=shape.domains if domains is None else domains,
        per_domain=shape.per_domain if per_domain is None else per_domain,
    )


def _in_words(shape: Shape) -> str:
    return f"{shape.domains} domains of {shape.per_domain} nodes"
