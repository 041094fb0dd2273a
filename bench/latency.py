"""The test bed's latency: how true it is, and up to how many packets a second it stays true.

Two domains of one node each in a kind cluster of their own. Latency is one way, measured by probes
between pods' addresses. A flood of packets of 256 bytes goes the same way meanwhile. The means is
netem where the kernel has it, else the NFQUEUE delay: a machine measures the one that it uses.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from bench.tables import table
from bench.timing import machine
from thalweg_testbed.kind import KindCluster, Shape, kind_cluster
from thalweg_testbed.latency import Links
from thalweg_testbed.latency.means import PORT, PROGRAM

ASKED_S = (0.0, 0.001, 0.005, 0.02, 0.1)
LATENCY_S = 0.01
RATES = (0, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 150_000)
SPAN_S = 5
PACKET_BYTES = 256
TOLERANCE_S = 0.002


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
    rows = []
    for rate in RATES:
        one = flooded(cluster, rate)
        is_true = abs(one.latency_s - LATENCY_S) <= TOLERANCE_S and one.lost == 0
        rows.append(
            (
                f"{one.asked_per_s:,}",
                f"{one.sent_per_s:,.0f}",
                _ms(one.latency_s),
                f"{one.lost:.0%}",
                "yes" if is_true else "no",
            )
        )
    head = ("packets/s asked", "sent", "latency", "probes lost", f"{_ms(LATENCY_S)} still true")
    return table(head, rows)


def flooded(cluster: KindCluster, rate: int) -> Flooded:
    """Probe while a flood of a rate goes from a to b."""
    source, target = (cluster.nodes_of(domain)[0] for domain in "ab")
    words = (PROGRAM, "flood", "-from", source.probe_address, "-port", str(PORT))
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
    """What one TCP connection carries."""
    rows = []
    source, target = (cluster.nodes_of(domain)[0] for domain in "ab")
    for asked_s in ASKED_S:
        cluster.set_latency(Links.symmetric({("a", "b"): asked_s}), measure=False)
        words = (PROGRAM, "flood", "-from", source.probe_address, "-port", str(PORT))
        options = ("-span", f"{SPAN_S}s", target.probe_address)
        answer = json.loads(cluster.engine.run("exec", source.name, *words, *options))
        rows.append((_ms(asked_s), f"{answer['bytes'] / answer['seconds'] / 2**20:,.0f} MiB/s"))
    return table(("latency, one way", "one TCP connection"), rows)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"
