"""Auto's distance to the proven optimum is within what was promised."""

import statistics

import pytest

from bench.gap import place
from bench.instances import small_instances
from bench.proofs import proof_of, read_proofs
from thalweg_scheduling.strategies import STRATEGIES

MEAN, MOST = 0.03, 0.15


@pytest.mark.slow
def test_auto_is_near_the_optimum() -> None:
    proofs = read_proofs()
    gaps = {}
    for instance in small_instances():
        proof = proof_of(instance, proofs)
        if proof is not None and proof.proven:
            found = place(instance.snapshot, STRATEGIES["Auto"].place, 1)
            assert found.over.nodes == 0
            gaps[instance.name] = found.value / proof.value - 1
    assert len(gaps) >= 40
    assert min(gaps.values()) > -1e-6
    assert statistics.mean(gaps.values()) <= MEAN
    assert {name: gap for name, gap in gaps.items() if gap > MOST} == {}
