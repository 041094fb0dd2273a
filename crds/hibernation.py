"""NodeHibernation: the intent and state of one sleeping node."""

from crds.schema import IMMUTABLE, Schema, conditions, flag, moment, record, rule, text, whole, word
from crds.topology_status import observed_generation


def hibernation() -> Schema:
    """The whole object."""
    return record(
        "That one node should sleep, or wake, and how far that is. Thalweg writes it before it "
        "does anything to the node. Set `desired: Awake` to wake a node by hand.",
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
                "self.metadata.name == self.spec.node",
                "a NodeHibernation must have the name of its node",
            ),
        ),
    )


def _spec() -> Schema:
    return record(
        "What should become of the node.",
        {
            "node": text(
                "The node.",
                min_length=1,
                rules=(rule(IMMUTABLE, "make another NodeHibernation for another node"),),
            ),
            "desired": word("Whether the node should sleep.", ("Asleep", "Awake")),
            "actuator": {
                **word(
                    "What puts it to sleep. `Cordon` only keeps pods away; `Job` runs the command "
                    "of the operator's settings.",
                    ("Cordon", "Job"),
                    default="Cordon",
                ),
                "x-kubernetes-validations": [
                    rule(
                        IMMUTABLE,
                        "a node is woken by what put it to sleep; wake it first, then choose "
                        "another actuator",
                    )
                ],
            },
            "reason": text("One CamelCase word for why.", max_length=128),
            "message": text("Why, in a sentence.", max_length=1024),
            "timeoutSeconds": whole(
                "Undo what was begun when it takes longer than this.",
                least=30,
                most=86_400,
                default=600,
            ),
        },
        required=("node", "desired"),
    )


def _status() -> Schema:
    return record(
        "How far it is.",
        {
            "observedGeneration": observed_generation(),
            "conditions": conditions(("Cordoned", "Drained", "Asleep", "Degraded")),
            "state": word(
                "Where the node stands between awake and asleep.",
                ("Awake", "Cordoned", "Draining", "Sleeping", "Asleep", "Waking", "Failed"),
            ),
            "since": moment("Since when."),
            "deadline": moment("When the present transition is undone."),
            "cordonedBefore": flag("Somebody else had cordoned the node: leave it so on waking."),
            "job": text("The Job that runs the power command, as namespace/name.", max_length=317),
        },
    )
