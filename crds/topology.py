"""StreamTopology: what a user writes."""

from crds.pod_template import pod_template
from crds.schema import Schema, flag, label_rule, many, record, rule, text, whole, word
from crds.topology_policy import (
    MODES,
    disruption,
    grouping_policy,
    hibernation,
    metrics,
    placement,
    scaling,
)
from crds.topology_status import status

MAX_TOPOLOGY_NAME = 30
MAX_VERTEX_NAME = 20
MAX_VERTICES = 64
MAX_EDGES = 256
MAX_REPLICAS = 1024
STRATEGIES = (
    "Auto",
    "MdStream",
    "HdStream",
    "NsStream",
    "SgpStream",
    "RaStream",
    "Even",
    "ResourceAware",
)
GROUPINGS = (
    "Shuffle",
    "Fields",
    "PartialKey",
    "WChoices",
    "Weighted",
    "NearSource",
    "LoadAwareLocal",
    "Broadcast",
    "Global",
)


def topology() -> Schema:
    """The whole object."""
    return record(
        "A stream topology: vertices, the edges between them, and how far Thalweg may go in "
        "placing, scaling and routing their tasks.",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": status(),
        },
        required=("spec",),
        rules=(
            rule(
                f"size(self.metadata.name) <= {MAX_TOPOLOGY_NAME}",
                f"choose a name of at most {MAX_TOPOLOGY_NAME} characters: pod names are made "
                "from it",
            ),
            rule(
                "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
                "the name must start with a lower-case letter and use only lower-case letters, "
                "digits and dashes: pod names are made from it",
            ),
        ),
    )


def _spec() -> Schema:
    return record(
        "What should run, and within which bounds Thalweg may change it.",
        {
            "strategy": word(
                "How placement, scaling and grouping are decided. `Auto` is our own search and "
                "scaler: it takes what costs least, staying put included. Those that end in "
                "`Stream` are one published scheduler each. `Even` spreads tasks evenly, "
                "`ResourceAware` fills nodes by requests.",
                STRATEGIES,
                default="Auto",
            ),
            "mode": word(
                "How far Thalweg may go in changing a running topology. `Off` decides nothing. "
                "`Recommend` decides and says so. `Approve` carries a plan out once its "
                "StreamPlan has `approved: true`. `Auto` carries it out. In every mode the first "
                "tasks are made, lost ones replaced and changed templates rolled out. Quote "
                '"Off" in YAML, which otherwise reads it as false.',
                MODES,
                default="Recommend",
            ),
            "suspend": flag(
                "Stop all tasks, and keep what is needed to start them again as they were.",
                default=False,
            ),
            "vertices": many(
                "The steps of the topology.",
                _vertex(),
                least=1,
                most=MAX_VERTICES,
                keys=("name",),
            ),
            "edges": many(
                "The streams between vertices. They must not form a cycle.",
                _edge(),
                most=MAX_EDGES,
                keys=("from", "to"),
                default=[],
            ),
            "placement": placement(),
            "scaling": scaling(),
            "grouping": grouping_policy(),
            "hibernation": hibernation(),
            "disruption": disruption(),
            "metrics": metrics(),
        },
        required=("vertices",),
        rules=_edge_ends(),
    )


def _edge_ends() -> tuple[Schema, Schema]:
    # A message that names the vertex would exceed CEL's cost budget: the estimate does not see
    # that what `filter` returns is bounded.
    return (
        rule(
            "!has(self.edges) || self.edges.all(e, self.vertices.exists(v, v.name == e.from))",
            "every edge must start at a vertex of this topology; add the vertex or correct `from`",
        ),
        rule(
            "!has(self.edges) || self.edges.all(e, self.vertices.exists(v, v.name == e.to))",
            "every edge must end at a vertex of this topology; add the vertex or correct `to`",
        ),
    )


