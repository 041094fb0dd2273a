"""How long an hour takes: runs over time, tuple by tuple and in steps.

A stream of three vertices on 2-core nodes, as in the papers, with Auto deciding every 30 seconds;
then an hour of two papers, by the paper's own strategy and by Auto.
The bar is an hour in a minute: ten million visits of tuples to tasks one by one, or any number in
steps. Interpreted kernels are for whoever has no numba; they do the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.papers import hd, ns
from bench.papers.contest import CONTESTS
from bench.papers.over_time import Run, try_over_time
from bench.papers.systems import Kind, System
from bench.tables import table
from bench.timing import Time, machine, timed
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.graph import Edge, Vertex
from thalweg_scheduling.model.limits import Limits, Permits
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile
from thalweg_scheduling.simulate.events import EventEngine
from thalweg_scheduling.simulate.profiles import Profile, constant, step
from thalweg_scheduling.simulate.stage import Program, stage_of
from thalweg_scheduling.simulate.trial import Mode, Scenario, run_trial

HOUR_S = 3600.0
REPLICAS = {"read": 2, "split": 4, "count": 4}
LINKS = (("read", "split"), ("split", "count"))
NODES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run."""

    name: str
    mode: str
    minutes: float
    visits: float
    time: Time


def main() -> None:
    """Print the table."""
    print(machine())
    print()
    print(render([warm_up(), interpreted(), *hours(), *papers()]))


def hours(duration_s: float = HOUR_S) -> list[Ran]:
    """An hour of a few tuples, and of very many; each steps up in the middle."""
    half_s = duration_s / 2
    return [
        ran("step 600 → 1,200/s", step(600, (1200, half_s)), cpu_s=0.001, duration_s=duration_s),
        ran(
            "step 6,000 → 60,000/s", step(6000, (60_000, half_s)), cpu_s=2e-5, duration_s=duration_s
        ),
    ]


def papers(duration_s: float = HOUR_S) -> list[Ran]:
    """An hour of Ns-Stream's day and of Hd-Stream's rise."""
    runs = (("ns", ns.RUNS[0]), ("hd", hd.RUNS[-1]))
    return [
        of_paper(replace(run, duration_s=duration_s), system)
        for word, run in runs
        for system in CONTESTS[word].over_time
        if system.kind in (Kind.PAPER, Kind.OURS)
    ]


def of_paper(run: Run, system: System) -> Ran:
    """One of a paper's runs."""
    trial, time = timed(lambda: try_over_time(run, system, seed=1))
    vertices = len(run.setting.steps)
    visits = vertices * trial.mean("throughput_per_s") * run.duration_s
    return Ran(
        name=f"{run.name}, {system.name}",
        mode=str(trial.mode),
        minutes=run.duration_s / 60,
        visits=visits,
        time=time,
    )


def warm_up() -> Ran:
    """What compiling costs, once for a machine."""
    return ran("first run, compiling", constant(900), cpu_s=0.001, duration_s=60.0)


def ran(name: str, profile: Profile, *, cpu_s: float, duration_s: float) -> Ran:
    """Run it with Auto."""

    def decider(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan:
        return decide(snapshot, "Auto", now_s=now_s, rng=rng)

    scenario = Scenario(
        snapshot=stream(), program=program(cpu_s), profile=profile, duration_s=duration_s
    )
    trial, time = timed(lambda: run_trial(scenario, decider, seed=1))
    visits = len(REPLICAS) * trial.mean("throughput_per_s") * duration_s
    return Ran(name=name, mode=str(trial.mode), minutes=duration_s / 60, visits=visits, time=time)


def interpreted(duration_s: float = 20.0) -> Ran:
    """Tuple by tuple without numba."""
    snapshot = stream()
    plan = decide(snapshot, "Even", now_s=0.0, rng=np.random.default_rng(1))
    where = [snapshot.nodes.index(plan.assignments[name]) for name in snapshot.task_names]
    placed = stream(np.array(where, dtype=np.int64))
    engine = EventEngine(stage_of(placed, program(0.001)), np.random.default_rng(1))
    _, time = timed(lambda: engine.advance(900.0, duration_s))
    visits = float(engine.collect().processed.sum())
    return Ran(
        name="900/s, interpreted",
        mode=str(Mode.EVENTS),
        minutes=duration_s / 60,
        visits=visits,
        time=time,
    )


def stream(placement: Ints | None = None) -> Snapshot:
    """Three vertices, twelve nodes in four domains."""
    names, tasks = list(REPLICAS), sum(REPLICAS.values())
    return Snapshot(
        topology="hour",
        vertices=tuple(
            Vertex(name=name, replicas=count, max_replicas=8) for name, count in REPLICAS.items()
        ),
        edges=tuple(Edge(source=names.index(a), target=names.index(b)) for a, b in LINKS),
        nodes=tuple(f"n{number}" for number in range(NODES)),
        domains=tuple(f"d{number}" for number in range(4)),
        domain_of=np.arange(NODES) // 3,
        resources=("cpu",),
        demand=np.full((tasks, 1), 0.5),
        capacity=np.full((NODES, 1), 2.0),
        eligible=np.ones((tasks, NODES), dtype=np.bool_),
        placement=np.full(tasks, UNPLACED) if placement is None else placement,
        limits=Limits(permits=Permits(move=True, scale=True)),
    )


def program(cpu_s: float) -> Program:
    """Every vertex takes so long for a tuple, and passes one on."""
    vertices = {name: VertexProfile(cpu_s=cpu_s) for name in REPLICAS}
    vertices["read"] = VertexProfile(cpu_s=cpu_s, offered_per_s=1.0)
    return Program(
        vertices=vertices,
        edges=dict.fromkeys(LINKS, EdgeProfile()),
        parameters=Parameters(serialise_s=cpu_s / 10, deserialise_s=cpu_s / 10),
    )


def render(found: Sequence[Ran]) -> str:
    """One line a run."""
    rows = [
        [
            one.name,
            one.mode,
            f"{one.minutes:.3g}",
            f"{one.visits / 1e6:.3g}",
            f"{one.time.wall_s:.1f}",
            f"{one.time.cpu_s:.1f}",
            f"{one.visits / one.time.cpu_s / 1e6:.3g}",
        ]
        for one in found
    ]
    columns = [
        "run",
        "mode",
        "minutes",
        "million visits",
        "wall s",
        "CPU s",
        "million visits/CPU s",
    ]
    return table(columns, rows)


if __name__ == "__main__":
    main()
