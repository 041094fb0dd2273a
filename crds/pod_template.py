"""The pod template that a vertex carries: Kubernetes' own schema, bounded, with our rules on top.

All fields of a Kubernetes 1.34 pod are there, so nothing a user writes is dropped in silence. What
would fight with placement is not left out but refused, with a sentence that says what to do.
"""

import json
from collections.abc import Mapping
from typing import Any

from crds.pod_fields import TARGET
from crds.schema import Schema, rule

_LIST_BOUNDS = {
    "containers": 16,
    "initContainers": 16,
    "env": 256,
    "ports": 32,
    "volumes": 64,
    "volumeMounts": 64,
    "tolerations": 64,
    "imagePullSecrets": 16,
}
_WORDS = {
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "protocol": ("TCP", "UDP", "SCTP"),
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "preemptionPolicy": ("Never", "PreemptLowerPriority"),
}
_TOLERATION_WORDS = {
    "operator": ("Exists", "Equal"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
}
_EXPRESSION_WORDS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

_BY_PLAN = "Thalweg decides where each task runs"
_REFUSED_WHEN_SET = {
    "nodeName": f"remove nodeName: {_BY_PLAN}; use nodeSelector or node affinity to narrow it down",
    "topologySpreadConstraints": "remove topologySpreadConstraints: spread tasks with "
    "placement.minDomains and placement.maxSharePercent instead",
    "ephemeralContainers": "remove ephemeralContainers: attach them to a running pod with "
    "kubectl debug instead",
    "hostname": "remove hostname: pods of a vertex share the template, and tasks find each other "
    "by the routes file",
    "subdomain": "remove subdomain: tasks find each other by the routes file",
    "hostnameOverride": "remove hostnameOverride: pods of a vertex share the template, and tasks "
    "find each other by the routes file",
    "schedulingGates": "remove schedulingGates: use suspend to hold a topology back",
    "activeDeadlineSeconds": "remove activeDeadlineSeconds: a stream has no end; use suspend to "
    "stop it",
    "serviceAccount": "use serviceAccountName; serviceAccount is its deprecated name",
    "priority": "use priorityClassName; Kubernetes fills priority in from it",
    "overhead": "remove overhead: Kubernetes fills it in from runtimeClassName",
}
_REFUSED_VALUES = (
    (
        "!has(self.restartPolicy) || self.restartPolicy == 'Always'",
        "remove restartPolicy or set it to Always: a stream task never completes",
    ),
    (
        "!has(self.hostNetwork) || !self.hostNetwork",
        "remove hostNetwork: two tasks on one node would claim the same ports",
    ),
)
_CONTAINER_RULES = (
    rule(
        "!has(self.env) || self.env.all(e, !e.name.startsWith('THALWEG_'))",
        "environment variables that start with THALWEG_ are set by Thalweg; choose another name",
    ),
    rule(
        "!has(self.ports) || self.ports.all(p, !has(p.hostPort) || p.hostPort == 0)",
        "remove hostPort: it allows one task a node; tasks are reached by their pod's address",
    ),
    rule(
        "!has(self.volumeMounts) || self.volumeMounts.all(m, m.mountPath != '/etc/thalweg' && "
        "!m.mountPath.startsWith('/etc/thalweg/'))",
        "mount somewhere else: Thalweg mounts the routes file at /etc/thalweg",
    ),
)
_OUR_PREFIX = "thalweg.dev/"


def pod_template() -> Schema:
    """The schema of `template`, made anew at each call so that nobody shares parts of it."""
    template: Schema = json.loads(TARGET.read_text())
    _bound(template)
    metadata = template["properties"]["metadata"]
    for kind in ("labels", "annotations"):
        metadata["properties"][kind] |= _own_words(kind)
    template["properties"]["spec"] |= _pod_rules(template["properties"]["spec"])
    template["required"] = ["spec"]
    template["description"] = (
        "The pod that runs a task, as in a Deployment: `kubectl explain pod.spec` describes the "
        "fields. Only `spec.containers[0].image` is required. The first container is the worker: "
        "it gets the routes file and the THALWEG_ environment variables."
    )
    return template


def _bound(schema: Schema) -> None:
    """Give lists bounds and words their choices, wherever they occur."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, inner in properties.items():
        if name in _LIST_BOUNDS and inner.get("type") == "array":
            inner["maxItems"] = _LIST_BOUNDS[name]
        if name in _WORDS:
            inner["enum"] = list(_WORDS[name])
        _bound(inner)
    for nested in ("items", "additionalProperties"):
        if nested in schema:
            _bound(schema[nested])


def _own_words(kind: str) -> Schema:
    return {
        "maxProperties": 64,
        "x-kubernetes-validations": [
            rule(
                f"self.all(key, !key.startsWith('{_OUR_PREFIX}'))",
                f"{kind} that start with {_OUR_PREFIX} are set by Thalweg; choose another prefix",
            )
        ],
    }


def _pod_rules(spec: Schema) -> Schema:
    fields = spec["properties"]
    fields["ephemeralContainers"] = {
        "type": "array",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "maxItems": 16,
    }
    _refuse_pod_affinity(fields["affinity"])
    _describe_containers(fields)
    _choose_words(fields)
    rules = [rule(f"!has(self.{name})", message) for name, message in _REFUSED_WHEN_SET.items()]
    rules += [rule(cel, message) for cel, message in _REFUSED_VALUES]
    return {"properties": fields, "x-kubernetes-validations": rules}


def _refuse_pod_affinity(affinity: Schema) -> None:
    for name in ("podAffinity", "podAntiAffinity"):
        affinity["properties"][name] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
    affinity["x-kubernetes-validations"] = [
        rule(
            "!has(self.podAffinity)",
            "remove podAffinity: Thalweg puts tasks that talk close together by itself; only "
            "nodeAffinity may be set",
        ),
        rule(
            "!has(self.podAntiAffinity)",
            "remove podAntiAffinity: spread tasks with placement.minDomains and "
            "placement.maxSharePercent instead",
        ),
    ]


def _describe_containers(fields: dict[str, Schema]) -> None:
    for name in ("containers", "initContainers"):
        container = fields[name]["items"]
        container["properties"]["name"] |= {"maxLength": 63, "minLength": 1}
        container["properties"]["ports"]["items"]["properties"]["protocol"]["default"] = "TCP"
        container["x-kubernetes-validations"] = [dict(one) for one in _CONTAINER_RULES]
    containers = fields["containers"]
    # One nameless container is what most vertices have; a second one must be told apart.
    containers["items"]["properties"]["name"]["default"] = "worker"
    containers["items"].pop("required", None)
    containers["minItems"] = 1
    containers["x-kubernetes-validations"] = [
        rule(
            "self.all(c, has(c.image) && size(c.image) > 0)",
            "give every container an image, for example ghcr.io/thalweg/worker:0.1.0",
        )
    ]
    volume = fields["volumes"]["items"]
    volume["properties"]["name"] |= {"maxLength": 63}
    volume["x-kubernetes-validations"] = [
        rule(
            "!self.name.startsWith('thalweg-')",
            "volumes whose names start with thalweg- are made by Thalweg; choose another name",
        )
    ]
    fields["imagePullSecrets"]["items"]["required"] = ["name"]
    fields["terminationGracePeriodSeconds"] |= {"minimum": 0, "maximum": 86400}


def _choose_words(fields: dict[str, Schema]) -> None:
    tolerations = fields["tolerations"]["items"]["properties"]
    for name, choices in _TOLERATION_WORDS.items():
        tolerations[name]["enum"] = list(choices)
    node_affinity = fields["affinity"]["properties"]["nodeAffinity"]["properties"]
    required = node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    preferred = node_affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    terms = [
        required["properties"]["nodeSelectorTerms"]["items"],
        preferred["items"]["properties"]["preference"],
    ]
    for term in terms:
        for kind in ("matchExpressions", "matchFields"):
            expression = term["properties"][kind]["items"]["properties"]
            expression["operator"]["enum"] = list(_EXPRESSION_WORDS)
