"""What pods are counted, numbered and made by: each vertex for itself, or a topology as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from thalweg_operator.act.carry_out import Post
from thalweg_operator.act.making import Batch, SharedBatch
from thalweg_operator.cluster.resources import Object
from thalweg_operator.deciding import Situation
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.survey import Need, Survey
from thalweg_operator.sharing import Membership, host, record_of, senders_of
from thalweg_scheduling.model.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Pods that are looked at together, what they need, and where that goes."""

    survey: Survey
    needs: tuple[Need, ...]
    nodes: Mapping[str, str]
    """By the name of the task or the process."""
    batch: Callable[[Sequence[Post]], Batch | SharedBatch]
    missing: tuple[str, ...] = ()
    """Sentences on what fits nowhere, beyond what the plan says."""
    processes: int | None = None
    """How many there should be; None where each task has a pod of its own."""


def separate_pools(
    situation: Situation, vertices: Mapping[str, Object], plan: Plan
) -> tuple[Pool, ...]:
    """One for each vertex."""
    senders = senders_of(situation.spec)

    def batch_of(name: str) -> Callable[[Sequence[Post]], Batch]:
        spec = next(vertex for vertex in situation.spec.vertices if vertex.name == name)
        return lambda posts: Batch(
            vertex=vertices[name], spec=spec, posts=posts, sends=name in senders
        )

    return tuple(
        Pool(survey=found, needs=found.needs, nodes=plan.assignments, batch=batch_of(name))
        for name, found in situation.surveys.items()
    )


def shared_pool(
    situation: Situation,
    topology: Object,
    pods: Sequence[PodFact],
    seen: tuple[Survey, Membership],
    plan: Plan,
) -> Pool:
    """One for the whole topology, whose tasks share pods."""
    survey, membership = seen
    hosted = host(survey.needs, plan, situation, membership)

    def batch(posts: Sequence[Post]) -> SharedBatch:
        return SharedBatch(
            topology=topology,
            templates={vertex.name: vertex.template for vertex in situation.spec.vertices},
            senders=senders_of(situation.spec),
            posts=posts,
            processes=record_of(hosted.processes),
            pods=pods,
        )

    return Pool(
        survey=survey,
        needs=hosted.needs,
        nodes=hosted.nodes,
        batch=batch,
        missing=hosted.missing,
        processes=len(hosted.processes),
    )
