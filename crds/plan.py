"""StreamPlan: one decision, from proposal to what was measured afterwards."""

from crds.schema import IMMUTABLE, Schema, conditions, flag, many, moment, record, rule, text, whole
from crds.topology import MAX_REPLICAS, MAX_TOPOLOGY_NAME
from crds.topology_status import count, observed_generation

# A plan is at most 512 KiB, which the operator checks; the bounds only keep lists finite.
_MOST_ASSIGNMENTS = 16_384
_FIXED = (rule(IMMUTABLE, "a StreamPlan is a record; only spec.approved can be changed"),)


def plan() -> Schema:
    """The whole object."""
    return record(
        "One decision about a StreamTopology: what, why, what it promises, whether it was "
        "approved, and what came of it. Thalweg makes it; only `spec.approved` is for others.",
        {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        },
        required=("spec",),
    )


def _fixed(schema: Schema) -> Schema:
    return {**schema, "x-kubernetes-validations": [dict(one) for one in _FIXED]}


def _spec() -> Schema:
    fields = {name: _fixed(schema) for name, schema in (_origin() | _changes()).items()}
    fields["approved"] = flag(
        "Set to true to have the plan carried out, where the mode is `Approve`.", default=False
    )
    required = ("topology", "generation", "fingerprint", "decidedAt", "strategy", "summary")
    return record("The decision.", fields, required=required)


def _origin() -> dict[str, Schema]:
    return {
        "topology": text(
            "The StreamTopology it is about.", min_length=1, max_length=MAX_TOPOLOGY_NAME
        ),
        "generation": whole(
            "The generation of the StreamTopology that was decided on.", least=1, most=2**53
        ),
        "fingerprint": text(
            "Hash of the pods and nodes that were decided on. An approval lapses when they change.",
            max_length=128,
        ),
        "decidedAt": moment("When it was decided."),
        "strategy": text("The strategy that won.", max_length=63),
        "summary": text("The whole plan in one line.", max_length=256),
        "reasons": many("Why, most important first.", _reason(), most=64, default=[]),
        "predicted": {**prediction("What the plan promises."), "default": {}},
        "compared": many(
            "What else was considered, best first.", _alternative(), most=32, default=[]
        ),
    }


def _changes() -> dict[str, Schema]:
    return {
        "replicas": many(
            "Vertices whose number of tasks changes.",
            _replicas(),
            most=64,
            keys=("vertex",),
            default=[],
        ),
        "moves": many(
            "Moves, in the order in which they are possible.",
            _move(),
            most=_MOST_ASSIGNMENTS,
            default=[],
        ),
        "assignments": many(
            "The node of every task once the plan is carried out.",
            _assignment(),
            most=_MOST_ASSIGNMENTS,
            default=[],
        ),
        "weights": many(
            "The share of an edge's stream that each receiving task gets.",
            _weights(),
            most=256,
            default=[],
        ),
        "asleep": many(
            "Nodes that may sleep once the plan is carried out.",
            text("A node."),
            most=1000,
            default=[],
        ),
    }


def _reason() -> Schema:
    return record(
        "One reason.",
        {
            "reason": text("One CamelCase word.", max_length=128),
            "message": text("A sentence.", max_length=1024),
        },
        required=("reason", "message"),
    )


def _replicas() -> Schema:
    return record(
        "A change in the number of tasks.",
        {
            "vertex": text("The vertex.", max_length=20),
            "from": whole("Tasks before.", least=0, most=MAX_REPLICAS),
            "to": whole("Tasks afterwards.", least=0, most=MAX_REPLICAS),
        },
        required=("vertex", "from", "to"),
    )


def _task_name() -> Schema:
    return text("The task, as <vertex>-<index>.", max_length=32)


def _move() -> Schema:
    return record(
        "One task leaves a node for another.",
        {
            "task": _task_name(),
            "from": text("The node it leaves."),
            "to": text("The node it goes to."),
        },
        required=("task", "from", "to"),
    )


def _assignment() -> Schema:
    return record(
        "One task and its node.",
        {
            "task": _task_name(),
            "node": text("The node."),
            "process": whole(
                "The process it shares, where processes are shared.", least=0, most=65_535
            ),
        },
        required=("task", "node"),
    )


def _weights() -> Schema:
    share = record(
        "One task's share.",
        {
            "task": _task_name(),
            "perMille": whole("Its share, in thousandths.", least=0, most=1000),
        },
        required=("task", "perMille"),
    )
    return record(
        "The shares of one edge.",
        {
            "from": text("The vertex that sends.", max_length=20),
            "to": text("The vertex that receives.", max_length=20),
            "shares": many("Each receiving task's share.", share, most=MAX_REPLICAS),
        },
        required=("from", "to", "shares"),
    )


def prediction(description: str) -> Schema:
    """The same figures before and after, so that they can be compared."""
    return record(
        description,
        {
            "latency": text("From source to sink, for example 18ms.", max_length=32),
            "throughput": text("Tuples that reach a sink, for example 12k/s.", max_length=32),
            "crossDomain": text("The share that crosses between domains.", max_length=32),
            "busiestNode": text("Utilisation of the busiest node.", max_length=32),
            "nodes": count("Nodes used.", 100_000),
            "cost": text("The objective J, tuples/s × seconds.", max_length=32),
            "costBefore": text("J of what runs now.", max_length=32),
            "gain": text("How much less J, for example 12%.", max_length=32),
        },
    )


def _alternative() -> Schema:
    return record(
        "A plan that was not taken.",
        {
            "strategy": text("The strategy that proposed it.", max_length=63),
            "cost": text("Its J.", max_length=32),
            "message": text("Why it was not taken.", max_length=1024),
        },
        required=("strategy", "message"),
    )


def _status() -> Schema:
    return record(
        "What came of it.",
        {
            "observedGeneration": observed_generation(),
            "conditions": conditions(("Applied", "Verified")),
            "startedAt": moment("When the first step was taken."),
            "appliedAt": moment("When the last step was done."),
            "stepsDone": count("Steps that are done."),
            "stepsTotal": count("Steps in all."),
            "measured": prediction("What was measured afterwards."),
            "rolledBackTo": text(
                "The StreamPlan that took its place, where it did not prove good."
            ),
        },
    )
