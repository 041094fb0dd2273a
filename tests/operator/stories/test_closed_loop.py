"""The closed loop on a real control plane, with a real Prometheus and a simulated data plane."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_testbed import Cluster, eventually
from thalweg_testbed.loopbed import LoopBed

pytestmark = pytest.mark.control_plane
ROOT = Path(__file__).resolve().parents[3]
NAME = "word-count"


def topology(namespace: str, mode: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "demo.yaml").read_text())
    found["metadata"]["namespace"] = namespace
    found["spec"]["mode"] = mode
    # Moves have stories of their own; here the numbers of tasks are watched.
    found["spec"]["placement"] = {"mode": "Off"}
    found["spec"]["scaling"] |= {"scaleDownAfterSeconds": 20, "cooldownSeconds": 10}
    return found


@pytest.fixture
def bed(control_plane: Cluster, namespace: str, tmp_path: Path) -> Iterator[LoopBed]:
    with LoopBed(control_plane, tmp_path, rate_per_s=1000, namespace=namespace) as found:
        yield found


def status(bed: LoopBed, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = bed.cluster.get("stopo", NAME, "-n", namespace).get("status") or {}
    return found


def condition(bed: LoopBed, namespace: str, kind: str) -> dict[str, Any]:
    for one in status(bed, namespace).get("conditions") or ():
        if one["type"] == kind:
            return dict(one)
    return {}


def replicas(bed: LoopBed, namespace: str) -> dict[str, int]:
    vertices = bed.cluster.get("svtx", "-n", namespace)["items"]
    return {vertex["spec"]["vertex"]: vertex["spec"]["replicas"] for vertex in vertices}


def plans(bed: LoopBed, namespace: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bed.cluster.get("splan", "-n", namespace)["items"]
    return sorted(found, key=lambda plan: int(plan["metadata"]["name"].rsplit("-", 1)[1]))


def standing(plan: dict[str, Any]) -> str:
    conditions = (plan.get("status") or {}).get("conditions") or [{}]
    return str(conditions[0].get("reason", "Proposed"))


def wait_measured(bed: LoopBed, namespace: str) -> None:
    eventually(
        lambda: condition(bed, namespace, "MetricsAvailable").get("status") == "True",
        timeout_s=180,
        what="loads and traffic to be measured",
        show=lambda: status(bed, namespace),
    )


def test_load_rises_and_falls_and_metrics_vanish(bed: LoopBed, namespace: str) -> None:
    bed.cluster.apply(topology(namespace, "Auto"))
    wait_measured(bed, namespace)
    bed.turn("rate", {"factor": 5})
    eventually(
        lambda: replicas(bed, namespace)["count"] >= 4 and replicas(bed, namespace)["split"] >= 4,
        timeout_s=240,
        what="enough tasks for five times the load",
        show=lambda: (replicas(bed, namespace), status(bed, namespace).get("decisions")),
    )
    applied = [plan for plan in plans(bed, namespace) if standing(plan) == "Applied"]
    assert applied, "what was scaled is written down as plans"
    assert all(plan["spec"]["reasons"] for plan in applied)

    # No measurements: nothing is taken away, however little there would be to do.
    bed.prometheus.stop()
    eventually(
        lambda: condition(bed, namespace, "MetricsAvailable").get("status") == "False",
        timeout_s=180,
        what="the loss of measurements to be seen",
        show=lambda: status(bed, namespace),
    )
    bed.turn("rate", {"factor": 0.5})
    held = replicas(bed, namespace)
    before = len(plans(bed, namespace))
    bed.restart_operator()
    eventually(
        lambda: condition(bed, namespace, "MetricsAvailable").get("status") == "False",
        what="the new operator to look around",
    )
    assert replicas(bed, namespace) == held
    assert len(plans(bed, namespace)) == before

    bed.prometheus.restart()
    eventually(
        lambda: sum(replicas(bed, namespace).values()) < sum(held.values()),
        timeout_s=300,
        what="tasks that are not needed any more to go",
        show=lambda: (replicas(bed, namespace), status(bed, namespace)),
    )


def test_a_plan_waits_for_approval(bed: LoopBed, namespace: str) -> None:
    bed.cluster.apply(topology(namespace, "Approve"))
    wait_measured(bed, namespace)
    bed.turn("rate", {"factor": 5})
    proposed = eventually(
        lambda: [
            plan
            for plan in plans(bed, namespace)
            if standing(plan) == "Proposed" and plan["spec"]["replicas"]
        ],
        timeout_s=180,
        what="a plan to be proposed",
        show=lambda: status(bed, namespace),
    )
    asked = proposed[-1]
    assert replicas(bed, namespace) == {"read": 1, "split": 2, "count": 2}, "nothing was done yet"
    name = asked["metadata"]["name"]
    patch = '{"spec":{"approved":true}}'
    bed.cluster.kubectl("patch", "splan", name, "-n", namespace, "--type=merge", "-p", patch)
    wanted = {one["vertex"]: one["to"] for one in asked["spec"]["replicas"]}
    eventually(
        lambda: replicas(bed, namespace) | wanted == replicas(bed, namespace),
        timeout_s=120,
        what="the approved plan to be carried out",
        show=lambda: (wanted, replicas(bed, namespace), plans(bed, namespace)),
    )
    eventually(
        lambda: (
            {p["metadata"]["name"]: standing(p) for p in plans(bed, namespace)}[name] == "Applied"
        ),
        what="the plan to be called applied",
    )
