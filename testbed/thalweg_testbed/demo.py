"""`make demo`: the closed loop on one machine. No Docker.

A real control plane with 12 simulated nodes in 4 domains, a real Prometheus, the operator, and a
simulated data plane whose metrics follow where the pods really are. A topology is applied; its load
rises fivefold and falls again; the network between its domains gets slower. What the operator
decided, and what came of it, is the summary.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live

from thalweg_testbed.controlplane import ControlPlane
from thalweg_testbed.demo_view import Event, Look, look, summary
from thalweg_testbed.errors import BedError
from thalweg_testbed.loopbed import LoopBed

_ROOT = Path(__file__).resolve().parents[2]
_EXAMPLE = _ROOT / "examples" / "demo.yaml"
_NAME = "word-count"
_RATE_PER_S = 1000
_LOOK_EVERY_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One part of the story: what is done, and for how long it is watched."""

    title: str
    seconds: float
    do: Callable[[LoopBed], None] = lambda _: None


def main() -> int:
    """Tell the story; leaves nothing running."""
    console = Console(highlight=False)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="thalweg-demo-") as folder,
            ControlPlane(crds=sorted((_ROOT / "crds").glob("*.yaml"))) as plane,
        ):
            console.print("==> 12 simulated nodes in 4 domains")
            plane.add_nodes(domains=4, per_domain=3, cpu="4")
            console.print("==> Prometheus, a simulated data plane, thalweg operator")
            with LoopBed(plane, Path(folder), rate_per_s=_RATE_PER_S) as bed:
                _tell(console, bed)
    except BedError as error:
        console.print(f"error: {error}", style="red")
        return 1
    console.print("==> everything is stopped; nothing is left behind")
    return 0


def story() -> tuple[Act, ...]:
    """What happens, in about four minutes."""
    return (
        Act(title=f"kubectl apply -f {_EXAMPLE.relative_to(_ROOT)}", seconds=45, do=_apply),
        Act(title="load × 5", seconds=70, do=lambda bed: bed.turn("rate", {"factor": 5})),
        Act(title="load back to × 1", seconds=75, do=lambda bed: bed.turn("rate", {"factor": 1})),
        Act(title="the network between its domains gets slower", seconds=50, do=_slow_down),
    )


def _apply(bed: LoopBed) -> None:
    bed.cluster.kubectl("apply", "-n", "default", "-f", str(_EXAMPLE))


def _slow_down(bed: LoopBed) -> None:
    """Between the two domains that have most of the tasks."""
    found = _look(bed).by_domain
    busiest = sorted(found, key=lambda domain: -sum(found[domain].values()))[:2]
    bed.turn("latency", {"between": busiest, "latency_s": 0.08})


def _tell(console: Console, bed: LoopBed) -> None:
    done: list[Event] = []
    looks: list[Look] = []
    for act in story():
        console.print(f"\n==> {act.title}")
        act.do(bed)
        done.append(Event(at_s=time.time(), text=act.title, is_decision=False))
        looks += _watch(console, bed, act)
    console.print("\nWhat happened, and what the operator decided:\n")
    for line in summary(done, looks):
        console.print(line, soft_wrap=True)
    console.print("\n$ kubectl get stopo")
    console.print(bed.cluster.kubectl("get", "stopo", "-n", "default").rstrip(), soft_wrap=True)


def _watch(console: Console, bed: LoopBed, act: Act) -> list[Look]:
    """Look again and again until the act is over."""
    ends, looks = time.monotonic() + act.seconds, [_look(bed)]
    if console.is_terminal:
        with Live(looks[-1].view(act.title), console=console, auto_refresh=False) as live:
            while time.monotonic() < ends:
                time.sleep(_LOOK_EVERY_S)
                looks.append(_look(bed))
                live.update(looks[-1].view(act.title), refresh=True)
        return looks
    seen = ""
    while time.monotonic() < ends:
        time.sleep(_LOOK_EVERY_S)
        looks.append(_look(bed))
        if looks[-1].ready + str(looks[-1].by_domain) != seen:
            seen = looks[-1].ready + str(looks[-1].by_domain)
            console.print(f"    {looks[-1].line()}", soft_wrap=True)
    console.print(f"    {looks[-1].line()}", soft_wrap=True)
    return looks


def _look(bed: LoopBed) -> Look:
    """Read the topology, its pods and the nodes, and ask the data plane what flows."""
    cluster = bed.cluster
    flowing = [one for one in bed.state()["topologies"] if one["name"] == _NAME]
    return look(
        cluster.get("stopo", _NAME, "-n", "default"),
        cluster.get("pods", "-n", "default", "-l", f"thalweg.dev/topology={_NAME}")["items"],
        cluster.get("nodes")["items"],
        flowing[0] if flowing else {},
        time.time(),
    )


if __name__ == "__main__":
    sys.exit(main())
