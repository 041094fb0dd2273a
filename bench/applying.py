"""The operator on a control plane: from apply to bound pods, API writes and memory.

Real servers, 100 simulated nodes, topologies of 20 tasks, all applied at once. The times are those
of the API server's audit log: from the first topology's arrival to the last pod's binding.
"""

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from bench.tables import table
from bench.timing import machine, spread
from thalweg_testbed import OPERATOR_USER, AuditLog, ControlPlane, Process, eventually

CRDS = sorted((Path(__file__).parents[1] / "crds").glob("*.yaml"))
NAMESPACE = "bench"
TASKS = 20
RUNS = {1: 3, 10: 3, 100: 1}
"""How often each number of topologies is applied."""
AT_ONCE = (1, 8)
"""Writes that the operator may have under way together: one after the other, and as it is set."""
DEADLINE_S = 900.0
MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What one run took."""

    bound_s: float
    writes: int
    lease_writes: int
    resting_bytes: int
    """Of the operator, before there is anything to do."""
    largest_bytes: int
    """At its largest."""


def run(topologies: int, at_once: int, *, domains: int = 4, per_domain: int = 25) -> Applied:
    """Apply so many topologies at once to an idle operator."""
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder,
        ControlPlane(crds=CRDS, report=_quiet) as plane,
    ):
        plane.add_nodes(domains=domains, per_domain=per_domain, cpu="32", memory="128Gi")
        plane.create_namespace(NAMESPACE)
        # An empty Lease is taken at once; one that is not there might be a leader's that went.
        plane.apply(_lease())
        with _operator(plane, Path(folder) / "operator.log", at_once) as operator:
            eventually(lambda: _holder(plane), timeout_s=120, what="the operator to lead")
            resting = psutil.Process(operator.pid).memory_info().rss
            before = plane.audit()
            plane.apply(*(topology(f"t{number}") for number in range(topologies)))
            eventually(
                lambda: _ready_tasks(plane) == TASKS * topologies,
                timeout_s=DEADLINE_S,
                what=f"{topologies} topologies ready",
                show=operator.log_tail,
            )
            return _measured(plane.audit().since(before), resting, operator.pid)


def _measured(log: AuditLog, resting_bytes: int, pid: int) -> Applied:
    applied = log.of("streamtopologies").writes().records
    bound = [record for record in log.of("pods/binding") if record.succeeded]
    writes = log.writes_by(OPERATOR_USER)
    leases = len(writes.of("leases"))
    return Applied(
        bound_s=(
            max(record.completed for record in bound) - min(record.received for record in applied)
        ).total_seconds(),
        writes=len(writes) - leases,
        lease_writes=leases,
        resting_bytes=resting_bytes,
        largest_bytes=_peak_bytes(pid),
    )


def topology(name: str) -> dict[str, Any]:
    """Four vertices in a row, 20 tasks."""
    tasks = {"read": 4, "split": 6, "count": 6, "store": 4}
    names = list(tasks)
    return {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamTopology",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "vertices": [
                {
                    "name": vertex,
                    "replicas": {"min": 1, "max": 10, "initial": count},
                    "template": {"spec": {"containers": [_container()]}},
                }
                for vertex, count in tasks.items()
            ],
            "edges": [{"from": a, "to": b} for a, b in pairwise(names)],
        },
    }


def _container() -> Mapping[str, Any]:
    requests = {"cpu": "250m", "memory": "256Mi"}
    return {"name": "worker", "image": "example.com/w:1", "resources": {"requests": requests}}


def _lease() -> Mapping[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "thalweg", "namespace": "default"},
    }


def _operator(plane: ControlPlane, log: Path, at_once: int) -> Process:
    kubeconfig = str(plane.kubeconfig_for(OPERATOR_USER))
    settings = ["--set", "serving.port=0", "--set", "serving.host=127.0.0.1"]
    settings += ["--set", "lease.namespace=default", "--set", f"writes_at_once={at_once}"]
    command = [sys.executable, "-m", "thalweg_operator", "operator", "--kubeconfig", kubeconfig]
    return Process("operator", [*command, *settings], log=log)


def _holder(plane: ControlPlane) -> str:
    lease = plane.get("lease", "thalweg", "-n", "default")
    return str(lease.get("spec", {}).get("holderIdentity", ""))


def _ready_tasks(plane: ControlPlane) -> int:
    items = plane.get("streamtopologies", "-n", NAMESPACE)["items"]
    return sum(item.get("status", {}).get("tasks", {}).get("ready", 0) for item in items)


def _peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _quiet(_: str) -> None:
    return None


def told(results: Mapping[tuple[int, int], Sequence[Applied]]) -> str:
    """One line for each number of topologies and of writes at once."""
    rows = [
        (
            count,
            TASKS * count,
            at_once,
            spread([each.bound_s for each in runs]),
            spread([each.writes for each in runs], digits=5),
            f"{statistics.median(each.writes for each in runs) / (TASKS * count):.1f}",
            spread([each.resting_bytes / MEGABYTE for each in runs]),
            spread([each.largest_bytes / MEGABYTE for each in runs]),
        )
        for (count, at_once), runs in results.items()
    ]
    head = (
        "topologies",
        "tasks",
        "writes at once",
        "apply to all bound, s",
        "API writes",
        "writes a task",
        "resting, MiB",
        "largest, MiB",
    )
    return table(head, rows)


def main() -> None:
    """1, 10 and 100 topologies: least / median / most where there is more than one run."""
    print(machine(), flush=True)
    results = {
        (count, at_once): [run(count, at_once) for _ in range(runs)]
        for count, runs in RUNS.items()
        for at_once in AT_ONCE
    }
    print(f"\n{told(results)}")
