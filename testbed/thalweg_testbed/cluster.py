"""A cluster to talk to by kubectl: one of our own, or one that the user lends.

kubectl is used rather than a Python client because it understands every kind of kubeconfig that a
user may have, and is what users type.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from thalweg_testbed import nodes
from thalweg_testbed.audit import AuditLog
from thalweg_testbed.errors import CommandFailed, NotOurs
from thalweg_testbed.waiting import eventually

__all__ = ["BorrowedCluster", "Cluster"]

READY_S = 120.0


class Cluster:
    """What tests may do with any cluster. What needs servers of our own raises NotOurs here."""

    def __init__(self, *, kubeconfig: Path, kubectl: Path) -> None:
        self.kubeconfig = kubeconfig
        self._kubectl = kubectl
        self._node_count = 0

    @property
    def kubectl_path(self) -> Path:
        """The kubectl that talks to it."""
        return self._kubectl

    @property
    def is_ours(self) -> bool:
        """Tell whether its servers, nodes and audit log are ours."""
        return False

    @property
    def url(self) -> str:
        """The API server's address."""
        jsonpath = "jsonpath={.clusters[0].cluster.server}"
        return self.kubectl("config", "view", "--minify", "-o", jsonpath).strip()

    @property
    def audit_log(self) -> Path:
        """The file with one audit event a line."""
        raise NotOurs("a borrowed cluster shows us no audit log")

    def audit(self) -> AuditLog:
        """Read the audit log as it is now."""
        return AuditLog.read(self.audit_log)

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout_s: float = 120.0) -> str:
        """Run kubectl and return what it prints; CommandFailed with what it complained of."""
        command = [str(self._kubectl), f"--kubeconfig={self.kubeconfig}", *arguments]
        try:
            done = subprocess.run(
                command,
                input=stdin,
                env={**os.environ, "KUBECACHEDIR": self._kubectl_cache()},
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CommandFailed(
                f"kubectl {' '.join(arguments)}: not within {timeout_s:g} s"
            ) from None
        if done.returncode:
            raise CommandFailed(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> Any:  # noqa: ANN401 - an API object, whatever its kind
        """Return `kubectl get … -o json`, parsed."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """Apply manifests, server-side."""
        self.kubectl("apply", "--server-side", "-f", "-", stdin=_as_list(manifests))

    def install(self, crds: Sequence[Path]) -> None:
        """Apply CRDs from files and wait until the API server serves them."""
        if not crds:
            return
        files = [f"--filename={path}" for path in crds]
        self.kubectl("apply", "--server-side", "--force-conflicts", *files)

        # A CRD that is a moment old has no conditions yet, which `kubectl wait` takes for an error.
        def are_served() -> bool:
            self.kubectl("wait", "--for=condition=Established", "--timeout=60s", *files)
            return True

        eventually(are_served, timeout_s=120, what="the CRDs to be served")
        self._forget_kinds()

    def create_namespace(self, name: str) -> None:
        """Make a namespace in which pods can be created at once."""
        self.kubectl("create", "namespace", name)
        # Until the controller manager has made this account, the API server refuses pods.
        eventually(
            lambda: self.kubectl("get", "serviceaccount", "default", "--namespace", name),
            timeout_s=READY_S,
            what=f"service account `default` in {name}",
        )

    def delete_namespace(self, name: str) -> None:
        """Begin to delete a namespace; what is in it follows by itself."""
        self.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")

    def ready_nodes(self) -> set[str]:
        """Return the names of the nodes that are Ready."""
        return {
            node["metadata"]["name"]
            for node in self.get("nodes")["items"]
            for condition in node["status"].get("conditions", ())
            if (condition["type"], condition["status"]) == ("Ready", "True")
        }

    def kubeconfig_for(self, user: str) -> Path:
        """Return the kubeconfig of a user with a name of its own in the audit log."""
        raise NotOurs(f"a borrowed cluster knows no user {user}")

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Return a kubeconfig that acts as an existing service account, with its rights only."""
        raise NotOurs(f"a borrowed cluster gives us no token of {namespace}/{name}")

    def stop_server(self) -> None:
        """Stop the API server."""
        raise NotOurs("the API server of a borrowed cluster is not ours to stop")

    def restart_server(self) -> None:
        """Start the API server again."""
        raise NotOurs("the API server of a borrowed cluster is not ours to restart")

    def stop_kwok(self) -> None:
        """Silence all nodes at once."""
        raise NotOurs("the nodes of a borrowed cluster are not ours to silence")

    def start_kwok(self) -> None:
        """Let the nodes speak again."""
        raise NotOurs("the nodes of a borrowed cluster are not ours to wake")

    def silence_node(self, name: str) -> None:
        """Make one node stop its heartbeat."""
        raise NotOurs(f"node {name} of a borrowed cluster is not ours to silence")

    def wake_node(self, name: str) -> None:
        """Let a silent node speak again."""
        raise NotOurs(f"node {name} of a borrowed cluster is not ours to wake")

    def add_nodes(
        self,
        *,
        domains: int | Sequence[str] = 4,
        per_domain: int = 3,
        first: int = 0,
        cpu: str = "4",
        memory: str = "16Gi",
        pods: int = 110,
        labels: Mapping[str, str] | None = None,
    ) -> tuple[str, ...]:
        """Add simulated nodes `a-0`, `a-1`, …, `b-0`, … and wait until they are Ready.

        `domains` is a number or names; `first` is the first index in each, to add to what is there.
        """
        if not self.is_ours:
            raise NotOurs("a borrowed cluster gets no simulated nodes")
        if isinstance(domains, int):
            domains = [nodes.domain_name(index) for index in range(domains)]
        capacity = {"cpu": cpu, "memory": memory, "pods": str(pods)}
        manifests: dict[str, dict[str, object]] = {}
        for domain in domains:
            for index in range(first, first + per_domain):
                self._node_count += 1
                name = f"{domain}-{index}"
                manifests[name] = nodes.node_manifest(
                    name, number=self._node_count, domain=domain, capacity=capacity, labels=labels
                )
        self.kubectl("create", "-f", "-", stdin=_as_list(list(manifests.values())))
        eventually(
            lambda: set(manifests) <= self.ready_nodes(),
            timeout_s=READY_S,
            what=f"{len(manifests)} nodes ready",
            show=lambda: self.kubectl("get", "nodes"),
        )
        return tuple(manifests)

    def remove_nodes(self, *names: str) -> None:
        """Remove nodes, as when a machine is taken away for good; their pods go after a while."""
        if not self.is_ours:
            raise NotOurs("the nodes of a borrowed cluster are not ours to remove")
        self.kubectl("delete", "node", *names)

    def _forget_kinds(self) -> None:
        """Let kubectl ask anew which kinds there are: it keeps them by address for some minutes.

        It asked before the CRDs were there, or an earlier cluster had the same port.
        """
        server = urlsplit(self.url)
        known = Path(self._kubectl_cache()) / "discovery" / f"{server.hostname}_{server.port}"
        shutil.rmtree(known, ignore_errors=True)

    def _kubectl_cache(self) -> str:
        return str(Path(tempfile.gettempdir()) / f"thalweg-kubectl-{os.getuid()}")


class BorrowedCluster(Cluster):
    """The user's own cluster: we start nothing in it and stop nothing."""

    def __enter__(self) -> "BorrowedCluster":
        self.kubectl("version")
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _as_list(manifests: Sequence[Mapping[str, Any]]) -> str:
    """Return manifests as one document that kubectl accepts."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
