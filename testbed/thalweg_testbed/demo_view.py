"""What `make demo` shows of a topology: a look at one moment, and what each decision changed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

_ZONE = "topology.kubernetes.io/zone"
_VERTEX = "thalweg.dev/vertex"
_UNKNOWN = "–"
_DECISIONS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened: done to the topology, or decided about it."""

    at_s: float
    text: str
    is_decision: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A topology at one moment."""

    at_s: float
    replicas: Mapping[str, int]
    by_domain: Mapping[str, Mapping[str, int]]
    """Domain to vertex to tasks."""
    ready: str
    offered_per_s: float
    latency_s: float | None
    cross_domain_share: float | None
    waiting_tuples: float
    """What could not be taken in yet."""
    decisions: tuple[Event, ...]
    """Oldest first."""

    def line(self) -> str:
        """For a terminal that is none."""
        where = " ".join(f"{name}:{sum(found.values())}" for name, found in self.by_domain.items())
        return f"tasks {self.ready} ({_counts(self.replicas)})  by domain {where}  {self.figures()}"

    def figures(self) -> str:
        """What flows, in words."""
        latency = _UNKNOWN if self.latency_s is None else f"{1000 * self.latency_s:.3g} ms"
        crossing = self.cross_domain_share
        share = _UNKNOWN if crossing is None else f"{100 * crossing:.0f} %"
        waiting = f", {self.waiting_tuples:.0f} waiting" if self.waiting_tuples >= 1 else ""
        offered = f"{self.offered_per_s:.0f} tuples/s come in"
        return f"{offered}{waiting}, latency {latency}, cross-domain {share}"

    def view(self, title: str) -> Group:
        """For a terminal that is one."""
        table = Table("domain", *self.replicas, title=title, min_width=60)
        for domain, found in self.by_domain.items():
            table.add_row(domain, *("■" * found.get(vertex, 0) for vertex in self.replicas))
        table.add_section()
        table.add_row(f"tasks {self.ready}", *(str(count) for count in self.replicas.values()))
        recent = (f"decided: {event.text}" for event in self.decisions[-_DECISIONS_SHOWN:])
        return Group(table, *(Text(line) for line in (self.figures(), *recent)))


def look(
    topology: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    nodes: Sequence[Mapping[str, Any]],
    flowing: Mapping[str, Any],
    at_s: float,
) -> Look:
    """Put together what the API server and the data plane say."""
    domains = {node["metadata"]["name"]: node["metadata"]["labels"][_ZONE] for node in nodes}
    vertices = [vertex["name"] for vertex in topology["spec"]["vertices"]]
    status = topology.get("status") or {}
    counts = Counter(
        (domains[pod["spec"]["nodeName"]], pod["metadata"]["labels"][_VERTEX])
        for pod in pods
        if _is_present(pod)
    )
    desired = {one["name"]: one.get("desired", 0) for one in status.get("vertices") or ()}
    return Look(
        at_s=at_s,
        replicas=desired or dict.fromkeys(vertices, 0),
        by_domain={
            domain: {vertex: counts[domain, vertex] for vertex in vertices}
            for domain in sorted(set(domains.values()))
        },
        ready=(status.get("tasks") or {}).get("summary", _UNKNOWN),
        offered_per_s=flowing.get("offered_per_s") or 0.0,
        latency_s=flowing.get("latency_s"),
        cross_domain_share=flowing.get("cross_domain_share"),
        waiting_tuples=flowing.get("backlog_tuples") or 0.0,
        decisions=tuple(
            Event(at_s=datetime.fromisoformat(one["at"]).timestamp(), text=one["message"])
            for one in reversed(status.get("decisions") or ())
        ),
    )


def summary(done: Sequence[Event], looks: Sequence[Look]) -> list[str]:
    """All that was done and decided, in order, each decision with what was before and after it."""
    if not looks:
        return []
    events = sorted((*done, *looks[-1].decisions), key=lambda event: event.at_s)
    began_s = events[0].at_s if events else 0.0
    lines = []
    for position, event in enumerate(events):
        clock = _clock(event.at_s - began_s)
        if not event.is_decision:
            lines.append(f"{clock}  ==> {event.text}")
            continue
        ends_s = events[position + 1].at_s if position + 1 < len(events) else float("inf")
        lines.append(f"{clock}  decided: {event.text}")
        earlier = [one for one in looks if one.at_s < event.at_s]
        later = [one for one in looks if event.at_s < one.at_s <= ends_s]
        # Decisions between two looks are told as one: before the first of them, after the last.
        begun_s = events[position - 1].at_s if position and events[position - 1].is_decision else 0
        if earlier and earlier[-1].at_s > begun_s:
            lines.append(f"         before: {earlier[-1].line()}")
        if later:
            lines.append(f"         after:  {later[-1].line()}")
    return lines


def _counts(replicas: Mapping[str, int]) -> str:
    return " ".join(f"{vertex}={count}" for vertex, count in replicas.items())


def _clock(seconds: float) -> str:
    """Minutes and seconds since the beginning.

    >>> _clock(83.4)
    ' 1:23'
    """
    return f"{int(seconds) // 60:2}:{int(seconds) % 60:02}"


def _is_present(pod: Mapping[str, Any]) -> bool:
    """Whether the pod is a task's present one: active, bound, not on its way out."""
    is_active = pod["metadata"]["labels"].get("thalweg.dev/state") == "active"
    return bool(
        is_active and pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    )
