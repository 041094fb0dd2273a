"""The resources that the operator reads or writes, and where they live in the API."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Object = dict[str, Any]
"""A Kubernetes object as JSON. It is parsed into values where it enters `api` or `observe`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One kind of object and its address."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` that its objects carry."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, an object or its subresource."""
        parts = ["apis" if self.group else "api", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/" + "/".join(parts)


def _thalweg(plural: str, kind: str, *, namespaced: bool = True) -> Resource:
    return Resource(
        group="thalweg.dev", version="v1alpha1", plural=plural, kind=kind, namespaced=namespaced
    )


STREAM_TOPOLOGIES = _thalweg("streamtopologies", "StreamTopology")
STREAM_VERTICES = _thalweg("streamvertices", "StreamVertex")
STREAM_PLANS = _thalweg("streamplans", "StreamPlan")
NODE_HIBERNATIONS = _thalweg("nodehibernations", "NodeHibernation", namespaced=False)
PODS = Resource(plural="pods", kind="Pod")
NODES = Resource(plural="nodes", kind="Node", namespaced=False)
NAMESPACES = Resource(plural="namespaces", kind="Namespace", namespaced=False)
CONFIG_MAPS = Resource(plural="configmaps", kind="ConfigMap")
RESOURCE_QUOTAS = Resource(plural="resourcequotas", kind="ResourceQuota")
POD_DISRUPTION_BUDGETS = Resource(
    group="policy", plural="poddisruptionbudgets", kind="PodDisruptionBudget"
)
EVENTS = Resource(group="events.k8s.io", plural="events", kind="Event")
LEASES = Resource(group="coordination.k8s.io", plural="leases", kind="Lease")
HORIZONTAL_POD_AUTOSCALERS = Resource(
    group="autoscaling",
    version="v2",
    plural="horizontalpodautoscalers",
    kind="HorizontalPodAutoscaler",
)
