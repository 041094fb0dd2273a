"""What the operator's stories share: a namespace on a real control plane and a loop to turn.

A story is told in one thread. The loop turns only when the story says so, which is what lets it
look between two turns, hold the operator still, or end it after any write.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

from thalweg_operator import naming
from thalweg_operator.clock import SystemClock
from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import Connection, connect
from thalweg_operator.cluster.resources import (
    CONFIG_MAPS,
    EVENTS,
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
from thalweg_testbed import OPERATOR_USER, Cluster, CommandFailed, eventually

T = TypeVar("T")

OWNED = (STREAM_VERTICES, POD_DISRUPTION_BUDGETS, CONFIG_MAPS, PODS)
"""Every kind of object that a topology owns."""

STORY_LABEL = "story"
"""On the nodes that belong to one story."""

DEADLINE_S = 120.0


def vertex(
    name: str,
    tasks: int = 1,
    *,
    least: int = 1,
    most: int | None = None,
    image: str = "example.org/worker:1",
    requests: Mapping[str, str] | None = None,
    surge: int | None = None,
    **pod_spec: object,
) -> dict[str, Any]:
    """A vertex of a manifest."""
    container = {
        "name": "worker",
        "image": image,
        "resources": {"requests": dict(requests or {"cpu": "50m", "memory": "64Mi"})},
    }
    written: dict[str, Any] = {
        "name": name,
        "replicas": {"min": least, "max": most or tasks, "initial": tasks},
        "template": {"spec": {"containers": [container], **pod_spec}},
    }
    if surge is not None:
        written["rollout"] = {"maxSurge": surge}
    return written


def chain(name: str, *vertices: dict[str, Any], **spec: object) -> dict[str, Any]:
    """A topology in which each vertex sends to the next; the last edge is by key."""
    names = [one["name"] for one in vertices]
    edges: list[dict[str, Any]] = [
        {"from": source, "to": target, "grouping": {"type": "Shuffle"}}
        for source, target in pairwise(names)
    ]
    if edges:
        edges[-1]["grouping"] = {"type": "Fields", "keys": ["word"]}
    return {
        "apiVersion": STREAM_TOPOLOGIES.api_version,
        "kind": STREAM_TOPOLOGIES.kind,
        "metadata": {"name": name},
        "spec": {"strategy": "Even", "vertices": list(vertices), "edges": edges, **spec},
    }


def word_count(name: str = "word-count", **of_vertex: Any) -> dict[str, Any]:
    """Five tasks in three vertices; each keyword goes to every vertex."""
    return chain(
        name,
        vertex("read", 1, most=4, **of_vertex),
        vertex("split", 2, most=4, **of_vertex),
        vertex("count", 2, most=4, **of_vertex),
    )


def task_name(pod: Mapping[str, Any]) -> str:
    """The task that a pod is an incarnation of."""
    task = naming.task_of(pod["metadata"]["labels"])
    return task.name if task else "?"


def task_names(pod: Mapping[str, Any]) -> list[str]:
    """The tasks that a pod runs; more than one where they share it."""
    metadata = pod["metadata"]
    tasks = naming.tasks_of(metadata["labels"], metadata.get("annotations") or {})
    return [task.name for task in tasks] or ["?"]


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether a pod lives and its Ready condition holds."""
    conditions = pod["status"].get("conditions") or ()
    return "deletionTimestamp" not in pod["metadata"] and any(
        (condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions
    )


def is_active(pod: Mapping[str, Any]) -> bool:
    """Whether a pod counts for its task: not one that retires or is going."""
    metadata = pod["metadata"]
    return (
        metadata["labels"].get(naming.STATE) == naming.ACTIVE
        and "deletionTimestamp" not in metadata
        and pod["status"].get("phase") not in ("Failed", "Succeeded")
    )


def by_task(pods: Iterable[Object]) -> dict[str, list[Object]]:
    """Pods by the name of their task."""
    found: dict[str, list[Object]] = {}
    for pod in pods:
        for task in task_names(pod):
            found.setdefault(task, []).append(pod)
    return found


def node_name(pod: Mapping[str, Any]) -> str:
    """The node that a pod is bound to, or nothing."""
    return str(pod["spec"].get("nodeName") or "")


def standing(plan: Mapping[str, Any]) -> str:
    """Where a StreamPlan stands: Proposed, Running, Applied or Lapsed."""
    for condition in (plan.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Applied":
            return str(condition["reason"])
    return "Proposed"


class Story:
    """One namespace, the user who acts in it, and an operator that sees nothing else."""

    def __init__(self, cluster: Cluster, namespace: str, **settings: Any) -> None:
        self.cluster = cluster
        self.namespace = namespace
        short: dict[str, Any] = {
            "pass_interval_s": 1.0,
            "retire_grace_s": 1.0,
            "replace_after_not_ready_s": 3.0,
            "unschedulable_after_s": 2.0,
            "placement_interval_s": 0.0,
            "prove_after_s": 2.0,
        }
        self.settings = Settings(namespaces=(namespace,), **{**short, **settings})
        self.writes: list[str] = []
        """What the operator wrote, as `verb plural`, since the list was last cleared."""
        self._connections = [
            connect(cluster.kubeconfig, user_agent="story"),
            connect(cluster.kubeconfig_for(OPERATOR_USER)),
        ]
        self.user = Client(self._connections[0], guard=unguarded)
        self._nodes: list[str] = []
        self.measuring: Measures | None = None
        self.loop = self.operator()

    @property
    def operators_connection(self) -> Connection:
        """The API server as the operator's user."""
        return self._connections[1]

    def operator(self, guard: Callable[[], None] = unguarded) -> Loop:
        """A freshly started operator: it knows nothing of what an earlier one did."""
        client = Client(
            self.operators_connection,
            guard=guard,
            count_write=lambda verb, resource: self.writes.append(f"{verb} {resource.plural}"),
        )
        return Loop(
            client=client,
            settings=self.settings,
            clock=SystemClock(),
            metrics=Metrics(),
            measuring=self.measuring,
        )

    def measure(self, told: Measures) -> None:
        """Start an operator that takes these for its measurements."""
        self.measuring = told
        self.restart()

    def restart(self, **settings: Any) -> None:
        """End the operator and start another, with some settings changed."""
        self.settings = replace(self.settings, **settings)
        self.loop.close()
        self.loop = self.operator()

    def close(self) -> None:
        """Let go of what the story held."""
        self.loop.close()
        for node in self._nodes:
            self.cluster.kubectl("delete", "node", node, "--ignore-not-found", "--wait=false")
        for connection in self._connections:
            connection.pool.clear()

    # What the user does.

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """Apply manifests in the story's namespace, as a user does."""
        self.cluster.apply(
            *(
                {**manifest, "metadata": {**manifest["metadata"], "namespace": self.namespace}}
                for manifest in manifests
            )
        )

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the story's namespace."""
        return self.cluster.kubectl("--namespace", self.namespace, *arguments, stdin=stdin)

    def scale(self, topology: str, name: str, replicas: int) -> None:
        """Scale a vertex as users do."""
        self.kubectl("scale", "svtx", f"{topology}-{name}", f"--replicas={replicas}")

    def delete_pod(self, pod: Mapping[str, Any]) -> None:
        """Delete a pod behind the operator's back."""
        metadata = pod["metadata"]
        self.user.delete(PODS, self.namespace, metadata["name"], uid=metadata["uid"])

    def set_pod_status(self, pod: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """Say what a kubelet would say."""
        name = pod["metadata"]["name"]
        self.user.merge(PODS, self.namespace, name, {"status": status}, subresource="status")

    def add_nodes(self, *, domains: int = 2, per_domain: int = 1, **more: Any) -> tuple[str, ...]:
        """Nodes that only this story's topologies go to: see `here`."""
        first = ord("a") + len(self._nodes)
        made = self.cluster.add_nodes(
            domains=[f"{self.namespace}-{chr(first + number)}" for number in range(domains)],
            per_domain=per_domain,
            labels={STORY_LABEL: self.namespace},
            **more,
        )
        self._nodes += made
        return made

    @property
    def here(self) -> dict[str, Any]:
        """The part of a pod spec that keeps its pods on the story's own nodes."""
        return {"nodeSelector": {STORY_LABEL: self.namespace}}

    # What the operator does.

    def turn(self) -> list[str]:
        """Let the operator turn once; return what it wrote."""
        before = len(self.writes)
        self.loop.turn()
        return self.writes[before:]

    def until(self, check: Callable[[], T], *, what: str, timeout_s: float = DEADLINE_S) -> T:
        """Let the operator turn until something is true."""

        def turned() -> T:
            self.turn()
            return check()

        return eventually(turned, what=what, timeout_s=timeout_s, show=self.picture)

    def until_ready(self, name: str) -> None:
        """Until all tasks are ready, none has a pod too many, and the status says so."""
        self.until(lambda: self.is_settled(name), what=f"{name} ready")

    def until_still(self) -> None:
        """Until a turn finds nothing to write."""
        self.until(lambda: not self.turn(), what="a turn that writes nothing")

    # What there is to see.

    def is_settled(self, name: str) -> bool:
        """Whether every task has one pod, which is ready, and the status knows it."""
        topology = self.topology(name)
        if self.condition(name, "Ready")[0] != "True":
            return False
        status = topology["status"]
        pods = by_task(self.pods(name))
        return (
            status["observedGeneration"] == topology["metadata"]["generation"]
            and status["tasks"]["desired"] == self.wanted_tasks(name) == len(pods)
            and all(len(of_task) == 1 and is_ready(of_task[0]) for of_task in pods.values())
        )

    def wanted_tasks(self, name: str) -> int:
        """How many tasks the StreamVertices ask for."""
        return sum(one["spec"]["replicas"] for one in self.owned(STREAM_VERTICES, name))

    def owned(self, resource: Resource, name: str) -> list[Object]:
        """The objects of one kind that carry a topology's label."""
        return self.user.list(
            resource, namespace=self.namespace, labels=f"{naming.TOPOLOGY}={name}"
        )

    def pods(self, name: str) -> list[Object]:
        """All pods of a topology, whatever state they are in."""
        return self.owned(PODS, name)

    def serving(self, name: str) -> dict[str, list[Object]]:
        """Ready pods by task, those that retire apart."""
        return by_task(pod for pod in self.pods(name) if is_active(pod) and is_ready(pod))

    def pod_of(self, name: str, task: str) -> Object:
        """The one active pod of a task."""
        (pod,) = [pod for pod in by_task(self.pods(name)).get(task, ()) if is_active(pod)]
        return pod

    def topology(self, name: str) -> Object:
        """A StreamTopology as it is now."""
        return self._get(STREAM_TOPOLOGIES, name)

    def vertex(self, name: str, vertex_name: str) -> Object:
        """A StreamVertex as it is now."""
        return self._get(STREAM_VERTICES, naming.vertex_object(name, vertex_name))

    def condition(self, name: str, kind: str) -> tuple[str, str, str]:
        """A condition's status, reason and message."""
        for condition in self.topology(name).get("status", {}).get("conditions", ()):
            if condition["type"] == kind:
                return condition["status"], condition["reason"], condition["message"]
        return "", "", ""

    def routes(self, name: str, sender: str) -> dict[str, Any]:
        """The routes file of a sending vertex."""
        config_map = self._get(CONFIG_MAPS, naming.routes_object(name, sender))
        document: dict[str, Any] = json.loads(config_map["data"]["routes.json"])
        return document

    def receivers(self, name: str, sender: str, to: str) -> dict[str, dict[str, Any]]:
        """The tasks that a sender's routes list for one edge."""
        edges = [edge for edge in self.routes(name, sender)["edges"] if edge["to"] == to]
        return {task["name"]: task for edge in edges for task in edge["tasks"]}

    def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and note of the events about a topology."""
        return [
            (event["reason"], event.get("note", ""))
            for event in self.user.list(EVENTS, namespace=self.namespace)
            if event["regarding"]["kind"] == "StreamTopology" and event["regarding"]["name"] == name
        ]

    def plans(self, name: str) -> list[Object]:
        """A topology's StreamPlans, oldest first."""
        found = self.owned(STREAM_PLANS, name)
        return sorted(found, key=lambda plan: int(plan["metadata"]["name"].rsplit("-", 1)[1]))

    def approve(self, plan: Mapping[str, Any]) -> None:
        """Say yes to a plan, as a user does."""
        patch = '{"spec":{"approved":true}}'
        self.kubectl("patch", "splan", plan["metadata"]["name"], "--type=merge", "-p", patch)

    def nodes_of(self, name: str) -> dict[str, str]:
        """Where each task's active pod is bound."""
        return {
            task: node_name(pod)
            for pod in self.pods(name)
            if is_active(pod)
            for task in task_names(pod)
        }

    def picture(self) -> str:
        """All that a reader needs to see why something did not come."""
        try:
            lines = [self.kubectl("get", "stopo,svtx,pods", "-o", "wide", "--show-labels")]
            lines.append(self.kubectl("get", "stopo", "-o", "jsonpath={.items[*].status}"))
        except CommandFailed as error:
            return str(error)
        return "\n".join([*lines, f"the operator's last writes: {self.writes[-20:]}"])

    def _get(self, resource: Resource, name: str) -> Object:
        found = self.user.get(resource, self.namespace, name)
        assert found is not None, f"no {resource.kind} {name}"
        return found
