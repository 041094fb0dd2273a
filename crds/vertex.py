"""StreamVertex: one vertex of a topology, written by the operator, scaled by anyone."""

from crds.schema import (
    IMMUTABLE,
    Schema,
    conditions,
    many,
    record,
    rule,
    text,
    whole,
)
from crds.topology import MAX_REPLICAS, MAX_TOPOLOGY_NAME, vertex_name
from crds.topology_status import count, observed_generation

_OUT_OF_BOUNDS = (
    "'replicas must be between min and max of this vertex; to go further, change replicas.min or "
    "replicas.max of vertex ' + self.vertex + ' in StreamTopology ' + self.topology"
)


def vertex() -> Schema:
    """The whole object."""
    return record(
        "One vertex of a StreamTopology. Thalweg makes it; `kubectl scale`, a "
        "HorizontalPodAutoscaler or KEDA may set its replicas within the topology's bounds.",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
        required=("spec",),
        rules=(
            rule(
                "self.metadata.name == self.spec.topology + '-' + self.spec.vertex",
                "a StreamVertex is made by Thalweg and called <topology>-<vertex>; edit the "
                "StreamTopology instead",
            ),
        ),
    )


def _spec() -> Schema:
    return record(
        "What the topology says about this vertex, pod template apart. Only `replicas` is for "
        "others to write.",
        {
            "topology": text(
                "The StreamTopology that this is a vertex of.",
                min_length=1,
                max_length=MAX_TOPOLOGY_NAME,
                rules=(rule(IMMUTABLE, "a StreamVertex cannot change its topology"),),
            ),
            "vertex": vertex_name(
                "The vertex's name in the topology.",
                rule(IMMUTABLE, "a StreamVertex cannot change its name in the topology"),
            ),
            "replicas": whole("How many tasks should run.", least=0, most=MAX_REPLICAS),
            "min": whole("Never fewer tasks than this.", least=1, most=MAX_REPLICAS),
            "max": whole("Never more tasks than this.", least=1, most=MAX_REPLICAS),
        },
        required=("topology", "vertex", "replicas", "min", "max"),
        rules=(
            rule("self.min <= self.max", "min must not be larger than max"),
            rule(
                "self.replicas >= self.min && self.replicas <= self.max",
                "replicas must be between min and max; change them in the StreamTopology",
                tell=_OUT_OF_BOUNDS,
            ),
        ),
    )


def _status() -> Schema:
    return record(
        "What is so now, as far as Thalweg knows.",
        {
            "observedGeneration": observed_generation(),
            "conditions": conditions(("Ready", "ScalingLimited")),
            "replicas": count("Tasks that have a pod.", MAX_REPLICAS),
            "readyReplicas": count("Tasks whose pod is ready.", MAX_REPLICAS),
            "updatedReplicas": count("Tasks whose pod has the newest template.", MAX_REPLICAS),
            "selector": text(
                "Selects the active pods of this vertex; for the scale subresource.",
                max_length=1024,
            ),
            "templateHash": text("Hash of the newest template.", max_length=63),
            "nextIncarnation": whole(
                "The number that the next pod gets; written before the pod is made.",
                least=0,
                most=2**53,
            ),
            "tasks": many(
                "The tasks and the pods they have.",
                _task(),
                most=MAX_REPLICAS,
                keys=("index",),
            ),
        },
    )


def _task() -> Schema:
    return record(
        "One task.",
        {
            "index": whole("The task's number in the vertex.", least=0, most=MAX_REPLICAS - 1),
            "incarnation": whole(
                "The number of the pod that is the task now.", least=0, most=2**53
            ),
            "node": text("The node that the plan gave it."),
            "domain": text("The domain of that node.", max_length=63),
            "templateHash": text("Hash of the template that its pod was made of.", max_length=63),
        },
        required=("index", "incarnation"),
    )
