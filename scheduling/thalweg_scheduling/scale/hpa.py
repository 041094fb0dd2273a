"""The rule of Kubernetes' HorizontalPodAutoscaler, as a baseline.

Each vertex on its own: the present number times mean utilisation over target, rounded up, left
alone within 10 %. Tasks that were not measured count as idle when it would grow and as exactly on
target when it would shrink. It grows at most to the double or by four, whichever is more, and
shrinks to the most that was wanted in the last five minutes. Busy time stands for CPU: a task of
ours has one thread. It sees neither the graph nor what is held back at the sources.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.graph import Vertex
from thalweg_scheduling.model.memory import Lull, Memory
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.flow import known
from thalweg_scheduling.scale.scaling import Scaling
from thalweg_scheduling.scale.steadying import bounded, lull_is_over, next_lulls

TOLERANCE = 0.1
STABILISATION_S = 300.0


def follow_utilization(
    snapshot: Snapshot, *, now_s: float, memory: Memory | None = None
) -> Scaling:
    """Say what a HorizontalPodAutoscaler on every vertex would say."""
    memory = memory or snapshot.memory
    if snapshot.loads is None:
        missing = Reason(code=ReasonCode.METRICS_MISSING, message="no task was measured yet")
        return Scaling(reasons=(missing,), memory=memory)
    busy = known(snapshot.loads.busy_share)
    target = snapshot.limits.scaling.target_utilization
    wanted = {
        vertex.name: _wanted(vertex, busy[snapshot.vertex_of == v], target)
        for v, vertex in enumerate(snapshot.vertices)
    }
    lulls = next_lulls(snapshot, wanted, memory.lulls if memory else {}, now_s)
    replicas = {}
    for vertex in snapshot.vertices:
        number = _paced(vertex, wanted[vertex.name], lulls, now_s)
        if number != vertex.replicas:
            replicas[vertex.name] = number
    return Scaling(
        replicas=MappingProxyType(replicas),
        reasons=tuple(_reason(vertex, replicas) for vertex in snapshot.vertices),
        wanted=MappingProxyType(wanted),
        memory=Memory(at_s=now_s, lulls=lulls),
    )


def _wanted(vertex: Vertex, busy: Floats, target: float) -> int:
    measured = np.isfinite(busy)
    if not measured.any():
        return vertex.replicas
    ratio = float(np.mean(busy[measured])) / target
    if abs(ratio - 1) <= TOLERANCE:
        return vertex.replicas
    assumed = 0.0 if ratio > 1 else target
    cautious = float(np.mean(np.where(measured, busy, assumed))) / target
    if abs(cautious - 1) <= TOLERANCE or (cautious > 1) != (ratio > 1):
        return vertex.replicas
    number = int(np.ceil(cautious * vertex.replicas - 1e-9))
    return bounded(number, vertex.min_replicas, vertex.max_replicas).replicas


def _paced(vertex: Vertex, wanted: int, lulls: Mapping[str, Lull], now_s: float) -> int:
    present = vertex.replicas
    if wanted >= present:
        return min(wanted, max(2 * present, present + 4))
    lull = lulls[vertex.name]
    over = lull_is_over(lull, after_s=STABILISATION_S, now_s=now_s)
    return lull.most_wanted if over else present


def _reason(vertex: Vertex, replicas: Mapping[str, int]) -> Reason:
    number = replicas.get(vertex.name, vertex.replicas)
    if number == vertex.replicas:
        return Reason(code=ReasonCode.WITHIN_TOLERANCE, message=f"{vertex.name} stays at {number}")
    code = ReasonCode.SCALED_UP if number > vertex.replicas else ReasonCode.SCALED_DOWN
    return Reason(code=code, message=f"{vertex.name} {vertex.replicas}→{number}")
