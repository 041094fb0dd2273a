"""The closed loop on a real control plane, with a real Prometheus and a simulated data plane."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_operator.observe.facts import epoch_s
from thalweg_stories import standing
from thalweg_testbed import Cluster, eventually
from thalweg_testbed.loopbed import LoopBed

pytestmark = pytest.mark.control_plane
ROOT = Path(__file__).resolve().parents[3]
NAME = "word-count"


DOWN_AFTER_S = 20


def topology(namespace: str, mode: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "demo.yaml").read_text())
    found["metadata"]["namespace"] = namespace
    found["spec"]["mode"] = mode
    # Moves have stories of their own; here the numbers of tasks are watched.
    found["spec"]["placement"] = {"mode": "Off"}
    found["spec"]["scaling"] |= {"scaleDownAfterSeconds": DOWN_AFTER_S, "cooldownSeconds": 10}
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


def wait_measured(bed: LoopBed, namespace: str) -> None:
    eventually(
        lambda: condition(bed, namespace, "MetricsAvailable").get("status") == "True",
        timeout_s=180,
        what="loads and traffic to be measured",
        show=lambda: status(bed, namespace),
    )


def scalings(found: list[dict[str, Any]], sign: int) -> list[dict[str, Any]]:
    """The plans that ask for more tasks of a vertex (1) or for fewer (-1)."""
    return [
        plan
        for plan in found
        if any(sign * (one["to"] - one["from"]) > 0 for one in plan["spec"]["replicas"])
    ]


def flowing(bed: LoopBed) -> dict[str, Any]:
    """What flows, as only the data plane can know it."""
    (found,) = bed.state()["topologies"]
    return dict(found)


def keeps_up(bed: LoopBed) -> bool:
    """Whether nothing piles up: less than half a second's worth waits."""
    found = flowing(bed)
    return bool(found["backlog_tuples"] < 0.5 * found["offered_per_s"])


def are_enough(scaled: list[dict[str, Any]], before: dict[str, int], offered_per_s: float) -> bool:
    """Whether the tasks can do, after these plans, what the sources are offered."""
    simulated = topology("", "Auto")["metadata"]["annotations"]
    tasks, flow_per_s = dict(before), offered_per_s
    for plan in scaled:
        tasks |= {one["vertex"]: one["to"] for one in plan["spec"]["replicas"]}
    for name in ("read", "split", "count"):
        own = json.loads(simulated[f"simulated.thalweg.dev/{name}"])
        if tasks[name] < flow_per_s * own["service_us"] / 1e6:
            return False
        flow_per_s *= own.get("selectivity", 1)
    return True


def let_pass(bed: LoopBed, seconds: float) -> None:
    """Until the simulated stream has flowed for so long."""
    begin_s = bed.state()["now_s"]
    eventually(
        lambda: bed.state()["now_s"] - begin_s >= seconds,
        timeout_s=20 * seconds,
        what=f"{seconds} s of the stream",
    )


@pytest.mark.lengthy(seconds=280)
def test_load_step(bed: LoopBed, namespace: str) -> None:
    """Five times the load and back: enough after two decisions, and no to and fro."""
    stepping = topology(namespace, "Auto")
    # Longer than the half minute that loads are measured over: the second decision sees all of it.
    stepping["spec"]["scaling"]["cooldownSeconds"] = 40
    bed.cluster.apply(stepping)
    wait_measured(bed, namespace)
    before = replicas(bed, namespace)
    bed.turn("rate", {"factor": 5})
    eventually(lambda: not keeps_up(bed), timeout_s=120, what="more than the tasks can do")
    eventually(
        lambda: scalings(plans(bed, namespace), 1) and keeps_up(bed),
        timeout_s=240,
        what="enough tasks for five times the load",
        show=lambda: (flowing(bed), replicas(bed, namespace), status(bed, namespace)),
    )
    let_pass(bed, 30)
    up = plans(bed, namespace)
    said = [plan["spec"]["summary"] for plan in up]
    # A third may only bring tasks that suffice down to the share of the time they ought to be busy.
    assert len(scalings(up, 1)) <= 3, said
    assert are_enough(scalings(up, 1)[:2], before, flowing(bed)["offered_per_s"]), said
    assert keeps_up(bed)

    fell_s = time.time()
    bed.turn("rate", {"factor": 1})
    eventually(
        lambda: replicas(bed, namespace) == before,
        timeout_s=300,
        what="as many tasks as before",
        show=lambda: (replicas(bed, namespace), status(bed, namespace)),
    )
    known = {plan["metadata"]["name"] for plan in up}
    found = scalings(plans(bed, namespace), -1)
    down = [plan for plan in found if plan["metadata"]["name"] not in known]
    assert epoch_s(down[0]["spec"]["decidedAt"]) >= int(fell_s) + DOWN_AFTER_S
    let_pass(bed, 20)
    assert len(scalings(plans(bed, namespace), 1)) == len(scalings(up, 1)), "no to and fro"
    assert keeps_up(bed)


def known_s(text: str) -> float:
    """A duration as the table shows it."""
    for unit, size in (("ms", 1e-3), ("µs", 1e-6), ("s", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    raise AssertionError(f"{text!r} is no duration")


@pytest.mark.lengthy(seconds=100)
def test_bad_placement_is_repaired_as_predicted(bed: LoopBed, namespace: str) -> None:
    """Tasks dealt out over four domains come together; both figures fall as the plan said."""
    scattered = topology(namespace, "Auto")
    scattered["spec"] |= {"strategy": "Even", "scaling": {"mode": "Off"}}
    bed.cluster.apply(scattered)
    wait_measured(bed, namespace)
    crossed = flowing(bed)["cross_domain_share"]
    repaired = topology(namespace, "Auto")
    repaired["spec"] |= {
        "placement": {"minDomains": 2},
        "scaling": {"mode": "Off", "cooldownSeconds": 0},
    }
    bed.cluster.apply(repaired)
    proved = eventually(
        lambda: [
            plan
            for plan in plans(bed, namespace)
            if plan["spec"]["moves"] and (plan.get("status") or {}).get("measured")
        ],
        timeout_s=300,
        what="moves that have been judged",
        show=lambda: (plans(bed, namespace), status(bed, namespace)),
    )
    plan = proved[0]
    before = json.loads(plan["metadata"]["annotations"]["thalweg.dev/measured-before"])
    promised, came = plan["spec"]["predicted"], plan["status"]["measured"]
    said = f"before {before}, predicted {promised}, measured {came}"
    assert known_s(came["latency"]) < before["latency_s"], said
    assert known_s(came["latency"]) == pytest.approx(known_s(promised["latency"]), rel=0.2), said
    shares = [float(one["crossDomain"].rstrip("%")) for one in (promised, came)]
    assert shares[1] == pytest.approx(shares[0], rel=0.2, abs=1), said
    assert shares[1] < 100 * crossed, said
    (judged,) = [one for one in plan["status"]["conditions"] if one["type"] == "Verified"]
    assert judged["status"] == "True", judged
    eventually(
        lambda: status(bed, namespace).get("stablePlan") == plan["metadata"]["name"],
        what="the plan to be called stable",
    )


@pytest.mark.lengthy(seconds=180)
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
