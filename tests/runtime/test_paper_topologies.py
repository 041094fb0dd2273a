"""The papers' topologies, from the manifests as they are, run on loopback."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_inner_streams import inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.steps import audit, yahoo
from thalweg_runtime.steps.word_count import WORDS_A_LINE
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity
from thalweg_runtime.worker.source import Source
from thalweg_runtime.worker.task import Task
from thalweg_stream_bed import KEY_GROUPS

EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPES = {
    "word-count-2-3-3-2": (2, 3, 3, 2),
    "word-count-4-8-8": (4, 8, 8),
    "top-n": (4, 8, 4, 1),
    "yahoo": (2, 2, 2, 2, 3, 1),
    "comm-count-1": (6, 16, 6),
    "comm-count-2": (8, 8, 8),
    "debs-2024": (2, 3, 3, 3, 2, 2, 2),
}
LAST = 300
LATER = {"store"}
"""Windows are told when they are over, and no test waits for that."""


def spec_of(name: str) -> dict[str, Any]:
    manifest = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    assert manifest["metadata"]["name"] == name
    spec: dict[str, Any] = manifest["spec"]
    return spec


def program_of(vertex: Mapping[str, Any]) -> str:
    (container,) = vertex["template"]["spec"]["containers"]
    assert container["args"][0] == "thalweg_runtime.worker"
    (program,) = [one for one in container["args"] if one.startswith("--program=")]
    return str(program.partition("=")[2])


def routes(spec: Mapping[str, Any], vertex: str, hosts: Mapping[str, str]) -> str:
    """What the operator would write for a vertex."""
    replicas = {one["name"]: one["replicas"]["initial"] for one in spec["vertices"]}
    edges = []
    for edge in spec["edges"]:
        if edge["from"] == vertex:
            many = replicas[edge["to"]]
            tasks = [
                {
                    "name": f"{edge['to']}-{index}",
                    "incarnation": 1,
                    "address": hosts[edge["to"]],
                    "node": "n0",
                    "domain": "a",
                    "weight": 1.0,
                    "keyGroups": [
                        [
                            -(-index * KEY_GROUPS // many),
                            -(-(index + 1) * KEY_GROUPS // many) - 1,
                        ]
                    ],
                }
                for index in range(many)
            ]
            grouping = edge.get("grouping", {"type": "Shuffle"})
            edges.append({"to": edge["to"], "grouping": grouping, "tasks": tasks})
    return json.dumps({"version": 1, "edges": edges})


async def run(name: str, folder: Path) -> dict[str, int]:
    """Run a topology in two processes until its sources are done; return tuples by vertex."""
    spec = spec_of(name)
    vertices = [one["name"] for one in spec["vertices"]]
    async with inner_stream(folder, "Shuffle") as stream:
        hosts = {one: f"{stream.net}.{1 + place % 2}" for place, one in enumerate(vertices)}
        tasks: dict[str, list[TaskIdentity]] = {}
        for vertex in spec["vertices"]:
            path = folder / f"{vertex['name']}.json"
            sends = any(edge["from"] == vertex["name"] for edge in spec["edges"])
            path.write_text(routes(spec, vertex["name"], hosts))
            tasks.setdefault(hosts[vertex["name"]], []).extend(
                TaskIdentity(
                    vertex=vertex["name"],
                    task=f"{vertex['name']}-{index}",
                    incarnation=1,
                    routes=path if sends else None,
                )
                for index in range(vertex["replicas"]["initial"])
            )
        work = Work(
            program=program_of(spec["vertices"][0]), profile=parse_profile("5000"), last=LAST
        )
        processes = [await stream.start(every, host, work) for host, every in tasks.items()]
        sources = [source for process in processes for source in process.sources]
        await until(lambda: all(one.is_finished for one in sources), "all is acknowledged")
        return counted(processes)


def counted(processes: list[Process]) -> dict[str, int]:
    found: dict[str, int] = {}
    for process in processes:
        every: list[Task | Source] = [*process.tasks.values(), *process.sources]
        for one in every:
            found[one.me.vertex] = found.get(one.me.vertex, 0) + one.counters.processed
    return found


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_topology_of_the_papers_runs(name: str, tmp_path: Path) -> None:
    spec = spec_of(name)
    assert tuple(one["replicas"]["initial"] for one in spec["vertices"]) == SHAPES[name]
    assert len({program_of(one) for one in spec["vertices"]}) == 1
    found = asyncio.run(run(name, tmp_path))
    idle = {vertex for vertex in found if not found[vertex]}
    assert idle <= LATER
    assert found[spec["vertices"][0]["name"]] == SHAPES[name][0] * LAST
    if name.startswith("word-count"):
        assert found["count"] == SHAPES[name][0] * LAST * WORDS_A_LINE


def test_windows_are_counted_and_told_when_they_are_over() -> None:
    state: dict[str, Any] = {}
    told: list[dict[str, Any]] = []
    for at_s in (1.0, 2.0, 11.0, 12.0, 13.0, 21.0, 35.0):
        told += yahoo.windows({"campaign": "c", "at_s": at_s}, state)
    assert told == [
        {"campaign": "c", "window": 0, "views": 2},
        {"campaign": "c", "window": 1, "views": 3},
    ]


def test_the_auditor_knows_what_it_has_seen() -> None:
    seen = audit.Seen()
    assert [seen.add(0, 5), seen.add(1, 5), seen.add(0, 5), seen.add(0, 99_999)] == [
        True,
        True,
        False,
        True,
    ]
