"""How many tasks each vertex should have.

`decide_replicas` is ours: DS2 with bounds, steps, delays and doubts. `follow_utilization` is the
rule of Kubernetes' HorizontalPodAutoscaler, to compare with. `resized` is the snapshot as it would
be with other numbers of tasks, so that scale and placement are planned together; `offered_views`
what it would be if nothing were held up.
"""

from thalweg_scheduling.model.memory import Lull, Memory, Raise
from thalweg_scheduling.scale.decision import decide_replicas
from thalweg_scheduling.scale.hpa import follow_utilization
from thalweg_scheduling.scale.offered import offered_views
from thalweg_scheduling.scale.queues import look_at_queues
from thalweg_scheduling.scale.resizing import resized
from thalweg_scheduling.scale.scaling import Scaler, Scaling

__all__ = [
    "Lull",
    "Memory",
    "Raise",
    "Scaler",
    "Scaling",
    "decide_replicas",
    "follow_utilization",
    "look_at_queues",
    "offered_views",
    "resized",
]
