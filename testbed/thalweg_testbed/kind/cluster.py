"""One kind cluster: real kubelets and pods, domains by label, and what can be done to them."""

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from thalweg_testbed.binaries import LATENCY, Report, find_binaries, print_progress
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.errors import BedError, WrongLatency
from thalweg_testbed.kind.network import network_script
from thalweg_testbed.kind.partitions import partition_script, silence_script, voice_script
from thalweg_testbed.kind.records import Record, Records
from thalweg_testbed.kind.shape import CONTROL_DOMAIN, parse_nodes
from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.links import Link, Links
from thalweg_testbed.latency.means import (
    PROGRAM,
    Means,
    classes_for,
    detection_script,
    latency_script,
)
from thalweg_testbed.latency.measuring import Measured, find_errors, parse_answers, plan_probes
from thalweg_testbed.waiting import eventually

__all__ = ["KindCluster"]

READY_S = 240.0
_ROUNDS = 5
_AT_ONCE = 4
_ALIVE = ("running", "paused")


class KindCluster(Cluster):
    """A running cluster. Everything here may be called again, and from another process."""

    def __init__(
        self,
        *,
        engine: Engine,
        records: Records,
        name: str,
        kubectl: Path,
        report: Report = print_progress,
    ) -> None:
        super().__init__(kubeconfig=records.kubeconfig(name), kubectl=kubectl)
        self.name = name
        self.engine = engine
        self._records = records
        self._report = report
        self._nodes: tuple[Node, ...] = ()
        self._means: Means | None = None

    # ----------------------------------------------------------------------------------- nodes

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, the control plane's included, as they were when last connected."""
        if not self._nodes:
            self._nodes = parse_nodes(self.get("nodes")["items"])
        return self._nodes

    @property
    def workers(self) -> tuple[Node, ...]:
        """The nodes that are in a domain."""
        return tuple(node for node in self.nodes if node.domain != CONTROL_DOMAIN)

    @property
    def domains(self) -> tuple[str, ...]:
        """The names of the domains."""
        return tuple(sorted({node.domain for node in self.workers}))

    def nodes_of(self, domain: str) -> tuple[Node, ...]:
        """Return the nodes of one domain."""
        found = tuple(node for node in self.nodes if node.domain == domain)
        if not found:
            known = ", ".join((*self.domains, CONTROL_DOMAIN))
            raise BedError(f"no domain {domain}: there are {known}")
        return found

    def short_name(self, node: Node) -> str:
        """Return b-0 for the first node of domain b."""
        return f"{node.domain}-{self.nodes_of(node.domain).index(node)}"

    def node(self, name: str) -> Node:
        """Return one node by its name, or by its short name."""
        for node in self.nodes:
            if name in (node.name, self.short_name(node)):
                return node
        raise BedError(f"no node {name}: there are {', '.join(n.name for n in self.nodes)}")

    def running_nodes(self) -> list[Node]:
        """Return the nodes that neither sleep nor have crashed."""
        format_ = "{{.Names}}"
        filters = ("--filter", f"label=io.x-k8s.kind.cluster={self.name}")
        up = self.engine.run(
            "ps", "--format", format_, "--filter", "status=running", *filters
        ).split()
        return [node for node in self.nodes if node.name in up]

    # ------------------------------------------------------------------------------- the network

    def connect(self, *, count: int) -> None:
        """Wait until `count` nodes have joined, connect them, and wait until all are Ready."""

        def joined() -> bool:
            self._nodes = parse_nodes(self.get("nodes")["items"])
            return len(self._nodes) >= count

        eventually(joined, timeout_s=READY_S, what=f"{count} nodes with a pod network")
        self._apply_network(self.running_nodes())
        self.wait_ready(*(node.name for node in self.nodes))

    def wait_ready(self, *names: str) -> None:
        """Wait until nodes are Ready."""
        eventually(
            lambda: set(names) <= self.ready_nodes(),
            timeout_s=READY_S,
            what=f"{len(names)} nodes Ready",
            show=lambda: self.kubectl("get", "nodes"),
        )

    def wait_whole(self) -> None:
        """Wait until every node is Ready that runs and that the control plane can reach."""
        eventually(lambda: self.nodes, timeout_s=READY_S, what="the API server answers")
        cut = {name for pair in self.partitions if CONTROL_DOMAIN in pair for name in pair}
        unreachable = cut - {CONTROL_DOMAIN}
        running = self.running_nodes()
        self.wait_ready(*(node.name for node in running if node.domain not in unreachable))

    def _apply_network(self, nodes: Sequence[Node]) -> None:
        """Give nodes their pod network, latency and partitions, whatever of it they have."""
        program = find_binaries([LATENCY], report=self._report)[LATENCY.name]
        record, means = self._record(), self.means

        def apply(node: Node) -> None:
            self.engine.put(node.name, PROGRAM, program)
            classes = classes_for(node, self.nodes, record.links)
            self.engine.shell(
                node.name,
                network_script(node, self.nodes)
                + partition_script(node, self.nodes, record.partitions)
                + latency_script(classes, means),
            )

        self._each(nodes, apply)

    @property
    def means(self) -> Means:
        """What holds packets back here: netem where the kernel has it."""
        if self._means is None:
            answer = self.engine.shell(self.running_nodes()[0].name, detection_script())
            self._means = Means(answer.strip())
        return self._means

    @property
    def links(self) -> Links:
        """What was last asked for."""
        return self._record().links

    @property
    def partitions(self) -> tuple[tuple[str, str], ...]:
        """The pairs of domains between which nothing passes."""
        return self._record().partitions

    def set_latency(self, links: Links, *, measure: bool = True) -> list[Measured]:
        """Let packets between domains take as long as `links` says; measure that they do.

        Raises WrongLatency if they do not. Directions that `links` does not name become plain.
        Without `measure` it returns as soon as it is set, which saves the seconds of measuring.
        """
        for domain in {name for pair in links.links for name in pair}:
            self.nodes_of(domain)
        self._write(replace(self._record(), links=links))
        means = self.means

        def apply(node: Node) -> None:
            classes = classes_for(node, self.nodes, links)
            self.engine.shell(node.name, latency_script(classes, means))

        self._each(self.running_nodes(), apply)
        self._report(f"==> latency in {len(links.links)} directions set by {means}")
        return self.check_latency() if measure else []

    def change_latency(self, changes: Mapping[tuple[str, str], Link]) -> list[Measured]:
        """Change some directions and leave the others."""
        return self.set_latency(self.links.changed(changes))

    def measure_latency(self) -> list[Measured]:
        """Measure between all domains, from every running node, each way.

        The control plane's node takes part when a link names it.
        """
        return self._measure(self._measurable_nodes())

    def _measurable_nodes(self) -> list[Node]:
        """Return the nodes to measure between; say which are left out."""
        is_control_named = any(CONTROL_DOMAIN in pair for pair in self.links.links)
        running = self.running_nodes()
        found = []
        for node in self.nodes if is_control_named else self.workers:
            if node in running:
                found.append(node)
            else:
                name, lot = self.short_name(node), self._lot_of(node)
                self._report(f"==> not measured: node {name} {lot}")
        return found

    def _measure(self, nodes: Sequence[Node]) -> list[Measured]:
        patience_s = 1.0 + 2 * max((one.latency_s for one in self.links.links.values()), default=0)
        found: list[Measured] = []
        # One node at a time: probes that crowd each other out measure the machine instead.
        for probe in plan_probes(nodes):
            command = probe.command(patience_s=patience_s)
            answer = self.engine.run("exec", probe.source.name, *command)
            found += parse_answers(probe, answer)
        return found

    def check_latency(self) -> list[Measured]:
        """Measure, and raise WrongLatency if that is not what was asked for."""
        record = self._record()
        cut = {frozenset(pair) for pair in record.partitions}
        nodes = self._measurable_nodes()
        errors: list[str] = []
        for _ in range(_ROUNDS):
            measured = [
                one
                for one in self._measure(nodes)
                if frozenset((one.source_domain, one.target_domain)) not in cut
            ]
            errors = find_errors(measured, record.links)
            if not errors:
                return measured
            # A machine that is busy for a moment delays packets by itself.
            time.sleep(1.0)
        raise WrongLatency(f"latency by {self.means}:\n" + "\n".join(errors[:20]))

    def partition(self, one: str, other: str) -> None:
        """Let no packet pass between two domains, until `heal`."""
        if one == other:
            raise BedError(f"domain {one} cannot be cut off from itself: name two domains")
        self.nodes_of(one), self.nodes_of(other)
        pairs = {*self._record().partitions, _pair(one, other)}
        self._set_partitions(pairs)

    def heal(self, one: str = "", other: str = "") -> None:
        """End the partition between two domains; all of them if none is named."""
        pairs = set(self._record().partitions)
        if one or other:
            self.nodes_of(one), self.nodes_of(other)
            pairs -= {_pair(one, other)}
        else:
            pairs = set()
        self._set_partitions(pairs)

    def _set_partitions(self, pairs: Iterable[tuple[str, str]]) -> None:
        partitions = tuple(sorted(pairs))
        self._write(replace(self._record(), partitions=partitions))
        self._each(
            self.running_nodes(),
            lambda node: self.engine.shell(
                node.name, partition_script(node, self.nodes, partitions)
            ),
        )

    # ---------------------------------------------------------------------------- lives of nodes

    def sleep_node(self, name: str) -> None:
        """Suspend a node: it neither runs nor answers, and knows nothing of it."""
        node = self._expendable(name)
        if self._is_awake(node):
            self.engine.shell(node.name, silence_script())
            self.engine.run("pause", node.name)

    def wake_node(self, name: str) -> None:
        """Resume a node that sleeps; its pods go on where they were."""
        node = self.node(name)
        if not self._is_awake(node):
            self.engine.run("unpause", node.name)
        self.engine.shell(node.name, voice_script())
        # What was asked of the network while it slept reached only the others.
        self._apply_network([node])
        self.wait_ready(node.name)

    def crash_node(self, name: str) -> None:
        """End a node at once, with all that runs on it."""
        container = self._expendable(name).name
        state = self.engine.state_of(container)
        if state == "paused":
            self.engine.run("unpause", container)
        if state in _ALIVE:
            self.engine.run("kill", container)

    def start_node(self, name: str) -> None:
        """Boot a node that has crashed, and connect it again."""
        node = self.node(name)
        container = node.name
        if self.engine.state_of(container) == "paused":
            raise BedError(
                f"node {self.short_name(node)} sleeps: `wake {self.short_name(node)}` resumes it"
            )
        self.engine.run("start", container)
        eventually(
            lambda: self.engine.run("exec", container, "systemctl", "is-active", "containerd"),
            timeout_s=READY_S,
            what=f"{container} boots",
        )
        self.wait_ready(container)
        # It may have another address now: tell the others as well.
        self._nodes = ()
        self._apply_network(self.running_nodes())

    def _expendable(self, name: str) -> Node:
        """Return a node that can come back: not that of the control plane, which must be asked."""
        node = self.node(name)
        if node.domain == CONTROL_DOMAIN:
            raise BedError(
                f"node {self.short_name(node)} has the API server, without which no node comes"
                f" back: cut it off by `partition DOMAIN {CONTROL_DOMAIN}` instead"
            )
        return node

    def _is_awake(self, node: Node) -> bool:
        """Tell whether a node runs or sleeps; BedError if it has crashed."""
        state = self.engine.state_of(node.name)
        if state not in _ALIVE:
            name = self.short_name(node)
            raise BedError(f"node {name} has crashed: `start {name}` boots it")
        return state == "running"

    def _lot_of(self, node: Node) -> str:
        """Say in words why a node does not run."""
        return "sleeps" if self.engine.state_of(node.name) == "paused" else "has crashed"

    # ------------------------------------------------------------------------------------ images

    def load(self, image: str, *, nodes: Sequence[Node] | None = None) -> None:
        """Put an image of Docker's into nodes that run and lack it.

        An image's name stands for its content: what a node has by that name is not sent again.
        """
        full = image if "/" in image else f"library/{image}"

        def lacks(node: Node) -> bool:
            words = ("exec", node.name, "ctr", "-n", "k8s.io", "images", "ls", "-q")
            return not self.engine.run(*words, f"name==docker.io/{full}").strip()

        lacking = [n for n in (self.running_nodes() if nodes is None else nodes) if lacks(n)]
        if not lacking:
            return
        # Written out once, however many nodes read it.
        with tempfile.TemporaryDirectory(dir=self._records.directory(self.name)) as directory:
            archive = Path(directory) / "image.tar"
            self.engine.run("save", "--output", str(archive), image)

            def load_one(node: Node) -> None:
                into = ("exec", "--interactive", node.name, "ctr", "-n", "k8s.io", "images")
                options = ("import", "--all-platforms", "--digests", "-")
                self.engine.pipe_into(["cat", archive], *into, *options)

            self._each(lacking, load_one)

    # ----------------------------------------------------------------------------------- records

    def _record(self) -> Record:
        record = self._records.read(self.name)
        if record is None:
            raise BedError(f"no cluster {self.name} is up")
        return record

    def _write(self, record: Record) -> None:
        self._records.write(record)

    def _each(self, nodes: Sequence[Node], action: Callable[[Node], object]) -> None:
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            for future in [pool.submit(action, node) for node in nodes]:
                future.result()


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
