"""Instances are the same for everybody, and what they claim to be."""

import numpy as np
import pytest

from bench.instances import small_instances
from bench.proofs import fingerprint, proof_of, read_proofs
from bench.streams import Size, many_topologies, one_topology
from thalweg_scheduling.model.snapshot import Snapshot

TINY = Size(tasks=300, nodes=20, domains=4)


def components(snapshot: Snapshot) -> int:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    traffic = snapshot.traffic
    assert traffic is not None
    shape = (traffic.tasks, traffic.tasks)
    matrix = csr_matrix((traffic.tuples_per_s, traffic.targets, traffic.indptr), shape=shape)
    found: int = connected_components(matrix, directed=False)[0]
    return found


def test_small_instances_are_many_and_small() -> None:
    instances = list(small_instances())
    assert len(instances) >= 40
    assert len({instance.name for instance in instances}) == len(instances)
    assert max(len(instance.snapshot.tasks) for instance in instances) <= 30


def test_small_instances_are_the_same_each_time() -> None:
    first, second = ([fingerprint(one.snapshot) for one in small_instances()] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def test_every_small_instance_has_a_proof_or_a_bound() -> None:
    proofs = read_proofs()
    found = [proof_of(instance, proofs) for instance in small_instances()]
    assert all(proof is not None for proof in found)
    assert sum(proof.proven for proof in found if proof is not None) >= 40


@pytest.mark.parametrize("make", [many_topologies, one_topology])
def test_a_large_instance_has_its_size(make: type) -> None:
    snapshot = make(TINY, 1)
    assert len(snapshot.tasks) == TINY.tasks
    assert len(snapshot.nodes) == TINY.nodes
    assert len(snapshot.domains) == TINY.domains
    assert snapshot.demand.sum() < snapshot.capacity.sum()
    again = make(TINY, 1)
    assert np.array_equal(again.traffic.tuples_per_s, snapshot.traffic.tuples_per_s)
    other = make(TINY, 2)
    assert fingerprint(other) != fingerprint(snapshot)


def test_one_topology_hangs_together_and_many_do_not() -> None:
    # A forward between vertices of unlike size leaves no task out, so vertices hang together.
    assert components(one_topology(TINY, 1)) < components(many_topologies(TINY, 1))
