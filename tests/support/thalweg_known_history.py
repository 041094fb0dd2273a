"""Histories whose matrices are known: what pods would have exported, scrape by scrape.

Every rate is constant while its task runs, so that the truth is a number. With faults a task
restarts in place and loses what it had counted, one moves to another node, make before break, and
a fifth of all scrapes is missing. One pod is scraped by two jobs, with a phase of its own each; of
another the labels of its scrape change on the way, and its node is not told any more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SCRAPE_S = 5.0
WINDOW_S = 300.0
SIZE_BYTES = 120.0
TASKS = ("read-0", "read-1", "split-0", "split-1", "split-2", "count-0", "count-1")
CORES, MEMORY_BYTES = 16.0, 8e9
NODES = ("n0", "n1", "n2", "n3")
DOMAINS = {"n0": "east", "n1": "east", "n2": "west", "n3": "west"}
TWICE, RELABELLED = "read-0", "split-2"
RELABELLED_S = 77.7
"""So long before the end."""
EDGES = (("read", "split"), ("split", "count"))
BOUNDS_S = (0.01, 0.02, 0.04, 0.08)


@dataclass(kw_only=True)
class Pod:
    """One incarnation of a task: counts until it is quiet, is scraped until its end."""

    name: str
    task: str
    node: str
    begin_s: float
    quiet_s: float
    end_s: float
    resets_s: tuple[float, ...] = ()

    def counted_s(self, at_s: float) -> float:
        """For how long it has counted since it last began from zero."""
        begun = max((one for one in (self.begin_s, *self.resets_s) if one <= at_s), default=at_s)
        return max(0.0, min(at_s, self.quiet_s) - begun)


@dataclass(kw_only=True)
class Truth:
    """What the matrices ought to say."""

    at_s: float
    edges_per_s: dict[tuple[str, str], float] = field(default_factory=dict)
    loads: dict[str, dict[str, float]] = field(default_factory=dict)
    latency_s: dict[tuple[str, str], float] = field(default_factory=dict)
    nodes: dict[str, dict[str, float]] = field(default_factory=dict)
    pods: list[Pod] = field(default_factory=list)
    relabelled: set[str] = field(default_factory=set)

    def node_traffic(self) -> dict[tuple[str, str], float]:
        """Tuples/s between nodes: of each pair of tasks by where both were, second by second."""
        found: dict[tuple[str, str], float] = {}
        seconds = np.arange(self.at_s - WINDOW_S, self.at_s)
        for (source, target), rate in self.edges_per_s.items():
            for second in seconds:
                pair = self._node(source, second), self._node(target, second)
                found[pair] = found.get(pair, 0.0) + rate / seconds.size
        return found

    def _node(self, task: str, at_s: float) -> str:
        (node,) = {
            pod.node for pod in self.pods if pod.task == task and pod.begin_s <= at_s < pod.quiet_s
        }
        return node

    def expectation(self) -> dict[str, Any]:
        """As the operator would say it: the pods that are there at the end."""
        vertices: dict[str, list[dict[str, Any]]] = {}
        for pod in self.pods:
            if pod.end_s > self.at_s:
                about = {
                    "name": pod.task,
                    "pod": pod.name,
                    "node": pod.node,
                    "since_s": pod.begin_s,
                }
                vertices.setdefault(_vertex(pod.task), []).append(about)
        return {
            "topologies": [
                {
                    "namespace": "n",
                    "name": "wc",
                    "vertices": [{"name": name, "tasks": vertices[name]} for name in vertices],
                    "edges": [{"from": source, "to": target} for source, target in EDGES],
                }
            ],
            "nodes": list(NODES),
            "allocatable": {node: {"cpu": CORES, "memory": MEMORY_BYTES} for node in NODES},
        }


def known_history(at_s: float, *, faults: bool, seed: int = 7) -> tuple[str, Truth]:
    """OpenMetrics text, and the truth about it."""
    rng = np.random.default_rng(seed)
    truth = Truth(at_s=at_s)
    for source, target in EDGES:
        for task in (one for one in TASKS if _vertex(one) == source):
            for other in (one for one in TASKS if _vertex(one) == target):
                truth.edges_per_s[task, other] = float(rng.integers(200, 2000))
    for task in TASKS:
        truth.loads[task] = _load(task, truth, rng)
    truth.pods = _pods(at_s, faults=faults)
    truth.relabelled = {pod.name for pod in truth.pods if faults and pod.task == RELABELLED}
    truth.latency_s = {
        (one, other): 0.0001 if one == other else float(rng.integers(2, 40)) / 1000
        for one in NODES
        for other in NODES
    }
    truth.nodes = _nodes(np.random.default_rng(seed + 1))
    lines = [
        *_pod_lines(truth, rng, faults=faults),
        *_rtt_lines(truth, rng),
        *_node_lines(truth),
        "# EOF\n",
    ]
    return "\n".join(lines), truth


def _vertex(task: str) -> str:
    return task.partition("-")[0]


def _load(task: str, truth: Truth, rng: np.random.Generator) -> dict[str, float]:
    sent = sum(rate for (source, _), rate in truth.edges_per_s.items() if source == task)
    received = sum(rate for (_, target), rate in truth.edges_per_s.items() if target == task)
    processed, busy = received or sent, float(rng.uniform(0.2, 0.9))
    return {
        "processed_per_s": processed,
        "busy_share": busy,
        "true_rate_per_s": processed / busy,
        "cpu_cores": float(rng.uniform(0.1, 0.9)),
        "backpressured_share": float(rng.uniform(0.01, 0.1)),
        "wait_s": float(rng.uniform(0.001, 0.01)),
        "memory_bytes": float(rng.integers(10**7, 10**8)),
        "queue_tuples": float(rng.integers(5, 50)),
        "routes_version": 5.0 + TASKS.index(task),
    }


def _pods(at_s: float, *, faults: bool) -> list[Pod]:
    long_ago, later = at_s - 1200, at_s + 600
    pods = [
        Pod(
            name=f"wc-{task}-1",
            task=task,
            node=NODES[number % len(NODES)],
            begin_s=long_ago,
            quiet_s=later,
            end_s=later,
        )
        for number, task in enumerate(TASKS)
    ]
    if faults:
        pods[2].resets_s = (at_s - 141.3, at_s - 13.7)
        pods[5].resets_s = (at_s - 203.1,)
        moved_s = at_s - 151.9
        pods[3].quiet_s, pods[3].end_s = moved_s, moved_s + 4
        pods.append(
            Pod(
                name="wc-split-1-2",
                task="split-1",
                node="n2",
                begin_s=moved_s,
                quiet_s=later,
                end_s=later,
            )
        )
    return pods


def _pod_lines(truth: Truth, rng: np.random.Generator, *, faults: bool) -> Iterator[str]:
    times = np.arange(truth.at_s - 600, truth.at_s + 1, SCRAPE_S)
    for pod in truth.pods:
        phase_s = float(rng.uniform(0, SCRAPE_S))
        for at_s in times + phase_s:
            missed = faults and rng.random() < 0.2
            if pod.begin_s <= at_s < min(pod.end_s, truth.at_s) and not missed:
                yield from _scrape(pod, float(at_s), truth, _more(pod, float(at_s), truth))
        for at_s in (times + rng.uniform(0, SCRAPE_S)) if faults and pod.task == TWICE else ():
            if at_s < truth.at_s and rng.random() < 0.8:
                yield from _scrape(pod, float(at_s), truth, f',job="other",node="{pod.node}"')


def _more(pod: Pod, at_s: float, truth: Truth) -> str:
    """What a job adds to the labels of what it scrapes."""
    if pod.name in truth.relabelled and at_s > truth.at_s - RELABELLED_S:
        return ',job="pods",instance="10.0.0.7:9090"'
    return f',job="pods",instance="{pod.name}",node="{pod.node}"'


def _scrape(pod: Pod, at_s: float, truth: Truth, more: str) -> Iterator[str]:
    load, counted_s = truth.loads[pod.task], pod.counted_s(at_s)
    own = (
        f'namespace="n",topology="wc",vertex="{_vertex(pod.task)}",task="{pod.task}",'
        f'pod="{pod.name}"{more}'
    )
    processed = np.floor(load["processed_per_s"] * counted_s)
    values = {
        "thalweg_processed_total": processed,
        "thalweg_busy_seconds_total": load["busy_share"] * counted_s,
        "thalweg_cpu_seconds_total": load["cpu_cores"] * counted_s,
        "thalweg_backpressured_seconds_total": load["backpressured_share"] * counted_s,
        "thalweg_wait_seconds_total": load["wait_s"] * processed,
        "thalweg_memory_bytes": load["memory_bytes"],
        "thalweg_queue_tuples": load["queue_tuples"],
        "thalweg_task_info": 1.0,
        # A pod that was replaced never hears of the newest routes.
        "thalweg_routes_version": load["routes_version"] - (pod.quiet_s < truth.at_s),
    }
    for name, value in values.items():
        yield f"{name}{{{own}}} {float(value)!r} {at_s:.3f}"
    for (source, target), rate in truth.edges_per_s.items():
        if source == pod.task:
            edge = f'{own},to_vertex="{_vertex(target)}",to_task="{target}"'
            sent = float(np.floor(rate * counted_s))
            yield f"thalweg_tuples_total{{{edge}}} {sent} {at_s:.3f}"
            yield f"thalweg_bytes_total{{{edge}}} {sent * SIZE_BYTES} {at_s:.3f}"
    if _vertex(pod.task) == "count":
        yield from _histogram(own, processed, at_s)


def _histogram(own: str, arrived: float, at_s: float) -> Iterator[str]:
    """A quarter of the tuples in each bucket, spread evenly: the median is 20 ms, the mean 27.5."""
    for number, bound in enumerate(BOUNDS_S):
        count = float(arrived * (number + 1) / len(BOUNDS_S))
        yield f'thalweg_latency_seconds_bucket{{{own},le="{bound}"}} {count} {at_s:.3f}'
    yield f'thalweg_latency_seconds_bucket{{{own},le="+Inf"}} {float(arrived)} {at_s:.3f}'
    lower = (0.0, *BOUNDS_S[:-1])
    mean_s = sum((a + b) / 2 for a, b in zip(lower, BOUNDS_S, strict=True)) / len(BOUNDS_S)
    yield f"thalweg_latency_seconds_sum{{{own}}} {float(arrived * mean_s)} {at_s:.3f}"


def _rtt_lines(truth: Truth, rng: np.random.Generator) -> Iterator[str]:
    """Round trips that scatter evenly around twice the latency, a few of them far off."""
    times = np.arange(truth.at_s - 600, truth.at_s, SCRAPE_S)
    for (source, target), latency_s in truth.latency_s.items():
        noise = np.linspace(-0.005, 0.005, times.size)
        rng.shuffle(noise)
        for number, at_s in enumerate(times):
            rtt_s = 2 * latency_s * (1 + noise[number])
            ends = f'source_node="{source}",target_node="{target}"'
            yield f"thalweg_node_rtt_seconds{{{ends}}} {rtt_s:.9f} {at_s:.3f}"


def _nodes(rng: np.random.Generator) -> dict[str, dict[str, float]]:
    return {node: _node(rng) for node in NODES}


def _node(rng: np.random.Generator) -> dict[str, float]:
    used, memory = float(rng.uniform(1, 15)), float(rng.integers(10**9, 7 * 10**9))
    return {
        "cpu_allocatable_cores": CORES,
        "memory_allocatable_bytes": MEMORY_BYTES,
        "cpu_used_cores": used,
        "memory_used_bytes": memory,
        "cpu_free_cores": CORES - used,
        "memory_free_bytes": MEMORY_BYTES - memory,
        "io_share": float(rng.uniform(0.1, 0.9)),
        "receive_bytes_per_s": float(rng.integers(10**5, 10**7)),
        "transmit_bytes_per_s": float(rng.integers(10**5, 10**7)),
        "bandwidth_bytes_per_s": 125e6,
    }


def _node_lines(truth: Truth) -> Iterator[str]:
    """What cAdvisor and node_exporter say, whose links to pods and idle disk do not count."""
    begin_s = truth.at_s - 600
    for at_s in np.arange(begin_s, truth.at_s, SCRAPE_S):
        for node, load in truth.nodes.items():
            seconds, own = float(at_s - begin_s), f'node="{node}"'
            read, sent = load["receive_bytes_per_s"], load["transmit_bytes_per_s"]
            values = {
                f'container_cpu_usage_seconds_total{{id="/",{own}}}': load["cpu_used_cores"]
                * seconds,
                f'container_memory_working_set_bytes{{id="/",{own}}}': load["memory_used_bytes"],
                f'node_disk_io_time_seconds_total{{device="sda",{own}}}': load["io_share"]
                * seconds,
                f'node_disk_io_time_seconds_total{{device="sdb",{own}}}': 0.0,
                f'node_network_receive_bytes_total{{device="eth0",{own}}}': read * seconds,
                f'node_network_receive_bytes_total{{device="veth1",{own}}}': read * seconds,
                f'node_network_transmit_bytes_total{{device="eth0",{own}}}': sent * seconds,
                f'node_network_speed_bytes{{device="eth0",{own}}}': load["bandwidth_bytes_per_s"],
                f'node_network_speed_bytes{{device="veth1",{own}}}': 1.25e9,
            }
            for series, value in values.items():
                yield f"{series} {value!r} {at_s:.3f}"
