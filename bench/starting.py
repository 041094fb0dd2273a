"""How long `thalweg` takes from being called to having answered, each time in a fresh process.

The first call of each kind does not count: it may have to read libraries from disk.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from bench.tables import table
from bench.timing import Time, machine, spread

RUNS = 5
RATES = (
    "from,to,tuples_per_second,bytes_per_second\nread,split,1000,90000\nsplit,count,9000,90000\n"
)
CALLS: Mapping[str, tuple[str, ...]] = {
    "--help": ("--help",),
    "plan, no rates": ("plan", "topology.yaml", "--nodes", "nodes.yaml", "-o", "json"),
    "plan with rates and prediction": (
        *("plan", "topology.yaml", "--nodes", "nodes.yaml", "--rates", "rates.csv", "-o", "json"),
    ),
}


def topology() -> dict[str, object]:
    """WordCount of 14 tasks."""
    requests = {"cpu": "500m", "memory": "256Mi"}
    container = {"name": "worker", "image": "example.com/w:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamTopology",
        "metadata": {"name": "word-count"},
        "spec": {
            "vertices": [
                {
                    "name": name,
                    "replicas": {"min": 1, "max": 16, "initial": tasks},
                    "template": {"spec": {"containers": [container]}},
                }
                for name, tasks in (("read", 2), ("split", 4), ("count", 8))
            ],
            "edges": [{"from": "read", "to": "split"}, {"from": "split", "to": "count"}],
        },
    }


def nodes(domains: int = 4, per_domain: int = 3) -> dict[str, object]:
    """As `kubectl get nodes -o yaml` prints them, with what is looked at."""
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "kind": "Node",
                "metadata": {
                    "name": f"d{domain}-{node}",
                    "labels": {"topology.kubernetes.io/zone": f"d{domain}"},
                },
                "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"}},
            }
            for domain in range(domains)
            for node in range(per_domain)
        ],
    }


def called(words: Sequence[str], folder: Path) -> Time:
    """Call the command once; it has to succeed."""
    before, wall_s = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "thalweg_operator", *words],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wall_s, after = time.perf_counter() - wall_s, os.times()
    cpu_s = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Time(wall_s=wall_s, cpu_s=cpu_s)


def run(runs: int = RUNS) -> str:
    """One line for each way to call it."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as name:
        folder = Path(name)
        (folder / "topology.yaml").write_text(yaml.safe_dump(topology()), encoding="utf-8")
        (folder / "nodes.yaml").write_text(yaml.safe_dump(nodes()), encoding="utf-8")
        (folder / "rates.csv").write_text(RATES, encoding="utf-8")
        for call, words in CALLS.items():
            times = [called(words, folder) for _ in range(runs + 1)][1:]
            walls, cpus = [each.wall_s for each in times], [each.cpu_s for each in times]
            rows.append((f"thalweg {call}", spread(walls), spread(cpus)))
    return table(("call", "wall s", "CPU s"), rows)


def main() -> None:
    """Five calls of each kind: least / median / most."""
    print(f"{machine()}\n\n{run()}")
