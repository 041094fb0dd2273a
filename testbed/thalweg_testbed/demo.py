"""`make demo`: a control plane, the operator, a topology, and its pods by domain. No Docker."""

import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from thalweg_testbed.cluster import Cluster
from thalweg_testbed.controlplane import ControlPlane
from thalweg_testbed.errors import BedError
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually

_ROOT = Path(__file__).resolve().parents[2]
_EXAMPLE = _ROOT / "examples" / "word-count.yaml"
_ZONE = "topology.kubernetes.io/zone"
_VERTEX = "thalweg.dev/vertex"


def main() -> int:
    """Show the thread from `kubectl apply` to bound pods; leaves nothing running."""
    console = Console(highlight=False)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="thalweg-demo-") as folder,
            ControlPlane(crds=sorted((_ROOT / "crds").glob("*.yaml"))) as plane,
        ):
            _show(console, plane, Path(folder))
    except BedError as error:
        console.print(f"error: {error}", style="red")
        return 1
    console.print("==> everything is stopped; nothing is left behind")
    return 0


def _show(console: Console, plane: ControlPlane, folder: Path) -> None:
    console.print("==> 12 simulated nodes in 4 domains")
    plane.add_nodes(domains=4, per_domain=3)
    console.print("==> thalweg operator")
    with start_operator(plane, folder / "operator.log"):
        console.print(f"==> kubectl apply -f {_EXAMPLE.relative_to(_ROOT)}")
        plane.kubectl("apply", "-n", "default", "-f", str(_EXAMPLE))
        _wait_ready(plane)
        console.print("\n$ kubectl get stopo")
        console.print(plane.kubectl("get", "stopo", "-n", "default"))
        console.print(_placement(plane))
        _lose_a_pod(console, plane)
        console.print("==> kubectl delete stopo word-count")
        plane.kubectl("delete", "stopo", "word-count", "-n", "default")
        eventually(lambda: not _pods(plane), what="the topology's pods to be gone")


def start_operator(plane: Cluster, log: Path) -> Process:
    """Start the operator against the plane, as a user would."""
    command = [sys.executable, "-m", "thalweg_operator", "operator"]
    settings = ["--set", "serving.port=0", "--set", "serving.host=127.0.0.1"]
    return Process(
        "operator", [*command, "--kubeconfig", str(plane.kubeconfig), *settings], log=log
    )


def _wait_ready(plane: Cluster) -> None:
    plane.kubectl(
        *("wait", "stopo/word-count", "-n", "default", "--for=condition=Ready", "--timeout=100s")
    )


def _lose_a_pod(console: Console, plane: Cluster) -> None:
    victim = _pods(plane)[0]["metadata"]
    task = victim["name"].rsplit("-", 1)[0]
    console.print(f"\n==> kubectl delete pod {victim['name']}")
    plane.kubectl("delete", "pod", "-n", "default", victim["name"], "--wait=false")
    successor = eventually(
        lambda: [
            pod
            for pod in _pods(plane)
            if pod["metadata"]["name"].rsplit("-", 1)[0] == task
            and pod["metadata"]["uid"] != victim["uid"]
            and pod["spec"].get("nodeName")
        ],
        what=f"{task} to be replaced",
    )[0]
    name, node = successor["metadata"]["name"], successor["spec"]["nodeName"]
    console.print(f"    the operator replaced it: {name} on {node}")


def _placement(plane: Cluster) -> Table:
    """The pods by domain and vertex."""
    domain_of = {
        node["metadata"]["name"]: node["metadata"]["labels"][_ZONE]
        for node in plane.get("nodes")["items"]
    }
    cells: dict[tuple[str, str], list[str]] = defaultdict(list)
    vertices: list[str] = []
    for pod in _pods(plane):
        vertex = pod["metadata"]["labels"][_VERTEX]
        if vertex not in vertices:
            vertices.append(vertex)
        node = pod["spec"]["nodeName"]
        cells[domain_of[node], vertex].append(f"{pod['metadata']['name']} on {node}")
    table = Table("domain", *vertices, title="where the tasks run")
    for domain in sorted(set(domain_of.values())):
        table.add_row(domain, *("\n".join(cells[domain, vertex]) for vertex in vertices))
    return table


def _pods(plane: Cluster) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = plane.get(
        "pods", "-n", "default", "-l", "app.kubernetes.io/managed-by=thalweg"
    )["items"]
    return [pod for pod in found if not pod["metadata"].get("deletionTimestamp")]


if __name__ == "__main__":
    sys.exit(main())
