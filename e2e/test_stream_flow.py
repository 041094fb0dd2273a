"""WordCount under the loop, domains 10 ms apart: what Prometheus says is what the sink counted."""

from itertools import combinations

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.counting import Counted, is_within
from thalweg_testbed.kind.monitoring import Prometheus
from thalweg_testbed.kind.streams import Stream
from thalweg_testbed.latency import Links

APART_S = 0.010
LINES = 1200
SOURCES = 2
WORDS_A_LINE = 4
WITHIN = 0.02


@pytest.fixture
def stream(whole: KindCluster, namespace: str, looping: str) -> Stream:
    whole.set_latency(
        Links.symmetric(dict.fromkeys(combinations(whole.domains, 2), APART_S)), measure=False
    )
    return Stream(whole, namespace, "words", looping)


def rtts_s(prometheus: Prometheus, kind: KindCluster) -> dict[bool, list[float]]:
    """Round trips between worker nodes, by whether they cross domains."""
    domain_of = {node.name: node.domain for node in kind.workers}
    found: dict[bool, list[float]] = {True: [], False: []}
    for one in prometheus.query("thalweg_node_rtt_seconds"):
        ends = [domain_of.get(one["metric"][name]) for name in ("source_node", "target_node")]
        if None not in ends:
            found[ends[0] != ends[1]].append(float(one["value"][1]))
    return found


def test_prometheus_agrees_with_the_sink(
    stream: Stream, kind: KindCluster, prometheus: Prometheus, namespace: str
) -> None:
    words = ["--rate=40", f"--last={LINES}", "--emulated-wait-ms=0.2"]
    spec = stream.example("word-count-2-3-3-2", words)
    stream.submit(spec)
    pods = stream.settled(stream.tasks())
    counted = Counted(prometheus, namespace, spec)
    lines = SOURCES * LINES
    eventually(
        lambda: counted.processed("output") > LINES,
        timeout_s=180,
        every_s=2.0,
        what="words at the sink",
        show=lambda: f"{counted.processed('output'):g}\n{stream.show()}",
    )
    # The loop moves pods when it sees fit. Two move in any case, a source among them.
    stream.end(pods["read-0"])
    stream.end(pods["split-1"])
    eventually(
        lambda: counted.all("thalweg_complete_seconds_count") >= (1 - WITHIN) * lines,
        timeout_s=300,
        every_s=2.0,
        what="all lines are acknowledged",
        show=lambda: f"{counted.processed('read'):g}\n{stream.show()}",
    )
    # The last second of the flow and its scrapes may be missing, nothing else.
    eventually(
        lambda: not counted.differences(WITHIN),
        timeout_s=30,
        what="what was sent is what came",
        show=lambda: "\n".join(counted.differences(WITHIN)),
    )
    assert is_within(counted.processed("read"), lines, WITHIN)
    again = counted.all("thalweg_resent_tuples_total") * WORDS_A_LINE
    at_the_sink = counted.processed("output")
    assert is_within(at_the_sink, lines * WORDS_A_LINE, WITHIN, more=again)
    mean_s = counted.all("thalweg_latency_seconds_sum") / at_the_sink
    assert mean_s >= 0.9 * crossings(counted, kind) * APART_S / at_the_sink


def crossings(counted: Counted, kind: KindCluster) -> float:
    """How many times words surely crossed: to tasks that were never in the sender's domain."""
    domain_of = {node.name: node.domain for node in kind.workers}
    homes: dict[str, set[str]] = {}
    for one in counted.series("thalweg_task_info"):
        labels = one["metric"]
        homes.setdefault(labels["task"], set()).add(domain_of[labels["node"]])
    crossed = 0.0
    for one in counted.series("thalweg_tuples_total"):
        labels = one["metric"]
        there = homes.get(labels["to_task"])
        if there and domain_of[labels["node"]] not in there:
            # A line is four words.
            words = WORDS_A_LINE if labels["to_vertex"] == "split" else 1
            crossed += words * float(one["value"][1])
    return crossed


def test_the_prober_sees_the_domains(
    stream: Stream, kind: KindCluster, prometheus: Prometheus
) -> None:
    assert stream.name
    pairs = len(kind.workers) * (len(kind.workers) - 1)

    def measured() -> dict[bool, list[float]] | None:
        found = rtts_s(prometheus, kind)
        is_whole = len(found[True]) + len(found[False]) == pairs
        return found if is_whole and min(found[True]) >= 2 * APART_S else None

    found = eventually(measured, timeout_s=180, every_s=2.0, what="every pair is measured")
    assert found is not None
    across, within = sorted(found[True]), sorted(found[False])
    assert across[len(across) // 2] > 2 * APART_S
    assert within[len(within) // 2] < 2 * APART_S
