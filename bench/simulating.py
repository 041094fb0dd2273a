"""How long a prediction takes: fast enough to gate a decision, and to compare candidates.

What was measured of one placement is taken to another, of many small topologies or a giant one.
The bar is 10,000 tasks in one second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.streams import Size, many_topologies, one_topology
from bench.tables import table
from bench.timing import SEEDS, Time, machine, spread, timed
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import predict

SIZES = (
    Size(tasks=100, nodes=20, domains=4),
    Size(tasks=1_000, nodes=100, domains=4),
    Size(tasks=10_000, nodes=1_000, domains=8),
)
KINDS = {"many topologies": many_topologies, "one topology": one_topology}
BUSY = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One prediction."""

    kind: str
    size: Size
    pairs: int
    time: Time
    latency_s: float


def main() -> None:
    """Print the table."""
    print(machine())
    print()
    print(render(run(SIZES)))


def run(sizes: Sequence[Size], seeds: Sequence[int] = SEEDS) -> list[Predicted]:
    """Predict every kind and size from every seed."""
    return [
        look(kind, size, measured(make(size, seed), seed))
        for size in sizes
        for kind, make in KINDS.items()
        for seed in seeds
    ]


def measured(snapshot: Snapshot, seed: int) -> Snapshot:
    """With loads that go with the traffic, on random nodes."""
    assert snapshot.traffic is not None
    rng = np.random.default_rng(seed)
    tasks, traffic = len(snapshot.tasks), snapshot.traffic
    received, sent = np.zeros(tasks), np.zeros(tasks)
    np.add.at(received, traffic.targets, traffic.tuples_per_s)
    np.add.at(sent, traffic.sources, traffic.tuples_per_s)
    rate = np.where(received > 0, received, np.maximum(sent, 1.0))
    busy = np.full(tasks, BUSY)
    unknown = np.full(tasks, np.nan)
    loads = TaskLoad(
        cpu_cores=busy,
        memory_bytes=unknown,
        busy_share=busy,
        backpressured_share=unknown,
        wait_s=unknown,
        processed_per_s=rate,
        true_rate_per_s=rate / BUSY,
        queue_tuples=unknown,
        observed=traffic.observed,
    )
    return replace(snapshot, loads=loads, placement=rng.integers(0, len(snapshot.nodes), tasks))


def look(kind: str, size: Size, snapshot: Snapshot) -> Predicted:
    """Take what was measured to the next node of each."""
    assert snapshot.traffic is not None
    node = (snapshot.placement + 1) % len(snapshot.nodes)
    prediction, time = timed(lambda: predict(snapshot, node, np.arange(len(node))))
    return Predicted(
        kind=kind,
        size=size,
        pairs=len(snapshot.traffic.targets),
        time=time,
        latency_s=prediction.latency_s,
    )


def render(found: Sequence[Predicted]) -> str:
    """One line a kind and size."""
    rows = []
    for kind, size in dict.fromkeys((one.kind, one.size) for one in found):
        each = [one for one in found if (one.kind, one.size) == (kind, size)]
        rows.append(
            [
                kind,
                size.label,
                spread([one.pairs for one in each], 6),
                spread([one.time.cpu_s for one in each]),
                spread([one.time.wall_s for one in each]),
            ]
        )
    return table(["kind", "tasks × nodes × domains", "pairs", "CPU s", "wall s"], rows)


if __name__ == "__main__":
    main()
