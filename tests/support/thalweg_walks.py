"""Walking through every write of an operator, ending it there, and looking where that leads.

Walkers go side by side, each with a topology in a namespace of its own and an operator that sees
nothing else: what one of them waits for, all wait for at once. An operator that is ended leaves
nothing in memory, as after SIGKILL; the next one starts from the cluster alone.
"""

import json
import secrets
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg_operator import naming
from thalweg_operator.clock import SystemClock
from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import Connection, connect
from thalweg_operator.cluster.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    STREAM_PLANS,
    STREAM_TOPOLOGIES,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.loop import Loop
from thalweg_operator.measuring import Measures
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.settings import Settings
from thalweg_stories import (
    DEADLINE_S,
    by_task,
    is_active,
    is_ready,
    node_name,
    standing,
    task_names,
)
from thalweg_testbed import OPERATOR_USER, Cluster, eventually

SERVICE_ACCOUNTS = Resource(plural="serviceaccounts", kind="ServiceAccount")
MOST_ROUNDS = 200


class Killed(BaseException):
    """The end of an operator; like SIGKILL, nothing in it may catch this."""


class Walker:
    """One topology, its namespace and its operator."""

    def __init__(self, user: Client, operators: Connection, namespace: str) -> None:
        self.namespace = namespace
        self.deaths = 0
        self.writes = 0
        self._user = user
        self._connection = operators
        self._left: int | None = None
        self._counting = threading.Lock()
        self.measuring: Measures | None = None
        """What the next operator that is started takes for its measurements."""
        self._loop = self._start()

    def arm(self, writes: int | None) -> None:
        """Start an operator that is ended when it wants to write once more; None: never."""
        self._left = writes
        self.deaths = self.writes = 0
        self._loop = self._start()

    def step(self) -> bool:
        """Turn once; tell whether the operator lived and found nothing to write."""
        before = self.writes
        try:
            self._loop.turn()
        except Killed:
            self.deaths += 1
            self._left = None
            self._loop = self._start()
            return False
        return self.writes == before

    def _start(self) -> Loop:
        settings = Settings(
            namespaces=(self.namespace,),
            retire_grace_s=0.0,
            replace_after_not_ready_s=1.0,
            placement_interval_s=0.0,
        )
        return Loop(
            client=Client(self._connection, guard=self._guard),
            settings=settings,
            clock=SystemClock(),
            metrics=Metrics(),
            measuring=self.measuring,
        )

    def _guard(self) -> None:
        """Several threads write; the one that wants to write once more ends them all."""
        with self._counting:
            if self._left == 0:
                raise Killed
            if self._left is not None:
                self._left -= 1
            self.writes += 1

    def apply(self, manifest: Mapping[str, Any]) -> None:
        """Apply the topology, as a user does."""
        metadata = {**manifest["metadata"], "namespace": self.namespace}
        self._user.apply(STREAM_TOPOLOGIES, {**manifest, "metadata": metadata})

    def scale(self, vertex: str, replicas: int) -> None:
        """Scale a vertex, as a user does."""
        (found,) = [one for one in self._all(STREAM_VERTICES) if one["spec"]["vertex"] == vertex]
        self._user.merge(
            STREAM_VERTICES,
            self.namespace,
            found["metadata"]["name"],
            {"spec": {"replicas": replicas}},
            subresource="scale",
        )

    def state(self) -> dict[str, Any]:
        """All that should not depend on where the operator was ended."""
        pods = [pod for pod in self._all(PODS) if "deletionTimestamp" not in pod["metadata"]]
        (topology,) = self._all(STREAM_TOPOLOGIES)
        status = topology.get("status", {})
        return {
            "pods": {task: sorted(map(_pod, of_task)) for task, of_task in by_task(pods).items()},
            "vertices": {one["spec"]["vertex"]: _vertex(one) for one in self._all(STREAM_VERTICES)},
            "budgets": sorted(_name(one) for one in self._all(POD_DISRUPTION_BUDGETS)),
            "routes": {
                _name(one): _routes(one, pods)
                for one in self._all(CONFIG_MAPS)
                if naming.TOPOLOGY in one["metadata"].get("labels", {})
            },
            "tasks": status.get("tasks"),
            "lines": [
                (line["name"], line["desired"], line["ready"])
                for line in status.get("vertices", ())
            ],
            "conditions": _conditions(status),
            "plan": self._newest_plan(),
        }

    def _newest_plan(self) -> tuple[str, int, int] | None:
        """Where the newest plan stands, and how many numbers and moves it had."""
        plans = self._all(STREAM_PLANS)
        if not plans:
            return None
        newest = max(plans, key=lambda plan: int(_name(plan).rsplit("-", 1)[1]))
        spec = newest["spec"]
        return standing(newest), len(spec["replicas"]), len(spec["moves"])

    def assert_one_pod_each(self) -> None:
        """Every task has one pod that counts; every pod has its task and a living owner."""
        vertices, topologies = (
            {one["metadata"]["uid"] for one in self._all(kind)}
            for kind in (STREAM_VERTICES, STREAM_TOPOLOGIES)
        )
        pods = self._all(PODS)
        for pod in pods:
            owners = topologies if naming.PROCESS in pod["metadata"]["labels"] else vertices
            assert pod["metadata"]["ownerReferences"][0]["uid"] in owners
        active = by_task(pod for pod in pods if is_active(pod))
        assert {task: len(of_task) for task, of_task in active.items()} == dict.fromkeys(active, 1)
        left = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        tasks = [task for pod in left for task in task_names(pod)]
        assert sorted(tasks) == sorted(active), "a pod is left over"

    def _all(self, resource: Resource) -> list[Object]:
        return self._user.list(resource, namespace=self.namespace)


