"""How far strategies are from the optimum that CP-SAT proves; instances of at most 30 tasks."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.instances import Instance, small_instances
from bench.peers import Violations, violations
from bench.proofs import Proof, proof_of, read_proofs
from bench.tables import percent, table
from bench.timing import SEEDS, Time, spread, timed
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.baselines import BASELINES
from thalweg_scheduling.place.proposal import Placer
from thalweg_scheduling.strategies import STRATEGIES

SUMMARY = ("gap to the proven optimum", "median", "mean", "most", "not placed", "CPU s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a strategy made of one instance."""

    value: float
    """J; infinite where not every task got a node."""
    over: Violations
    time: Time


def place(snapshot: Snapshot, strategy: Placer, seed: int) -> Found:
    """Place everything and look at it."""
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    rng = np.random.default_rng(seed)
    proposal, time = timed(lambda: strategy(snapshot, movable=everyone, rng=rng))
    return Found(
        value=np.inf if proposal.missing else objective(snapshot, proposal.node),
        over=violations(snapshot, proposal.node),
        time=time,
    )


def run(instances: Sequence[Instance], strategies: Mapping[str, Placer]) -> str:
    """The table of all instances for strategies of the API, and a summary for everybody."""
    proofs = read_proofs()
    shown = [name for name in strategies if name in STRATEGIES]
    rows = []
    counted: dict[str, list[tuple[float, Found]]] = {name: [] for name in strategies}
    for instance in instances:
        proof = proof_of(instance, proofs)
        if proof is None:
            rows.append((instance.name, *["not proven yet"] + [""] * len(shown)))
            continue
        found = {
            name: [place(instance.snapshot, strategy, seed) for seed in SEEDS]
            for name, strategy in strategies.items()
        }
        rows.append((instance.name, _told(proof), *(_cell(found[name], proof) for name in shown)))
        if proof.proven:
            for name, each in found.items():
                counted[name] += [(one.value / proof.value - 1, one) for one in each]
    return "\n\n".join(
        [
            table(("instance", "optimum", *shown), rows),
            table(SUMMARY, _summary(counted)),
        ]
    )


def _told(proof: Proof) -> str:
    if proof.proven:
        return f"{proof.value:.5g}"
    return f"≥ {proof.bound:.5g} (best {proof.value:.5g})"


def _cell(found: Sequence[Found], proof: Proof) -> str:
    values = [one.value for one in found]
    if not np.isfinite(max(values)):
        return "not placed"
    over = max(one.over.nodes for one in found)
    words = [percent(value / proof.value - 1) for value in (min(values), max(values))]
    return " … ".join(dict.fromkeys(words)) + (f", {over} overloaded" if over else "")


def _summary(counted: Mapping[str, Sequence[tuple[float, Found]]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, every in counted.items():
        finite = [gap for gap, _ in every if np.isfinite(gap)]
        if finite:
            lost = f"{(len(every) - len(finite)) // len(SEEDS)}"
            numbers = (statistics.median(finite), statistics.mean(finite), max(finite))
            told = (*(percent(number) for number in numbers), lost)
            rows.append((name, *told, spread([found.time.cpu_s for _, found in every])))
    return rows


def main() -> None:
    """All small instances, every strategy, five seeds: the least and the most over seeds."""
    placers = {name: strategy.place for name, strategy in STRATEGIES.items()}
    print(run(list(small_instances()), {**placers, **BASELINES}))
