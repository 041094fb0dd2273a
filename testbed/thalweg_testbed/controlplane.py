"""A real control plane on 127.0.0.1: etcd, kube-apiserver, controller manager, scheduler, KWOK.

    with ControlPlane(crds=[…]) as plane:
        plane.add_nodes(domains=4, per_domain=3)
        plane.kubectl("apply", "-f", "topology.yaml")

Several can run side by side: each has its own directory, ports, certificates and users. All of its
processes die with the process that made it, and its directory goes with them.
"""

import http.client
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from thalweg_testbed import servers
from thalweg_testbed.binaries import Report, find_binaries, print_progress
from thalweg_testbed.cluster import READY_S, Cluster
from thalweg_testbed.errors import BedError
from thalweg_testbed.ports import Port
from thalweg_testbed.processes import Process
from thalweg_testbed.servers import Layout, Tuning
from thalweg_testbed.waiting import eventually

__all__ = ["OPERATOR_USER", "ControlPlane"]

OPERATOR_USER = "thalweg-operator"


class ControlPlane(Cluster):
    """A control plane of our own. Making one starts it; `close` or leaving the block ends it."""

    def __init__(
        self,
        *,
        crds: Sequence[Path] = (),
        tuning: Tuning | None = None,
        users: Sequence[str] = (OPERATOR_USER,),
        directory: Path | None = None,
        report: Report = print_progress,
    ) -> None:
        self._binaries = find_binaries(report=report)
        if directory is None:
            directory = Path(tempfile.mkdtemp(prefix="thalweg-plane-"))
        else:
            directory.mkdir(parents=True)
        self._layout = Layout(root=directory)
        super().__init__(kubeconfig=self._layout.kubeconfig, kubectl=self._binaries["kubectl"])
        self.tuning = tuning or Tuning()
        self.processes: dict[str, Process] = {}
        self._ports = [Port(), Port(), Port()]
        self._port, self._etcd_port, self._etcd_peer_port = (port.number for port in self._ports)
        try:
            self._start(crds, users)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "ControlPlane":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_ours(self) -> bool:
        """Tell that servers, nodes and audit log are ours."""
        return True

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def directory(self) -> Path:
        """Where everything of this plane lies: logs, configuration, etcd's data."""
        return self._layout.root

    @property
    def audit_log(self) -> Path:
        """The file with one audit event a line."""
        return self._layout.audit_log

    def kubeconfig_for(self, user: str) -> Path:
        """Return the kubeconfig of one of `users`: a name of its own in the audit log."""
        path = self._layout.user_kubeconfig(user)
        if not path.exists():
            raise BedError(f"no user {user}: name it in ControlPlane(users=…)")
        return path

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Return a kubeconfig that acts as an existing service account, with its rights only."""
        token = self.kubectl("create", "token", name, "--namespace", namespace, "--duration=24h")
        path = self._layout.root / f"{namespace}.{name}.kubeconfig"
        servers.write_kubeconfig(
            path, url=self.url, authority=self._layout.authority, token=token.strip()
        )
        return path

    def close(self) -> None:
        """End all processes at once, since nothing of theirs is kept, and remove the directory."""
        for process in reversed(self.processes.values()):
            process.kill()
        self.processes.clear()
        for port in self._ports:
            port.release()
        shutil.rmtree(self._layout.root, ignore_errors=True)

    def stop_server(self) -> None:
        """Kill kube-apiserver; the others go on without it."""
        self.processes["kube-apiserver"].kill()

    def restart_server(self) -> None:
        """Start kube-apiserver again, on the same port and data, and wait until it is ready."""
        self.stop_server()
        self._start_server()

    def stop_kwok(self) -> None:
        """Silence all nodes at once, and leave pods as they are."""
        self.processes["kwok"].kill()

    def start_kwok(self) -> None:
        """Let the nodes speak again."""
        # Each KWOK has a name of its own and would wait for its predecessor's leases to run out.
        self.kubectl("delete", "leases", "--all", "--namespace", "kube-node-lease")
        self._start_kwok()

    def silence_node(self, name: str) -> None:
        """Stop one node's heartbeat and its pods' progress, as if the machine were unplugged.

        The controller manager finds it NotReady after the tuning's `node_monitor_grace_period_s`.
        """
        self._label_node(name, servers.KWOK_SILENT)

    def wake_node(self, name: str) -> None:
        """Let a silent node speak again; it turns Ready at once."""
        self._label_node(name, servers.KWOK_AWAKE)

    def _label_node(self, name: str, value: str) -> None:
        self.kubectl("label", "node", name, "--overwrite", f"{servers.KWOK_LABEL}={value}")

    def _start(self, crds: Sequence[Path], users: Sequence[str]) -> None:
        subprocess.run(
            [self._binaries["certificates"], self._layout.root], check=True, capture_output=True
        )
        servers.write_configuration(self._layout, url=self.url, tuning=self.tuning, users=users)
        etcd = servers.etcd_command(
            self._binaries["etcd"],
            self._layout,
            port=self._etcd_port,
            peer_port=self._etcd_peer_port,
        )
        self._run("etcd", etcd, sweep=self._layout.root)
        self._start_server()
        # Before the controller manager: its disruption controller learns of a `scale` subresource
        # only when it starts, and then every half minute.
        self.install(crds)
        self._start_controllers()
        self._start_kwok()
        eventually(
            lambda: self._run_on() and self.kubectl("get", "serviceaccount", "default"),
            timeout_s=READY_S,
            what="the controller manager's first service account",
        )

    def _start_server(self) -> None:
        command = servers.server_command(
            self._binaries["kube-apiserver"],
            self._layout,
            port=self._port,
            etcd_port=self._etcd_port,
            tuning=self.tuning,
        )
        server = self._run("kube-apiserver", command)
        eventually(
            lambda: self._run_on() and self._is_server_ready(),
            timeout_s=READY_S,
            every_s=0.1,
            what="kube-apiserver ready",
            show=server.log_tail,
        )

    def _start_controllers(self) -> None:
        self._run(
            "kube-controller-manager",
            servers.controller_manager_command(
                self._binaries["kube-controller-manager"], self._layout, tuning=self.tuning
            ),
        )
        self._run(
            "kube-scheduler",
            servers.scheduler_command(self._binaries["kube-scheduler"], self._layout),
        )

    def _start_kwok(self) -> None:
        command = servers.kwok_command(self._binaries["kwok"], self._layout, tuning=self.tuning)
        self._run("kwok", command)

    def _run(self, name: str, command: list[str], *, sweep: Path | None = None) -> Process:
        process = Process(name, command, log=self._layout.log(name), sweep=sweep)
        self.processes[name] = process
        return process

    def _run_on(self) -> bool:
        """Raise ProcessDied if any server has ended, so that nobody waits for the dead."""
        for process in self.processes.values():
            process.require_running()
        return True

    def _is_server_ready(self) -> bool:
        trust = ssl.create_default_context(cafile=str(self._layout.authority))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=10.0, context=trust
        )
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    def _kubectl_cache(self) -> str:
        return str(self._layout.root / "kubectl-cache")
