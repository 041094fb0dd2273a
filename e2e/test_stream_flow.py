"""WordCount under the loop, domains 10 ms apart: what Prometheus says is what the sink counted."""

import sys
from itertools import combinations
from pathlib import Path
from typing import Any

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


PROGRAM = Path(__file__).with_name("timed_words.py")
"""What the workers of the second story run: its last step has a clock of its own."""
SPLIT_MS = 10
STEADY_S = 30
STEP = 3.0


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
    stream.until_measured()


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


def timed(stream: Stream, kind: KindCluster, namespace: str) -> dict[str, Any]:
    """WordCount with that program, and as much work in `split` as one task can do with ease."""
    metadata = {"name": "program", "namespace": namespace}
    text = {PROGRAM.name: PROGRAM.read_text()}
    kind.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": text})
    words = [f"--program={PROGRAM.stem}", "--rate=20", "--emulated-wait-ms=0"]
    scaling = {"mode": "Auto", "cooldownSeconds": 10}
    spec = stream.example("word-count-2-3-3-2", words, placement={"mode": "Off"}, scaling=scaling)
    for vertex in spec["vertices"]:
        pod = vertex["template"]["spec"]
        pod["volumes"] = [{"name": "program", "configMap": {"name": "program"}}]
        (container,) = pod["containers"]
        container["volumeMounts"] = [{"name": "program", "mountPath": "/program"}]
        container["env"] = [{"name": "PYTHONPATH", "value": "/program:/opt/own"}]
        if vertex["name"] == "split":
            vertex["replicas"] = {"min": 1, "max": 4, "initial": 1}
            container["args"].append(f"--emulated-wait-ms={SPLIT_MS}")
    return spec


def rates_that_differ(counted: Counted) -> list[str]:
    """The edges whose rate in Prometheus is not what the sink counts a second."""
    at_the_sink = counted.rate("timed_words_total", STEADY_S)
    found = counted.edge_rates(STEADY_S)
    # To `split` go lines, and words from there on.
    words = {
        edge: rate * (WORDS_A_LINE if edge[1] == "split" else 1) for edge, rate in found.items()
    }
    return [
        f"{source} → {to}: {rate:g} words/s, the sink counts {at_the_sink:g}"
        for (source, to), rate in words.items()
        if not at_the_sink or abs(rate / at_the_sink - 1) > WITHIN
    ]


def test_rates_and_latency_are_the_sinks_own_and_a_step_is_scaled_for(
    stream: Stream,
    kind: KindCluster,
    prometheus: Prometheus,
    namespace: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = timed(stream, kind, namespace)
    stream.submit(spec)
    pods = stream.settled(stream.tasks())
    counted = Counted(prometheus, namespace, spec)
    eventually(
        lambda: not rates_that_differ(counted),
        timeout_s=180,
        every_s=2.0,
        what="rates of all edges",
        show=lambda: "\n".join(rates_that_differ(counted)),
    )
    own_s = counted.mean("timed_seconds_total", "timed_words_total", STEADY_S)
    of_histogram = "thalweg_latency_seconds_sum", "thalweg_latency_seconds_count"
    mean_s = counted.mean(*of_histogram, STEADY_S)
    assert mean_s == pytest.approx(own_s, rel=WITHIN)

    stream.until_measured()
    assert not scalings(stream), "one task of split is enough for what flows"
    for source in ("read-0", "read-1"):
        stream.turn(pods[source], factor=STEP)
    plan = until_scaled(stream)
    with capsys.disabled():
        sys.stdout.write(
            f"\nmean latency {1e3 * mean_s:.1f} ms by Prometheus, {1e3 * own_s:.1f} ms by the "
            f"sink; for {STEP:g} times the load: {plan['spec']['summary']}\n"
        )


def until_scaled(stream: Stream) -> dict[str, Any]:
    """Wait for a plan with more tasks of `split`, and until all of these work; return the plan."""
    plan = eventually(
        lambda: next((one for one in scalings(stream) if is_applied(one)), None),
        timeout_s=240,
        every_s=2.0,
        what="a plan with more tasks of split",
        show=lambda: f"{stream.plans()}\n{stream.show()}",
    )
    assert plan is not None
    more = split_tasks(plan)
    stream.until_routed("read", "split", more)
    eventually(
        lambda: all(
            stream.metrics(stream.pods()[f"split-{index}"])["thalweg_processed_total"] > 0
            for index in range(more)
        ),
        timeout_s=60,
        what="every task of split works",
        show=stream.show,
    )
    return plan


def split_tasks(plan: dict[str, Any]) -> int:
    """How many tasks of `split` a plan wants, if it wants more than there are; else 0."""
    rises = (one for one in plan["spec"]["replicas"] if one["to"] > one["from"])
    return next((int(one["to"]) for one in rises if one["vertex"] == "split"), 0)


def scalings(stream: Stream) -> list[dict[str, Any]]:
    return [plan for plan in stream.plans() if split_tasks(plan)]


def is_applied(plan: dict[str, Any]) -> bool:
    conditions = (plan.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["reason"]) == ("Applied", "Applied") for one in conditions)


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
