"""Everything that the closed loop needs, on one machine: plane, Prometheus, simulated data plane
and the operator, each a process of its own.
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

_QUICK: dict[str, Any] = {
    # Patient enough for a machine that is busy with other things: a lost Lease ends the operator.
    "lease": {"duration_s": 12, "renew_deadline_s": 8, "retry_s": 0.5, "margin_s": 1},
    "serving": {"host": "127.0.0.1", "port": 0},
    "pass_interval_s": 2,
    "retire_grace_s": 2,
    "placement_interval_s": 10,
}


class LoopBed:
    """Measures and runs the topologies of a plane. Making one starts it."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        *,
        rate_per_s: float,
        seed: int = 1,
        namespace: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Start the data plane, Prometheus and the operator against a cluster that is there."""
        self.cluster = cluster
        self.folder = folder
        self._port = Port()
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
            folder / "prometheus", {"simulated": f"127.0.0.1:{self._port.number}"}
        )
        self._settings = folder / "settings.yaml"
        measuring = {
            "metrics_sources": {"default": {"url": self.prometheus.url}},
            "condense": {"folder": str(folder / "matrices"), "interval_s": 3},
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

    def turn(self, knob: str, request: Mapping[str, Any]) -> None:
        """Turn a knob of the simulated data plane: rate, latency or network."""
        address = f"http://127.0.0.1:{self._port.number}/{knob}"
        body = json.dumps(request).encode()
        with urllib.request.urlopen(address, data=body, timeout=10) as answer:
            answer.read()

    def close(self) -> None:
        """End everything that was started, the cluster apart."""
        self.operator.stop()
        self.prometheus.close()
        self.data_plane.stop()
        self._port.release()

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
