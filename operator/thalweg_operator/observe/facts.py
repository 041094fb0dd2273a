"""Nodes and pods as the loop sees them: what a decision needs of an API object, and no more."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.reading import (
    labels_at,
    mapping_at,
    mappings_at,
    word_at,
)
from thalweg_operator.observe.requests import quantities, requests_of

_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons for waiting that every healthy pod passes through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A node's wish to be left alone by pods that do not tolerate it."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    """One node."""

    name: str
    uid: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    is_cordoned: bool
    is_ready: bool
    ready_changed_at_s: float | None
    """When the Ready condition last turned, in epoch seconds."""
    allocatable: Mapping[str, float]
    """cpu in cores, memory and ephemeral-storage in bytes, pods and others in pieces."""
    is_deleting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFact:
    """One pod, ours or foreign."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner_uid: str | None
    """The controller's; a pod without one belongs to nobody."""
    node: str | None
    phase: str
    is_ready: bool
    is_deleting: bool
    created_at_s: float
    requests: Mapping[str, float]
    is_unschedulable: bool
    unschedulable_since_s: float | None
    pod_ip: str | None
    failure: str
    """Why it failed or is not ready, in a word or two; empty where nothing is wrong."""


def node_fact(obj: Mapping[str, object]) -> NodeFact:
    """Parse a Node; one without a Ready condition is not ready."""
    ready = _condition(obj, "Ready")
    return NodeFact(
        name=word_at(obj, "metadata", "name"),
        uid=word_at(obj, "metadata", "uid"),
        labels=labels_at(obj, "metadata", "labels"),
        taints=tuple(_taint(item) for item in mappings_at(obj, "spec", "taints")),
        is_cordoned=mapping_at(obj, "spec").get("unschedulable") is True,
        is_ready=word_at(ready, "status") == "True",
        ready_changed_at_s=_epoch_or_none(word_at(ready, "lastTransitionTime")),
        allocatable=MappingProxyType(quantities(mapping_at(obj, "status", "allocatable"))),
        is_deleting=_is_deleting(obj),
    )


def pod_fact(obj: Mapping[str, object]) -> PodFact:
    """Parse a Pod."""
    scheduled = _condition(obj, "PodScheduled")
    node = word_at(obj, "spec", "nodeName") or None
    is_unschedulable = node is None and _is_false(scheduled, reason="Unschedulable")
    since_s = _epoch_or_none(word_at(scheduled, "lastTransitionTime"))
    return PodFact(
        namespace=word_at(obj, "metadata", "namespace"),
        name=word_at(obj, "metadata", "name"),
        uid=word_at(obj, "metadata", "uid"),
        resource_version=word_at(obj, "metadata", "resourceVersion"),
        labels=labels_at(obj, "metadata", "labels"),
        annotations=labels_at(obj, "metadata", "annotations"),
        owner_uid=_controller_uid(obj),
        node=node,
        phase=word_at(obj, "status", "phase"),
        is_ready=_is_pod_ready(obj),
        is_deleting=_is_deleting(obj),
        created_at_s=_epoch_or_none(word_at(obj, "metadata", "creationTimestamp")) or 0.0,
        requests=requests_of(mapping_at(obj, "spec")),
        is_unschedulable=is_unschedulable,
        unschedulable_since_s=since_s if is_unschedulable else None,
        pod_ip=word_at(obj, "status", "podIP") or None,
        failure=_failure(obj),
    )


def tasks_in(pod: PodFact) -> tuple[TaskKey, ...]:
    """The tasks that a pod of ours runs; none for one whose labels somebody has spoilt."""
    return naming.tasks_of(pod.labels, pod.annotations)


def epoch_s(text: str) -> float:
    """Epoch seconds of an RFC 3339 time, with or without a fraction."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"a time without a zone: {text!r}")
    return moment.timestamp()


def _epoch_or_none(text: str) -> float | None:
    try:
        return epoch_s(text)
    except ValueError:
        return None


def _taint(item: Mapping[str, object]) -> Taint:
    return Taint(
        key=word_at(item, "key"), value=word_at(item, "value"), effect=word_at(item, "effect")
    )


def _condition(obj: Mapping[str, object], kind: str) -> Mapping[str, object]:
    for condition in mappings_at(obj, "status", "conditions"):
        if condition.get("type") == kind:
            return condition
    return {}


def _is_false(condition: Mapping[str, object], *, reason: str) -> bool:
    return word_at(condition, "status") == "False" and word_at(condition, "reason") == reason


def _is_deleting(obj: Mapping[str, object]) -> bool:
    return bool(word_at(obj, "metadata", "deletionTimestamp"))


def _is_pod_ready(obj: Mapping[str, object]) -> bool:
    return word_at(_condition(obj, "Ready"), "status") == "True"


def _controller_uid(obj: Mapping[str, object]) -> str | None:
    for owner in mappings_at(obj, "metadata", "ownerReferences"):
        if owner.get("controller") is True:
            return word_at(owner, "uid") or None
    return None


def _failure(obj: Mapping[str, object]) -> str:
    """The most telling of the reasons that the kubelet and the scheduler left in the status."""
    if word_at(obj, "status", "phase") == "Succeeded" or _is_pod_ready(obj):
        return ""
    return next(filter(None, _reasons(obj)), "")


def _reasons(obj: Mapping[str, object]) -> Iterator[str]:
    yield word_at(obj, "status", "reason")
    for status in mappings_at(obj, "status", "initContainerStatuses"):
        # An init container that has ended well has done its work.
        if mapping_at(status, "state", "terminated").get("exitCode") != 0:
            yield _container_failure(status)
    for status in mappings_at(obj, "status", "containerStatuses"):
        yield _container_failure(status)
    disrupted = _condition(obj, "DisruptionTarget")
    if word_at(disrupted, "status") == "True":
        yield word_at(disrupted, "reason")
    scheduled = _condition(obj, "PodScheduled")
    if word_at(scheduled, "status") == "False":
        yield word_at(scheduled, "reason")


def _container_failure(status: Mapping[str, object]) -> str:
    waiting = word_at(status, "state", "waiting", "reason")
    ended = word_at(status, "state", "terminated", "reason")
    ended_before = word_at(status, "lastState", "terminated", "reason")
    if waiting in _STARTING:
        return ended or ended_before
    # A back-off alone does not say what it backs off from.
    return f"{waiting} ({ended_before})" if ended_before else waiting
