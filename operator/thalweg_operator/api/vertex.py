"""StreamVertex as values: its spec, and the part of its status that pods are counted by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg_operator.api.fields import as_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamVertex:
    """One StreamVertex as the API server has it."""

    topology: str
    vertex: str
    replicas: int
    min: int
    max: int
    next_incarnation: int = 0
    """The number that the next pod gets; written before the pod is made."""


def parse_vertex(body: Mapping[str, Any]) -> StreamVertex:
    """The value of a whole StreamVertex; InvalidManifest where it cannot be read."""
    fields = as_fields(body, "")
    spec, status = fields.below("spec"), fields.below("status")
    return StreamVertex(
        topology=spec.text("topology"),
        vertex=spec.text("vertex"),
        replicas=spec.whole("replicas"),
        min=spec.whole("min"),
        max=spec.whole("max"),
        next_incarnation=status.whole("nextIncarnation", 0),
    )