class Ground:
    """Where walkers go: one cluster, and how to wait for its pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._connections = [
            connect(cluster.kubeconfig, user_agent="walk"),
            connect(cluster.kubeconfig_for(OPERATOR_USER)),
        ]
        self.user = Client(self._connections[0], guard=unguarded)
        self._walkers: dict[str, Walker] = {}

    def close(self) -> None:
        """Send everybody home."""
        self.dismiss(list(self._walkers.values()))
        for connection in self._connections:
            connection.pool.clear()

    def walkers(self, count: int) -> list[Walker]:
        """So many walkers, each in a fresh namespace in which pods can be made."""
        names = [f"w-{secrets.token_hex(4)}" for _ in range(count)]
        for name in names:
            self.user.create(NAMESPACES, {"metadata": {"name": name}})
        eventually(
            lambda: all(self.user.get(SERVICE_ACCOUNTS, name, "default") for name in names),
            what="service accounts in all namespaces",
            timeout_s=DEADLINE_S,
        )
        made = {name: Walker(self.user, self._connections[1], name) for name in names}
        self._walkers |= made
        return list(made.values())

    def dismiss(self, walkers: Iterable[Walker]) -> None:
        """Delete their namespaces; what is in them follows by itself."""
        for walker in walkers:
            found = self.user.get(NAMESPACES, None, walker.namespace)
            if found is not None:
                uid = found["metadata"]["uid"]
                self.user.delete(NAMESPACES, None, walker.namespace, uid=uid)
            self._walkers.pop(walker.namespace, None)

    def go(self, walkers: Iterable[Walker]) -> None:
        """Turn all operators until each finds nothing to do."""
        walking = list(walkers)
        for _ in range(MOST_ROUNDS):
            walking = [walker for walker in walking if not walker.step()]
            self._settle()
            if not walking:
                return
        raise AssertionError(f"no rest after {MOST_ROUNDS} rounds: {walking[0].state()}")

    def _settle(self) -> None:
        """Wait until every pod is ready or gone, so that each turn meets the same cluster."""
        eventually(
            lambda: not self._restless(),
            every_s=0.05,
            timeout_s=DEADLINE_S,
            what="pods ready or gone",
            show=self._restless,
        )

    def _restless(self) -> list[str]:
        nodes = {_name(node) for node in self.user.list(NODES)}
        return [
            _name(pod)
            for pod in self.user.list(PODS, labels=naming.MANAGED)
            if pod["metadata"]["namespace"] in self._walkers
            # On a node that is gone nobody ends a pod, and nothing becomes ready.
            and (not node_name(pod) or node_name(pod) in nodes)
            and not is_ready(pod)
        ]


def _name(found: Mapping[str, Any]) -> str:
    return str(found["metadata"]["name"])


def _pod(pod: Mapping[str, Any]) -> tuple[Any, ...]:
    metadata, container = pod["metadata"], pod["spec"]["containers"][0]
    as_planned = metadata["annotations"].get(naming.PLANNED_NODE) == node_name(pod)
    return (
        metadata["labels"][naming.TEMPLATE_HASH],
        metadata["labels"][naming.STATE],
        container["image"],
        is_ready(pod),
        as_planned,
    )


def _vertex(vertex: Mapping[str, Any]) -> dict[str, Any]:
    status = {**vertex.get("status", {})}
    # How many incarnations it took, and so which routes there were, may differ.
    for key in ("nextIncarnation", "routesVersion", "observedGeneration"):
        status.pop(key, None)
    status["tasks"] = [(line["index"], line["templateHash"]) for line in status.get("tasks", ())]
    status["conditions"] = _conditions(status)
    return {"spec": vertex["spec"], "status": status}


def _conditions(status: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Without their times and words."""
    found = status.get("conditions", ())
    return sorted((one["type"], one["status"], one["reason"]) for one in found)


def _routes(config_map: Mapping[str, Any], pods: Iterable[Object]) -> Any:
    """What the routes say, and whether it is true of the pods."""
    document = config_map["data"].get("routes.json")
    if document is None:
        return sorted(config_map["data"])
    routes = json.loads(document)
    present = {
        (task, pod["status"].get("podIP"), node_name(pod), _incarnation(pod))
        for pod in pods
        for task in task_names(pod)
    }
    return [
        (
            edge["to"],
            edge["grouping"],
            [
                (
                    task["name"],
                    task.get("keyGroups"),
                    (task["name"], task["address"], task["node"], task["incarnation"]) in present,
                )
                for task in edge["tasks"]
            ],
        )
        for edge in routes["edges"]
    ]


def _incarnation(pod: Mapping[str, Any]) -> int:
    return naming.incarnation_of(pod["metadata"]["labels"])
