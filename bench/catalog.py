"""Topologies that are known elsewhere, in numbers.

Q1 to Q6 are the six queries of CAPSys (EuroSys 2025): tasks, compute in milliseconds a second and
output in MB/s of each task, as published with its code. We take 1 kB for a tuple. The others are
the usual shapes of stream benchmarks with round numbers of our own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One vertex: its tasks, and what each of them takes and sends."""

    name: str
    tasks: int
    cpu_milli: int
    sends_per_s: float = 0.0
    """Tuples per second of one task, to each vertex downstream."""
    state_bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Vertices and the edges between them, by position."""

    stages: tuple[Stage, ...]
    edges: tuple[tuple[int, int], ...]


def _query(
    rows: tuple[tuple[str, int, float, float, float], ...], *edges: tuple[int, int]
) -> Query:
    stages = tuple(
        Stage(
            name=name,
            tasks=tasks,
            cpu_milli=round(compute_ms),
            sends_per_s=1000 * megabytes,
            state_bytes_per_s=state,
        )
        for name, tasks, compute_ms, megabytes, state in rows
    )
    return Query(stages=stages, edges=edges)


def _chain(*rows: tuple[str, int, int, float]) -> Query:
    stages = tuple(
        Stage(name=name, tasks=tasks, cpu_milli=cpu, sends_per_s=sends)
        for name, tasks, cpu, sends in rows
    )
    return Query(stages=stages, edges=tuple((n, n + 1) for n in range(len(rows) - 1)))


CAPSYS: Mapping[str, Query] = MappingProxyType(
    {
        "q1": _query(
            (
                ("source", 1, 60.6, 1.880, 0),
                ("transform", 6, 430.2, 0.155, 0),
                ("window", 18, 741.0, 0.361, 17067),
                ("sink", 1, 20.8, 0, 0),
            ),
            (0, 1),
            (1, 2),
            (2, 3),
        ),
        "q2": _query(
            (
                ("source-a", 4, 700.6, 23.686, 0),
                ("transform-a", 6, 700.3, 7.245, 0),
                ("source-p", 1, 147.6, 4.251, 0),
                ("transform-p", 1, 270.4, 3.913, 0),
                ("join", 8, 1880.5, 0.225, 23090),
                ("sink", 1, 30.7, 0, 0),
            ),
            (0, 1),
            (1, 4),
            (2, 3),
            (3, 4),
            (4, 5),
        ),
        "q3": _query(
            (
                ("source", 5, 780.7, 46.948, 0),
                ("transform", 8, 870.5, 29.331, 0),
                ("compress", 6, 810.2, 1.884, 0),
                ("infer", 4, 1100.2, 0.080, 0),
                ("sink", 1, 20.8, 0, 0),
            ),
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
        ),
        "q4": _query(
            (
                ("source-a", 6, 710.1, 32.627, 0),
                ("source-p", 2, 400.1, 12.948, 0),
                ("filter", 2, 430.3, 6.474, 0),
                ("join", 12, 840.8, 0.943, 3624),
                ("sink", 1, 150.5, 0, 0),
            ),
            (0, 3),
            (1, 2),
            (2, 3),
            (3, 4),
        ),
        "q5": _query(
            (
                ("source-a", 2, 361.5, 9.363, 0),
                ("source-b", 2, 140.1, 3.315, 0),
                ("join", 12, 930.4, 0.413, 44430),
                ("aggregate", 6, 800.5, 0.825, 329547),
                ("sink", 1, 40.1, 0, 0),
            ),
            (0, 2),
            (1, 2),
            (2, 3),
            (3, 4),
        ),
        "q6": _query(
            (
                ("source", 4, 164.4, 6.853, 0),
                ("session", 18, 900.8, 0.023, 23196),
                ("sink", 1, 20.4, 0, 0),
            ),
            (0, 1),
            (1, 2),
        ),
    }
)

USUAL: Mapping[str, Query] = MappingProxyType(
    {
        "word-count": _chain(
            ("read", 2, 500, 1500),
            ("split", 3, 700, 8000),
            ("count", 3, 800, 300),
            ("store", 2, 300, 0),
        ),
        "top-n": _chain(
            ("source", 3, 400, 4000),
            ("count", 6, 700, 900),
            ("rank", 4, 400, 50),
            ("merge", 1, 600, 0),
        ),
        "ad-clicks": _chain(
            ("parse", 4, 600, 5000),
            ("filter", 4, 300, 1700),
            ("project", 2, 250, 1700),
            ("join", 4, 700, 1600),
            ("window", 4, 800, 100),
            ("store", 1, 500, 0),
        ),
    }
)
