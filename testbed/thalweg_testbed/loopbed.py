"""Everything that the closed loop needs, on one machine: plane, Prometheus, simulated data plane
and the operator, each a process of its own. `DataBed` is the same without the operator.
"""

import json
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thalweg_testbed.cluster import Cluster
from thalweg_testbed.ports import Port
from thalweg_testbed.processes import Process
from thalweg_testbed.prometheus import PrometheusServer
from thalweg_testbed.waiting import eventually

_QUICK: dict[str, Any] = {
    # Patient enough for a machine that is busy with other things: a lost Lease ends the operator.
    "lease": {"duration_s": 12, "renew_deadline_s": 8, "retry_s": 0.5, "margin_s": 1},
    "serving": {"host": "127.0.0.1", "port": 0},
    "pass_interval_s": 2,
    "retire_grace_s": 2,
    "placement_interval_s": 10,
}


class DataBed:
    """Plays the topologies of a plane, and measures them. Making one starts it."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        *,
        rate_per_s: float,
        seed: int = 1,
        scrape_s: float = 1.0,
        namespace: str | None = None,
    ) -> None:
        """Start the data plane and Prometheus against a cluster that is there."""
        self.cluster = cluster
        self.folder = folder
        self._port = Port()
        self._address = f"127.0.0.1:{self._port.number}"
        narrowed = [] if namespace is None else ["--namespace", namespace]
        self.data_plane = Process(
            "simulated data plane",
            [
                *(sys.executable, "-m", "thalweg_runtime.simulated"),
                *("--kubeconfig", str(cluster.kubeconfig), *narrowed),
                *("--profile", str(rate_per_s), "--seed", str(seed)),
                *("--port", str(self._port.number)),
            ],
            log=folder / "data-plane.log",
        )
        self.prometheus = PrometheusServer(
            folder / "prometheus", {"simulated": self._address}, scrape_s=scrape_s
        )
        eventually(
            self._answers, timeout_s=60, what="the data plane", show=self.data_plane.log_tail
        )

    def turn(self, knob: str, request: Mapping[str, Any]) -> None:
        """Turn a knob of the simulated data plane: rate, latency or network."""
        body = json.dumps(request).encode()
        address = f"http://{self._address}/{knob}"
        with urllib.request.urlopen(address, data=body, timeout=10) as answer:
            answer.read()

    def state(self) -> dict[str, Any]:
        """What flows now, as the simulated data plane itself knows it."""
        with urllib.request.urlopen(f"http://{self._address}/state", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def _answers(self) -> bool:
        try:
            return bool(self.state())
        except OSError:
            return False

    def close(self) -> None:
        """End everything that was started, the cluster apart."""
        self.prometheus.close()
        self.data_plane.stop()
        self._port.release()


class LoopBed(DataBed):
    """The same with the operator, which runs the topologies. Making one starts it."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        *,
        rate_per_s: float,
        namespace: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Start the data plane, Prometheus and the operator against a cluster that is there."""
        super().__init__(cluster, folder, rate_per_s=rate_per_s, namespace=namespace)
        self._settings = folder / "settings.yaml"
        measuring = {
            "metrics_sources": {"default": {"url": self.prometheus.url}},
            # Two cores hold a control plane and a loop, or a Spark every three seconds.
            "condense": {"folder": str(folder / "matrices"), "interval_s": 3, "engine": "numpy"},
            "namespaces": [] if namespace is None else [namespace],
        }
        self._settings.write_text(json.dumps({**_QUICK, **measuring, **(settings or {})}))
        self.operator = self._start_operator()

    def __enter__(self) -> "LoopBed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def restart_operator(self) -> None:
        """Kill the operator and start another."""
        self.operator.kill()
        self.operator = self._start_operator()

    def close(self) -> None:
        """End everything that was started, the cluster apart."""
        self.operator.stop()
        super().close()

    def _start_operator(self) -> Process:
        return Process(
            "operator",
            [
                *(sys.executable, "-m", "thalweg_operator", "operator"),
                *("--kubeconfig", str(self.cluster.kubeconfig)),
                *("--settings", str(self._settings)),
            ],
            log=self.folder / "operator.log",
        )
