"""Nodes and pods are read once, whatever shape they come in."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_operator.observe.facts import (
    NodeFact,
    PodFact,
    Taint,
    epoch_s,
    node_fact,
    pod_fact,
)

NOON = "2026-03-01T12:00:00Z"
NOON_S = 1772366400.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        (NOON, NOON_S),
        ("2026-03-01T12:00:00.25Z", NOON_S + 0.25),
        ("2026-03-01T12:00:00.250000999Z", NOON_S + 0.25),
        ("2026-03-01T14:00:00+02:00", NOON_S),
    ],
)
def test_epoch_of_rfc_3339(text: str, seconds: float) -> None:
    assert epoch_s(text) == seconds


@pytest.mark.parametrize("text", ["", "noon", "2026-03-01", "2026-03-01T12:00:00"])
def test_epoch_refuses_a_time_without_zone_or_sense(text: str) -> None:
    with pytest.raises(ValueError, match=r"zone|isoformat"):
        epoch_s(text)


def test_node() -> None:
    node = node_fact(
        {
            "metadata": {"name": "a-0", "uid": "u1", "labels": {"zone": "a"}},
            "spec": {
                "unschedulable": True,
                "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
            },
            "status": {
                "conditions": [
                    {"type": "MemoryPressure", "status": "False"},
                    {"type": "Ready", "status": "True", "lastTransitionTime": NOON},
                ],
                "allocatable": {"cpu": "3500m", "memory": "1Ki", "pods": "110", "x.dev/y": "2"},
            },
        }
    )
    assert node == NodeFact(
        name="a-0",
        uid="u1",
        labels={"zone": "a"},
        taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),),
        is_cordoned=True,
        is_ready=True,
        ready_changed_at_s=NOON_S,
        allocatable={"cpu": 3.5, "memory": 1024.0, "pods": 110.0, "x.dev/y": 2.0},
        is_deleting=False,
    )


@pytest.mark.parametrize("status", ["False", "Unknown", None])
def test_node_is_ready_only_when_it_says_so(status: str | None) -> None:
    conditions = [{"type": "Ready", "status": status, "lastTransitionTime": NOON}]
    node = node_fact({"status": {"conditions": conditions}})
    assert (node.is_ready, node.ready_changed_at_s) == (False, NOON_S)


def test_node_that_goes() -> None:
    assert node_fact({"metadata": {"deletionTimestamp": NOON}}).is_deleting


def test_facts_cannot_be_changed() -> None:
    node = node_fact({"metadata": {"labels": {"zone": "a"}}, "status": {"allocatable": {"cpu": 1}}})
    for mapping in (node.labels, node.allocatable):
        with pytest.raises(TypeError):
            mapping["zone"] = "b"  # type: ignore[index]


def test_pod() -> None:
    pod = pod_fact(
        {
            "metadata": {
                "namespace": "shop",
                "name": "word-count-split-0-1",
                "uid": "u2",
                "resourceVersion": "77",
                "labels": {"app": "x"},
                "annotations": {"note": "y"},
                "creationTimestamp": NOON,
                "ownerReferences": [
                    {"uid": "someone"},
                    {"uid": "vertex", "controller": True},
                ],
            },
            "spec": {
                "nodeName": "a-0",
                "containers": [{"resources": {"requests": {"cpu": "250m"}}}],
            },
            "status": {
                "phase": "Running",
                "podIP": "10.0.0.1",
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )
    assert pod == PodFact(
        namespace="shop",
        name="word-count-split-0-1",
        uid="u2",
        resource_version="77",
        labels={"app": "x"},
        annotations={"note": "y"},
        owner_uid="vertex",
        node="a-0",
        phase="Running",
        is_ready=True,
        is_deleting=False,
        created_at_s=NOON_S,
        requests={"cpu": 0.25, "pods": 1.0},
        is_unschedulable=False,
        unschedulable_since_s=None,
        pod_ip="10.0.0.1",
        failure="",
    )


def scheduled(status: str, reason: str = "") -> Mapping[str, object]:
    return {
        "type": "PodScheduled",
        "status": status,
        "reason": reason,
        "lastTransitionTime": NOON,
    }


@pytest.mark.parametrize(
    ("condition", "node", "since_s"),
    [
        (scheduled("False", "Unschedulable"), None, NOON_S),
        (scheduled("False", "SchedulingGated"), None, None),
        (scheduled("True"), "a-0", None),
        (scheduled("False", "Unschedulable"), "a-0", None),
    ],
    ids=["fits nowhere", "held back on purpose", "bound", "bound since"],
)
def test_unschedulable(
    condition: Mapping[str, object], node: str | None, since_s: float | None
) -> None:
    pod = pod_fact({"spec": {"nodeName": node}, "status": {"conditions": [condition]}})
    assert pod.is_unschedulable is (since_s is not None)
    assert pod.unschedulable_since_s == since_s


def waiting(reason: str, *, before: str = "") -> Mapping[str, object]:
    last = {"lastState": {"terminated": {"reason": before}}} if before else {}
    return {"state": {"waiting": {"reason": reason}}, **last}


def ended(reason: str, code: int) -> Mapping[str, object]:
    return {"state": {"terminated": {"reason": reason, "exitCode": code}}}


RUNNING: Mapping[str, object] = {"state": {"running": {}}}
OOM_BEFORE: Mapping[str, object] = {**RUNNING, "lastState": {"terminated": {"reason": "OOMKilled"}}}
READY: Mapping[str, object] = {"type": "Ready", "status": "True"}


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"containerStatuses": [ended("OOMKilled", 137)]}, "OOMKilled"),
        ({"containerStatuses": [RUNNING, waiting("ImagePullBackOff")]}, "ImagePullBackOff"),
        (
            {"containerStatuses": [waiting("CrashLoopBackOff", before="OOMKilled")]},
            "CrashLoopBackOff (OOMKilled)",
        ),
        ({"containerStatuses": [OOM_BEFORE]}, "OOMKilled"),
        ({"containerStatuses": [OOM_BEFORE], "conditions": [READY]}, ""),
        ({"containerStatuses": [waiting("ContainerCreating")]}, ""),
        (
            {
                "initContainerStatuses": [ended("Completed", 0), ended("Error", 1)],
                "containerStatuses": [waiting("PodInitializing")],
            },
            "Error",
        ),
        ({"initContainerStatuses": [ended("Completed", 0)], "containerStatuses": [RUNNING]}, ""),
        ({"phase": "Succeeded", "containerStatuses": [ended("Completed", 0)]}, ""),
        ({"phase": "Running", "containerStatuses": [ended("Completed", 0)]}, "Completed"),
        ({"conditions": [scheduled("False", "Unschedulable")]}, "Unschedulable"),
        (
            {
                "phase": "Failed",
                "conditions": [
                    {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
                ],
            },
            "TerminationByKubelet",
        ),
        ({"phase": "Pending"}, ""),
    ],
)
def test_failure_says_what_is_wrong(status: Mapping[str, object], failure: str) -> None:
    assert pod_fact({"status": status}).failure == failure


STRANGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "spec",
                    "status",
                    "labels",
                    "conditions",
                    "type",
                    "containers",
                    "resources",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), STRANGE, max_size=3))
def test_strange_objects_are_read_as_not_ready(obj: Mapping[str, object]) -> None:
    node, pod = node_fact(obj), pod_fact(obj)
    assert not node.is_ready
    assert not pod.is_ready
    assert pod.requests == {"pods": 1.0}
