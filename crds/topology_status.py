"""What Thalweg says about a StreamTopology. No matrix is kept here."""

from crds.schema import Schema, conditions, many, moment, record, text, whole

_MOST_TASKS = 65_536
_CONDITIONS = (
    "Ready",
    "Valid",
    "Scheduled",
    "MetricsAvailable",
    "ScalingLimited",
    "PlacementOptimal",
    "Degraded",
)


def observed_generation() -> Schema:
    """The generation that the status is about."""
    return whole("The generation of the spec that this status is about.", least=0, most=2**53)


def count(description: str, most: int = _MOST_TASKS) -> Schema:
    """A number of things."""
    return whole(description, least=0, most=most)


def status() -> Schema:
    """The status subresource."""
    return record(
        "What is so now, as far as Thalweg knows.",
        {
            "observedGeneration": observed_generation(),
            "lastValidGeneration": whole(
                "The generation of the spec that is in force. Older than `observedGeneration` "
                "where `Valid` is False: that spec is kept in the ConfigMap "
                "`<topology>-last-valid`.",
                least=0,
                most=2**53,
            ),
            "conditions": conditions(_CONDITIONS),
            "tasks": _tasks(),
            "vertices": many(
                "The vertices in brief; each has a StreamVertex with more.",
                _vertex(),
                most=64,
                keys=("name",),
            ),
            "processes": many(
                "Which tasks share a pod, where `placement.processes` is `Shared`; written before "
                "the pod is made.",
                _process(),
                most=_MOST_TASKS,
                keys=("index",),
            ),
            "nextIncarnation": whole(
                "Above the number of every pod that was made; written before a pod is.",
                least=0,
                most=2**53,
            ),
            "measured": _measured(),
            "runningPlan": text("The StreamPlan in force."),
            "stablePlan": text("The last StreamPlan that proved good; where a roll-back goes."),
            "lastDecision": decision("The last decision that changed or proposed something."),
            "decisions": many("The last ten decisions, newest first.", decision(), most=10),
        },
    )


def _tasks() -> Schema:
    return record(
        "The tasks of all vertices together.",
        {
            "desired": count("Tasks that should run."),
            "ready": count("Tasks that run and are ready."),
            "summary": text("`ready`/`desired`, for the table.", max_length=32),
        },
    )


def _vertex() -> Schema:
    return record(
        "One vertex in brief.",
        {
            "name": text("The vertex.", max_length=20),
            "desired": count("Tasks that should run."),
            "ready": count("Tasks that run and are ready."),
            "domains": count("Domains in which its tasks run."),
        },
        required=("name",),
    )


def _process() -> Schema:
    return record(
        "Tasks that share a pod.",
        {
            "index": whole(
                "The process's number: its pods are called `<topology>-p<index>-<incarnation>`.",
                least=0,
                most=_MOST_TASKS - 1,
            ),
            "tasks": many(
                "The tasks, as metrics and plans call them.",
                text("A task.", max_length=32),
                most=_MOST_TASKS,
            ),
        },
        required=("index", "tasks"),
    )


def _measured() -> Schema:
    return record(
        "What was measured, as shown in the table; written at most once a minute.",
        {
            "at": moment("When it was measured."),
            "latency": text("From source to sink, for example 18ms.", max_length=32),
            "throughput": text("Tuples that reached a sink, for example 12k/s.", max_length=32),
            "crossDomain": text(
                "The share of tuples that crossed between domains, for example 6%.", max_length=32
            ),
            "awake": text(
                "Nodes awake of those this topology may use, for example 7/12.", max_length=32
            ),
        },
    )


def decision(description: str = "One decision.") -> Schema:
    """A decision in one line; the StreamPlan has the whole."""
    return record(
        description,
        {
            "at": moment("When it was taken."),
            "reason": text("One CamelCase word.", max_length=128),
            "message": text("What was decided and why, in one line.", max_length=1024),
            "plan": text("The StreamPlan that holds the whole of it."),
        },
        required=("at", "reason", "message"),
    )
