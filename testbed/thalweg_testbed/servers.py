"""Command lines and configuration files of the servers. Pure but for writing the files.

Everything of one control plane lies in one directory, laid out by `Layout`.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "Layout",
    "Tuning",
    "controller_manager_command",
    "etcd_command",
    "kwok_command",
    "scheduler_command",
    "server_command",
    "write_configuration",
    "write_kubeconfig",
]

ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK = (
    "admin",
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "kwok",
)
# The scheduler lives on the rights that Kubernetes grants its user by default; the others may do
# anything. The controller manager's default rights count on one service account for each
# controller, which only slows a start down.

KWOK_LABEL, KWOK_AWAKE, KWOK_SILENT = "kwok.x-k8s.io/node", "fake", "silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The times and levels that a test may want otherwise."""

    node_monitor_grace_period_s: int = 24
    """After how long a silent node turns NotReady. Kubernetes has 50 s, too long to wait for in a
    test; shorter than four renewals of `node_lease_duration_s` and a busy machine sees ghosts."""

    node_monitor_period_s: int = 2
    """How often the controller manager looks."""

    node_lease_duration_s: int = 16
    """KWOK renews a node's lease after a quarter of this."""

    not_ready_toleration_s: int = 300
    """How long pods stay on a node that is not ready, where they say nothing themselves."""

    audit_level: str = "Metadata"
    """Of writes to built-in kinds; RequestResponse shows their bodies, and costs space and time."""

    own_audit_level: str = "RequestResponse"
    """Of writes to our own kinds, of which there are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where things are in a control plane's directory."""

    root: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.root / "kubeconfig"

    @property
    def audit_log(self) -> Path:
        """One JSON document a line."""
        return self.root / "audit.log"

    @property
    def authority(self) -> Path:
        """The certificate that clients trust."""
        return self.root / "ca.crt"

    @property
    def tokens(self) -> Path:
        """Static tokens: one user a line."""
        return self.root / "tokens.csv"

    @property
    def audit_policy(self) -> Path:
        """What the audit log keeps."""
        return self.root / "audit-policy.json"

    def user_kubeconfig(self, user: str) -> Path:
        """The kubeconfig of one user."""
        return (
            self.kubeconfig
            if user == ADMIN
            else self.root / f"{user.rpartition(':')[2]}.kubeconfig"
        )

    def log(self, name: str) -> Path:
        """The log of one server."""
        return self.root / f"{name}.log"


def write_configuration(
    layout: Layout, *, url: str, tuning: Tuning, users: Sequence[str] = ()
) -> None:
    """Write kubeconfigs, audit policy and the scheduler's file; `users` may do anything."""
    rows = []
    for user in (ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK, *users):
        token = secrets.token_hex(16)
        groups = "" if user == SCHEDULER else ',"system:masters"'
        rows.append(f"{token},{user},{user}{groups}\n")
        write_kubeconfig(
            layout.user_kubeconfig(user), url=url, authority=layout.authority, token=token
        )
    layout.tokens.write_text("".join(rows))
    layout.tokens.chmod(0o600)
    layout.audit_policy.write_text(json.dumps(_audit_policy(tuning)))
    (layout.root / "scheduler.json").write_text(json.dumps(_scheduler_configuration(layout)))


def write_kubeconfig(path: Path, *, url: str, authority: Path, token: str) -> None:
    """Write a kubeconfig with one context that authenticates by a token. JSON is YAML."""
    name = "thalweg"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": url, "certificate-authority": str(authority)}}
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=1))


def _audit_policy(tuning: Tuning) -> Mapping[str, object]:
    """Every request once, when it is answered; the servers' own reads are left out."""
    reads = ["get", "list", "watch"]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted"],
        "rules": [
            {"level": "None", "verbs": reads, "users": [CONTROLLER_MANAGER, SCHEDULER, KWOK]},
            {"level": "None", "verbs": reads, "users": ["system:apiserver", "system:anonymous"]},
            {"level": "None", "nonResourceURLs": ["*"]},
            {"level": "Metadata", "verbs": reads},
            {"level": tuning.own_audit_level, "resources": [{"group": "thalweg.dev"}]},
            {"level": tuning.audit_level},
        ],
    }


def _scheduler_configuration(layout: Layout) -> Mapping[str, object]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(layout.user_kubeconfig(SCHEDULER)),
            "qps": 1000,
            "burst": 2000,
        },
        "leaderElection": {"leaderElect": False},
    }


def etcd_command(program: Path, layout: Layout, *, port: int, peer_port: int) -> list[str]:
    """Return etcd's command line; nothing is synced to disk, since nothing is to be kept."""
    url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    return [
        str(program),
        f"--data-dir={layout.root / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def server_command(
    program: Path, layout: Layout, *, port: int, etcd_port: int, tuning: Tuning
) -> list[str]:
    """Return kube-apiserver's command line: default admission, RBAC, audit log."""
    key = layout.root / "service-account.key"
    return [
        str(program),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={layout.root / 'server.crt'}",
        f"--tls-private-key-file={layout.root / 'server.key'}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",
        f"--default-not-ready-toleration-seconds={tuning.not_ready_toleration_s}",
        f"--default-unreachable-toleration-seconds={tuning.not_ready_toleration_s}",
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        # Left alone, the log would be rotated away under the reader at 100 MB.
        "--audit-log-maxsize=100000",
    ]


def controller_manager_command(program: Path, layout: Layout, *, tuning: Tuning) -> list[str]:
    """Return kube-controller-manager's command line."""
    return [
        str(program),
        f"--kubeconfig={layout.user_kubeconfig(CONTROLLER_MANAGER)}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--root-ca-file={layout.authority}",
        f"--service-account-private-key-file={layout.root / 'service-account.key'}",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        f"--node-monitor-grace-period={tuning.node_monitor_grace_period_s}s",
        f"--node-monitor-period={tuning.node_monitor_period_s}s",
    ]


def scheduler_command(program: Path, layout: Layout) -> list[str]:
    """Return kube-scheduler's command line."""
    return [str(program), f"--config={layout.root / 'scheduler.json'}", "--secure-port=0"]


def kwok_command(program: Path, layout: Layout, *, tuning: Tuning) -> list[str]:
    """Return KWOK's command line; its built-in stages make nodes and pods ready at once.

    Nodes are chosen by a label, not by the customary annotation: KWOK sees a node that loses the
    label as deleted, and stops renewing its lease. That is how one node falls silent.
    """
    return [
        str(program),
        f"--kubeconfig={layout.user_kubeconfig(KWOK)}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-label-selector={KWOK_LABEL}={KWOK_AWAKE}",
        f"--node-lease-duration-seconds={tuning.node_lease_duration_s}",
    ]
