"""Who a process is (told by the operator) and what it does (told by the user)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg_runtime.worker.errors import InvalidSettings

DATA_PORT = 7400
HTTP_PORT = 8080
TURN_S = 0.001
"""So long a task works before others have their turn: each turn costs some system calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdentity:
    """One task of the process."""

    vertex: str
    task: str
    incarnation: int
    routes: Path | None
    """None at a sink."""

    @property
    def index(self) -> int:
        """The number at the end of the name."""
        return int(self.task.rpartition("-")[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A pod that this one takes tasks over from. All tasks of a pod have its incarnation."""

    incarnation: int
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The process, by the THALWEG_ variables of its environment."""

    topology: str
    namespace: str
    pod: str
    node: str
    domain: str
    tasks: tuple[TaskIdentity, ...]
    before: tuple[Before, ...] = ()
    """Pods that ran any of the tasks when this one was made."""


def identity_of(environment: Mapping[str, str]) -> Identity:
    """Read the environment; InvalidSettings names what is missing.

    A shared process finds its tasks in THALWEG_TASKS, a list in JSON; others are one task.
    """
    try:
        many = environment.get("THALWEG_TASKS")
        found = json.loads(many) if many else [_single(environment)]
        return Identity(
            topology=environment["THALWEG_TOPOLOGY"],
            namespace=environment.get("THALWEG_NAMESPACE", ""),
            pod=environment.get("THALWEG_POD", ""),
            node=environment.get("THALWEG_NODE", ""),
            domain=environment.get("THALWEG_DOMAIN", ""),
            tasks=tuple(_task(one) for one in found),
            before=tuple(
                Before(incarnation=int(one["incarnation"]), address=str(one["address"]))
                for one in json.loads(environment.get("THALWEG_BEFORE") or "[]")
            ),
        )
    except KeyError as error:
        raise InvalidSettings(f"{error.args[0]} is not set") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidSettings(f"the environment cannot be understood: {error}") from error


def _single(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        "vertex": environment["THALWEG_VERTEX"],
        "task": environment["THALWEG_TASK"],
        "incarnation": environment.get("THALWEG_INCARNATION", "0"),
        "routes": environment.get("THALWEG_ROUTES"),
    }


def _task(found: Mapping[str, Any]) -> TaskIdentity:
    routes = found.get("routes")
    return TaskIdentity(
        vertex=str(found["vertex"]),
        task=str(found["task"]),
        incarnation=int(found.get("incarnation", 0)),
        routes=Path(routes) if routes else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is on its way at once, and how long others are waited for."""

    credit_tuples: int = 2048
    """What a receiver takes from one sender before it has acknowledged any of it."""
    batch_tuples: int = 256
    linger_s: float = 0.002
    """The longest that a tuple waits for others to travel with."""
    pending_tuples: int = 8192
    """What a source has under way before anything of it is acknowledged."""
    dead_after_s: float = 10.0
    """A peer that is silent for so long is given up. A record's own work must be shorter."""
    hand_over_s: float = 10.0
    """How long the state of a key group is waited for before it begins anew."""
    grace_s: float = 20.0
    """How long draining may take; below the pod's terminationGracePeriodSeconds."""
    last_scrape_s: float = 0.0
    """How long /metrics is served after everything else has ended, for one more scrape."""
    port: int = DATA_PORT
