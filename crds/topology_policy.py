"""The parts of a StreamTopology that say how far Thalweg may go."""

from crds.schema import Schema, many, record, rule, text, whole, word

MODES = ("Off", "Recommend", "Approve", "Auto")
_DAY_SECONDS = 86_400


def _own_mode(what: str) -> Schema:
    return word(f"How far Thalweg may go in {what}. Unset, as `spec.mode`.", MODES)


def _percent(description: str, *, least: int, default: int) -> Schema:
    return whole(description, least=least, most=100, default=default)


def _seconds(description: str, *, least: int, default: int) -> Schema:
    return whole(description, least=least, most=_DAY_SECONDS, default=default)


def placement() -> Schema:
    """Where tasks may run."""
    return record(
        "Where tasks may run.",
        {
            "mode": _own_mode("moving tasks"),
            "binding": word(
                "What a pod is bound to by required node affinity. `Node`: the node that the plan "
                "names. `Domain`: any node of its domain. Unset, `Domain` where cluster-autoscaler "
                "or Karpenter is found and `Node` elsewhere.",
                ("Node", "Domain"),
            ),
            "processes": word(
                "`Separate`: one task a pod. `Shared`: tasks of vertices with the same template "
                "may share a pod and hand tuples over in memory. It cannot change while pods run: "
                "suspend first.",
                ("Separate", "Shared"),
                default="Separate",
            ),
            "domainLabel": _domain_label(),
            "minDomains": whole(
                "Spread the tasks of each vertex over at least so many domains, as far as it has "
                "tasks.",
                least=1,
                most=64,
                default=1,
            ),
            "maxSharePercent": _percent(
                "At most this share of a vertex's tasks in one domain; one task is always allowed.",
                least=1,
                default=100,
            ),
            "minGainPercent": _percent(
                "Move tasks only when the plan promises at least this much less cost.",
                least=0,
                default=5,
            ),
        },
        default={},
    )


def _domain_label() -> Schema:
    return text(
        "The node label whose value is the node's domain.",
        min_length=1,
        max_length=317,
        default="topology.kubernetes.io/zone",
        rules=(
            rule(
                "self.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?"
                "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",
                "domainLabel must be the key of a node label, for example "
                "topology.kubernetes.io/zone",
            ),
        ),
    )


def scaling() -> Schema:
    """How the number of tasks may change."""
    return record(
        "How the number of tasks may change. Where a HorizontalPodAutoscaler targets a vertex, "
        "Thalweg leaves its number of tasks alone.",
        {
            "mode": _own_mode("changing the number of tasks"),
            "targetUtilizationPercent": {
                **_percent("How busy a task should be.", least=10, default=70),
                "maximum": 95,
            },
            "backlogSeconds": _seconds(
                "The time in which a backlog should be worked off.", least=1, default=180
            ),
            "scaleDownAfterSeconds": _seconds(
                "Take tasks away only after fewer have been enough for so long.",
                least=0,
                default=600,
            ),
            "cooldownSeconds": _seconds(
                "Wait so long after a change before the next one.", least=0, default=60
            ),
            "maxUpFactor": whole(
                "At most this many times as many tasks in one decision.",
                least=2,
                most=64,
                default=4,
            ),
            "maxDownPercent": _percent(
                "Take away at most this share of a vertex's tasks in one decision; one is always "
                "allowed.",
                least=1,
                default=100,
            ),
        },
        default={},
    )


def grouping_policy() -> Schema:
    """Whether shares of a stream may change."""
    return record(
        "How the shares of a stream may change.",
        {"mode": _own_mode("changing which task gets which share of a stream")},
        default={},
    )


def hibernation() -> Schema:
    """Whether nodes may sleep because of this topology."""
    return record(
        "Whether nodes that run this topology's tasks may be emptied and put to sleep. The "
        'operator\'s settings decide which nodes may sleep at all; here "Off" is a veto.',
        {"mode": _own_mode("emptying nodes that may sleep")},
        default={},
    )


def disruption() -> Schema:
    """How much may move at the same time."""
    return record(
        "How much may be under way at the same time.",
        {
            "budgets": many(
                "Limits on moves. Of those in force now, the smallest counts.",
                _budget(),
                least=1,
                most=16,
                default=[{"maxMoves": 2}],
            )
        },
        default={},
    )


def _budget() -> Schema:
    return record(
        "A limit on moves, always or at set times.",
        {
            "maxMoves": whole(
                "At most so many tasks of the topology on the move at the same time; 0 forbids "
                "moves.",
                least=0,
                most=1024,
            ),
            "schedule": text(
                "When the limit comes into force, as the five fields of cron: minute, hour, day of "
                "month, month, day of week. Unset, it is always in force.",
                max_length=100,
                min_length=9,
                rules=(
                    rule(
                        r"self.matches('^\\S+( \\S+){4}$')",
                        "schedule must have the five fields of cron, for example 0 22 * * 1-5",
                    ),
                ),
            ),
            "timeZone": text(
                "The time zone of `schedule`, for example Europe/Berlin. Unset, UTC.",
                max_length=64,
                min_length=1,
            ),
            "durationSeconds": whole(
                "How long the limit stays in force after each time of `schedule`.",
                least=60,
                most=7 * _DAY_SECONDS,
            ),
        },
        required=("maxMoves",),
        rules=(
            rule(
                "has(self.schedule) == has(self.durationSeconds)",
                "give both schedule and durationSeconds, or neither for a limit that always holds",
            ),
            rule(
                "!has(self.timeZone) || has(self.schedule)",
                "timeZone needs a schedule; add one or remove timeZone",
            ),
        ),
    )


def _setting_name(description: str, default: str) -> Schema:
    return text(
        description,
        min_length=1,
        max_length=63,
        default=default,
        rules=(
            rule(
                "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                "give the name of an entry in the operator's settings (lower-case letters, digits "
                "and dashes), not a URL or a query",
            ),
        ),
    )


def metrics() -> Schema:
    """Which measurements to decide by."""
    return record(
        "Which measurements to decide by. Addresses and queries are the operator's settings; a "
        "topology names them.",
        {
            "source": _setting_name("The metric source.", "default"),
            "preset": _setting_name("The set of queries.", "thalweg"),
            "staleAfterSeconds": whole(
                "Measurements older than this never move a task, take one away or put a node to "
                "sleep.",
                least=10,
                most=3600,
                default=45,
            ),
        },
        default={},
    )
