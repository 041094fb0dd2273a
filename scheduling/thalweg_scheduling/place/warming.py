"""Compiling all kernels, or loading them from the disk, before there is a hurry."""

import numpy as np

from thalweg_scheduling.kernels.compiling import Warmth, can_compile
from thalweg_scheduling.model.graph import Edge, Vertex
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.effort import Effort
from thalweg_scheduling.place.large import packed
from thalweg_scheduling.place.multilevel import place_multilevel
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.terrain import compiled_tools, terrain_of


def warm() -> None:
    """Place a tiny topology by every kernel, where numba is installed."""
    if not can_compile():
        return
    snapshot = _tiny()
    problem = problem_of(snapshot, np.ones(len(snapshot.tasks), dtype=np.bool_))
    terrain = terrain_of(problem, compiled_tools())
    rng = np.random.default_rng(0)
    place_multilevel(terrain, snapshot, Effort(deals=1, anneal_steps=10), rng)
    packed(terrain)
    Warmth.compiled = True


def _tiny() -> Snapshot:
    tasks, nodes = 40, 4
    return Snapshot(
        topology="warm",
        vertices=(Vertex(name="a", replicas=20), Vertex(name="b", replicas=20)),
        edges=(Edge(source=0, target=1),),
        nodes=tuple(f"n{node}" for node in range(nodes)),
        domains=("d0", "d1"),
        domain_of=np.arange(nodes) % 2,
        resources=("cpu",),
        demand=np.ones((tasks, 1)),
        capacity=np.full((nodes, 1), 12.0),
        eligible=np.ones((tasks, nodes), dtype=np.bool_),
        placement=np.full(tasks, UNPLACED),
    )
