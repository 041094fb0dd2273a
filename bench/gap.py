"""How far strategies are from the optimum that CP-SAT proves; instances of at most 30 tasks."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.instances import Instance, small_instances
from bench.peers import Violations, violations
from bench.proofs import Proof, proof_of, read_proofs
from bench.tables import percent, table
from bench.timing import SEEDS
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.proposal import Strategy
from thalweg_scheduling.strategies import STRATEGIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a strategy made of one instance."""

    value: float
    """J; infinite where not every task got a node."""
    over: Violations


def place(snapshot: Snapshot, strategy: Strategy, seed: int) -> Found:
    """Place everything and look at it."""
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    proposal = strategy(snapshot, movable=everyone, rng=np.random.default_rng(seed))
    if proposal.missing:
        return Found(value=np.inf, over=Violations(nodes=0, worst=np.nan))
    return Found(value=objective(snapshot, proposal.node), over=violations(snapshot, proposal.node))


def run(instances: Sequence[Instance], strategies: Mapping[str, Strategy]) -> str:
    """The table of all instances, and the summary of those with a proof."""
    proofs = read_proofs()
    rows, gaps = [], {name: list[float]() for name in strategies}
    for instance in instances:
        proof = proof_of(instance, proofs)
        if proof is None:
            rows.append((instance.name, *["not proven yet"] + [""] * len(strategies)))
            continue
        found = {
            name: [place(instance.snapshot, strategy, seed) for seed in SEEDS]
            for name, strategy in strategies.items()
        }
        rows.append((instance.name, _told(proof), *(_cell(f, proof) for f in found.values())))
        if proof.proven:
            for name, each in found.items():
                gaps[name] += [one.value / proof.value - 1 for one in each]
    return "\n\n".join(
        [
            table(("instance", "optimum", *strategies), rows),
            table(("gap to the proven optimum", "mean", "most", "not placed"), _summary(gaps)),
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


def _summary(gaps: Mapping[str, Sequence[float]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, every in gaps.items():
        finite = [gap for gap in every if np.isfinite(gap)]
        lost = f"{(len(every) - len(finite)) // len(SEEDS)}"
        if finite:
            rows.append((name, percent(statistics.mean(finite)), percent(max(finite)), lost))
    return rows


def main() -> None:
    """All small instances, every strategy, five seeds: the least and the most over seeds."""
    print(run(list(small_instances()), STRATEGIES))