def vertex_name(description: str, *rules: Schema) -> Schema:
    """A vertex's name, or a mention of it."""
    return text(
        description,
        min_length=1,
        max_length=MAX_VERTEX_NAME,
        rules=(label_rule("a vertex name"), *rules),
    )


def _vertex() -> Schema:
    return record(
        "One step of the topology, run by a number of equal tasks.",
        {
            "name": vertex_name(
                "The vertex's name. Pods are called `<topology>-<vertex>-<index>-<incarnation>`."
            ),
            "replicas": _replicas(),
            "template": pod_template(),
            "rollout": _rollout(),
        },
        required=("name", "template"),
    )


def _rollout() -> Schema:
    return record(
        "How a changed template reaches running tasks.",
        {
            "maxSurge": whole(
                "How many tasks are replaced at the same time; each new pod is ready before its "
                "predecessor leaves.",
                least=1,
                most=MAX_REPLICAS,
                default=1,
            )
        },
        default={},
    )


def _replicas() -> Schema:
    return record(
        "How many tasks run this vertex.",
        {
            "min": whole("Never fewer tasks than this.", least=1, most=MAX_REPLICAS, default=1),
            "max": whole(
                "Never more tasks than this. Unset, the number of tasks does not grow: the larger "
                "of `min` and `initial`.",
                least=1,
                most=MAX_REPLICAS,
            ),
            "initial": whole(
                "How many tasks to begin with. Unset, `min`. Later changes have no effect.",
                least=1,
                most=MAX_REPLICAS,
            ),
        },
        default={"min": 1},
        rules=(
            rule(
                "!has(self.max) || self.min <= self.max",
                "replicas.min must not be larger than replicas.max; lower min or raise max",
            ),
            rule(
                "!has(self.initial) || self.initial >= self.min",
                "replicas.initial must not be smaller than replicas.min; raise initial or lower "
                "min",
            ),
            rule(
                "!has(self.initial) || !has(self.max) || self.initial <= self.max",
                "replicas.initial must not be larger than replicas.max; lower initial or raise max",
            ),
        ),
    )


def _edge() -> Schema:
    return record(
        "A stream from one vertex to another. Two vertices have at most one.",
        {
            "from": vertex_name("The vertex that sends."),
            "to": vertex_name("The vertex that receives."),
            "grouping": _grouping(),
        },
        required=("from", "to"),
        rules=(
            rule(
                "self.from != self.to",
                "a vertex cannot send to itself; remove the edge or name another vertex",
            ),
        ),
    )


def _grouping() -> Schema:
    return record(
        "Which of the receiving tasks gets a tuple.",
        {
            "type": word(
                "`Shuffle`: any, in turn. `Fields`: the same keys always to the same task. "
                "`PartialKey`: each key to one of two tasks, the less busy one. `WChoices`: the "
                "same, but the most frequent keys to any task. `Weighted`: by the shares that the "
                "plan gives. `NearSource`: those on the sender's node first, then in its domain. "
                "`LoadAwareLocal`: near ones unless they are busy. `Broadcast`: all. `Global`: the "
                "first task only.",
                GROUPINGS,
                default="Shuffle",
            ),
            "keys": many(
                "The fields of a tuple whose values decide, for `Fields`, `PartialKey` and "
                "`WChoices`.",
                text("A field of the tuple.", min_length=1, max_length=63),
                least=1,
                most=16,
                kind="set",
            ),
        },
        default={"type": "Shuffle"},
        rules=(
            rule(
                "!(self.type in ['Fields', 'PartialKey', 'WChoices']) || has(self.keys)",
                "name the fields to group by: grouping types Fields, PartialKey and WChoices need "
                "keys, for example keys: [word]",
            ),
            rule(
                "self.type in ['Fields', 'PartialKey', 'WChoices'] || !has(self.keys)",
                "remove keys, or choose grouping type Fields, PartialKey or WChoices: no other "
                "type uses them",
            ),
        ),
    )
