"""The routes file: parsed once, watched for ever (docs/routes.schema.json)."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thalweg_runtime.worker.errors import InvalidRoutes
from thalweg_runtime.worker.frames import Peer
from thalweg_scheduling.group.receivers import Origin, Receiver, Senders
from thalweg_scheduling.model.graph import GroupingType


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A task that can be sent to."""

    receiver: Receiver
    incarnation: int
    address: str

    @property
    def key(self) -> tuple[str, int]:
        """The pod of a task; a new incarnation is somebody else."""
        return self.receiver.name, self.incarnation

    @property
    def peer(self) -> Peer:
        """As it is told to other tasks of the vertex."""
        return Peer(*self.key, self.address, self.receiver.key_groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRoutes:
    """One out-edge."""

    to: str
    grouping: GroupingType
    keys: tuple[str, ...]
    targets: tuple[Target, ...]
    senders: Senders = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """All out-edges of a vertex."""

    version: int
    edges: tuple[EdgeRoutes, ...]


NO_ROUTES = Routes(version=0, edges=())


def parse_routes(text: str) -> Routes:
    """Read the document; InvalidRoutes if it is none."""
    try:
        found = json.loads(text)
        edges = tuple(_edge(edge) for edge in found["edges"])
        return Routes(version=int(found["version"]), edges=edges)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidRoutes(f"the routes cannot be understood: {error!r}") from error


def _edge(edge: Mapping[str, Any]) -> EdgeRoutes:
    grouping = edge["grouping"]
    return EdgeRoutes(
        to=str(edge["to"]),
        grouping=GroupingType(grouping["type"]),
        keys=tuple(str(key) for key in grouping.get("keys") or ()),
        targets=tuple(_target(task) for task in edge["tasks"]),
        senders=_senders(edge.get("senders") or ()),
    )


def _senders(found: Sequence[Mapping[str, Any]]) -> Senders:
    counts: dict[Origin, int] = {}
    for one in found:
        place = Origin(node=str(one["node"]), domain=str(one.get("domain", "")))
        counts[place] = counts.get(place, 0) + max(0, int(one["tasks"]))
    return MappingProxyType(counts)


def _target(task: Mapping[str, Any]) -> Target:
    receiver = Receiver(
        name=str(task["name"]),
        node=str(task["node"]),
        domain=str(task["domain"]),
        weight=_weight(task["weight"]),
        key_groups=_ranges(task.get("keyGroups") or ()),
    )
    return Target(
        receiver=receiver, incarnation=int(task["incarnation"]), address=str(task["address"])
    )


def _weight(found: float) -> float:
    weight = float(found)
    if not 0 <= weight < math.inf:
        raise ValueError(f"a weight of {weight}")
    return weight


def _ranges(found: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(first), int(last)) for first, last in found)


class RoutesFile:
    """Says when the file has become another one.

    The kubelet puts a new file in place by moving a link, so the path is looked up anew each time.
    """

    def __init__(self, path: Path) -> None:
        """Nothing has been read yet."""
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def changed(self) -> str | None:
        """Return the text if it is new; None if it is the same, or not there."""
        try:
            found = self._path.stat()
            seen = found.st_mtime_ns, found.st_ino, found.st_size
            if seen == self._seen:
                return None
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        self._seen = seen
        return text
