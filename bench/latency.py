"""The test bed's latency: how true it is, and up to how many packets a second it stays true.

Two domains of one node each in a kind cluster of their own. Latency is one way, measured by probes
between pods' addresses. A flood of packets of 256 bytes goes the same way meanwhile, from a network
namespace like a pod's: a packet that waits on the node's own socket counts against what that socket
may have under way, and would throttle the flood instead of testing the delay; by how much, a
connection of each kind shows. The means is netem where the kernel has it, else the NFQUEUE delay:
a machine measures the one that it uses. About five minutes, one and a half of them for the cluster.
"""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from bench.tables import table
from bench.timing import machine
from thalweg_testbed.kind import KindCluster, Shape, kind_cluster
from thalweg_testbed.latency import Links
from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.means import PORT, PROGRAM

ASKED_S = (0.0, 0.001, 0.005, 0.02, 0.1)
LATENCY_S = 0.01
KNEE = range(50_000, 100_001, 10_000)
"""Somewhere here the delay stops being true: each of these rates is run several times, since one
run is a matter of chance."""

KNEE_RUNS = 3
RATES = (0, 1_000, 5_000, 10_000, 20_000, *KNEE, 150_000)
SPAN_S = 5
PACKET_BYTES = 256
TOLERANCE_S = 0.002
NAMESPACE = "flood"
GATEWAY = "169.254.77.1"
"""On the node's end of the namespace's wire; seen by nobody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flooded:
    """What probes saw while a flood went the same way."""

    asked_per_s: int
    sent_per_s: float
    latency_s: float
    lost: float


def main() -> None:
    """Print the tables."""
    print(machine())
    with kind_cluster(f"thalweg-bench-{os.getpid()}", Shape(domains=2, per_domain=1)) as cluster:
        print(f"\nBy {cluster.means}.\n")
        print(render_truth(cluster))
        print()
        make_room_like_a_pods(cluster, cluster.nodes_of("a")[0])
        print(render_floods(cluster))
        print()
        print(render_connections(cluster))


def render_truth(cluster: KindCluster) -> str:
    """What was asked for and what came, one way."""
    rows = []
    for asked_s in ASKED_S:
        measured = cluster.set_latency(Links.symmetric({("a", "b"): asked_s}))
        seen_s = median(one.forward_s for one in measured)
        trip_s = median(one.round_trip_s for one in measured)
        rows.append((_ms(asked_s), _ms(seen_s), _ms(trip_s)))
    return table(("asked, one way", "measured, one way", "round trip"), rows)


def render_floods(cluster: KindCluster) -> str:
    """From which rate on packets no longer take as long as asked."""
    cluster.set_latency(Links.symmetric({("a", "b"): LATENCY_S}))
    rows = [
        flood_row([flooded(cluster, rate) for _ in range(KNEE_RUNS if rate in KNEE else 1)])
        for rate in RATES
    ]
    still = f"{_ms(LATENCY_S)} still true"
    head = ("packets/s asked", "sent, median", "latency, each run", "probes lost, most", still)
    return table(head, rows)


def flood_row(runs: Sequence[Flooded]) -> tuple[str, ...]:
    """All runs of one rate: true is what was true each time."""
    return (
        f"{runs[0].asked_per_s:,}",
        f"{median(one.sent_per_s for one in runs):,.0f}",
        ", ".join(_ms(one.latency_s) for one in sorted(runs, key=lambda one: one.latency_s)),
        f"{max(one.lost for one in runs):.0%}",
        f"{sum(map(is_true, runs))} of {len(runs)}",
    )


def is_true(one: Flooded) -> bool:
    """Tell whether probes took as long as asked, and all arrived."""
    return abs(one.latency_s - LATENCY_S) <= TOLERANCE_S and one.lost == 0


def make_room_like_a_pods(cluster: KindCluster, node: Node) -> None:
    """Wire a network namespace to a node as its pods are: an address of theirs behind a veth."""
    inside = f"ip -n {NAMESPACE}"
    script = (
        f"ip netns add {NAMESPACE}",
        f"ip link add {NAMESPACE}0 type veth peer name eth0 netns {NAMESPACE}",
        f"ip address add {GATEWAY}/32 dev {NAMESPACE}0",
        f"ip link set {NAMESPACE}0 up",
        f"ip route add {node.last_pod_address}/32 dev {NAMESPACE}0",
        f"{inside} address add {node.last_pod_address}/32 dev eth0",
        f"{inside} link set eth0 up",
        f"{inside} route add {GATEWAY}/32 dev eth0",
        f"{inside} route add default via {GATEWAY}",
    )
    cluster.engine.run("exec", node.name, "sh", "-ec", "\n".join(script))


def _flood_from(node: Node) -> tuple[str, ...]:
    """Return the words that flood from that namespace."""
    inside = ("ip", "netns", "exec", NAMESPACE, PROGRAM)
    return (*inside, "flood", "-from", node.last_pod_address, "-port", str(PORT))


def _flood_from_itself(node: Node) -> tuple[str, ...]:
    """Return the words that flood from the node's own address, as pods with its network do."""
    return (PROGRAM, "flood", "-from", node.address, "-port", str(PORT))


def flooded(cluster: KindCluster, rate: int) -> Flooded:
    """Probe while a flood of a rate goes from a to b."""
    source, target = (cluster.nodes_of(domain)[0] for domain in "ab")
    words = _flood_from(source)
    options = ("-rate", str(rate), "-size", str(PACKET_BYTES), "-span", f"{SPAN_S}s")
    probe = (PROGRAM, "probe", "-from", source.probe_address, "-port", str(PORT))
    often = ("-count", "200", "-interval", f"{1000 * (SPAN_S - 1) // 200}ms")
    with ThreadPoolExecutor(max_workers=1) as pool:
        flood = (
            pool.submit(
                cluster.engine.run, "exec", source.name, *words, *options, target.probe_address
            )
            if rate
            else None
        )
        text = cluster.engine.run("exec", source.name, *probe, *often, target.probe_address)
        sent = json.loads(flood.result()) if flood else {"packets": 0, "seconds": 1.0}
    (answer,) = json.loads(text)
    forward = answer["forward_s"]
    return Flooded(
        asked_per_s=rate,
        sent_per_s=sent["packets"] / sent["seconds"],
        latency_s=median(forward) if forward else float("inf"),
        lost=1 - len(forward) / answer["sent"],
    )


def render_connections(cluster: KindCluster) -> str:
    """What one TCP connection carries, between pods and from a node's own address."""
    rows = []
    source, target = (cluster.nodes_of(domain)[0] for domain in "ab")
    for asked_s in ASKED_S:
        cluster.set_latency(Links.symmetric({("a", "b"): asked_s}), measure=False)
        between_pods = _carried(cluster, _flood_from(source), source, target.probe_address)
        own = _carried(cluster, _flood_from_itself(source), source, target.address)
        rows.append((_ms(asked_s), between_pods, own))
    head = ("latency, one way", "one TCP connection between pods", "from a node's own address")
    return table(head, rows)


def _carried(cluster: KindCluster, flood: Sequence[str], source: Node, address: str) -> str:
    words = ("exec", source.name, *flood, "-span", f"{SPAN_S}s", address)
    answer = json.loads(cluster.engine.run(*words))
    return f"{answer['bytes'] / answer['seconds'] / 2**20:,.1f} MiB/s"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"
