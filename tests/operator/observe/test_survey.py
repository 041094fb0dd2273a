"""What a task's pods are, decides what happens to them: a table of every state."""

from dataclasses import dataclass, replace

import pytest

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.survey import Why
from thalweg_operator_worlds import NOW_S, TWO_NODES, incarnation, look, node, pod

OLD = "old0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Pods of task 0, newest last, and what should follow; pods are named by incarnation."""

    says: str
    pods: tuple[PodFact, ...] = ()
    nodes: tuple[NodeFact, ...] = TWO_NODES
    need: Why | None = None
    replaces: int | None = None
    pinned: bool = True
    retire: tuple[tuple[int, Why], ...] = ()
    delete: tuple[tuple[int, Why], ...] = ()
    holder: int | None = None
    server: int | None = None


def silent(seconds: float) -> tuple[NodeFact, ...]:
    return (node("n1", ready=False, changed_at_s=NOW_S - seconds), node("n2", domain="b"))


def refused(number: int, *, planned: str | None = None) -> PodFact:
    return pod(0, number, on=None, planned=planned, unschedulable_since_s=NOW_S - 15)


STARTING = pod(0, 1, ready=False)
READY = pod(0, 1)
UNBOUND = pod(0, 1, on=None, planned="n1")
REFUSED = refused(1, planned="n1")

CASES = (
    Case(says="no pod", need=Why.FIRST),
    Case(says="starting", pods=(STARTING,), holder=1),
    Case(says="ready", pods=(READY,), holder=1, server=1),
    Case(says="not bound yet", pods=(UNBOUND,), holder=1),
    # Lost.
    Case(
        says="failed",
        pods=(pod(0, 1, phase="Failed"),),
        need=Why.FAILED,
        delete=((1, Why.FAILED),),
    ),
    Case(
        says="completed, which a task never should",
        pods=(pod(0, 1, phase="Succeeded"),),
        need=Why.FAILED,
        delete=((1, Why.FAILED),),
    ),
    Case(
        says="failed at once: its successor waits, and it stays as the memory of that",
        pods=(pod(0, 1, phase="Failed", created_at_s=NOW_S - 9.9),),
    ),
    Case(
        says="failed at once, long enough ago",
        pods=(pod(0, 1, phase="Failed", created_at_s=NOW_S - 10),),
        need=Why.FAILED,
        delete=((1, Why.FAILED),),
    ),
    Case(
        says="failed, made in the future by a clock that is wrong",
        pods=(pod(0, 1, phase="Failed", created_at_s=NOW_S + 3600),),
        need=Why.FAILED,
        delete=((1, Why.FAILED),),
    ),
    Case(
        says="failed and already being deleted: nothing is remembered",
        pods=(pod(0, 1, phase="Failed", created_at_s=NOW_S - 1, deleting=True),),
        need=Why.FAILED,
    ),
    Case(
        says="the successor failed at once: what serves goes on, the next try waits",
        pods=(
            pod(0, 1, template_hash=OLD),
            pod(0, 2, phase="Failed", created_at_s=NOW_S - 1),
        ),
        holder=1,
        server=1,
    ),
    Case(says="being deleted", pods=(pod(0, 1, deleting=True),), need=Why.LOST),
    Case(
        says="node gone",
        pods=(pod(0, 1, on="n9"),),
        need=Why.NODE_LOST,
        delete=((1, Why.NODE_LOST),),
    ),
    Case(says="node silent for a moment", pods=(STARTING,), nodes=silent(29.9), holder=1),
    Case(
        says="node silent for too long: replaced, but not ended before another serves",
        pods=(READY,),
        nodes=silent(30),
        need=Why.NODE_LOST,
    ),
    Case(
        says="node silent, the successor starts",
        pods=(READY, pod(0, 2, on="n2", ready=False)),
        nodes=silent(30),
        holder=2,
    ),
    Case(
        says="node silent, the successor serves",
        pods=(READY, pod(0, 2, on="n2")),
        nodes=silent(30),
        delete=((1, Why.NODE_LOST),),
        holder=2,
        server=2,
    ),
    Case(
        says="the silent node is heard again before the successor is ready",
        pods=(READY, pod(0, 2, on=None)),
        holder=2,
        server=1,
    ),
    Case(
        says="node not ready, nobody knows since when",
        pods=(STARTING,),
        nodes=(node("n1", ready=False, changed_at_s=None),),
        holder=1,
    ),
    Case(
        says="the lost pod's successor starts",
        pods=(pod(0, 1, on="n9"), pod(0, 2, on="n2", ready=False)),
        delete=((1, Why.NODE_LOST),),
        holder=2,
    ),
    # Making way.
    Case(
        says="template changed",
        pods=(pod(0, 1, template_hash=OLD),),
        need=Why.CHANGED,
        replaces=1,
        holder=1,
        server=1,
    ),
    Case(
        says="template changed before the pod was ready",
        pods=(pod(0, 1, template_hash=OLD, ready=False),),
        need=Why.CHANGED,
        delete=((1, Why.CHANGED),),
    ),
    Case(
        says="template hash taken away",
        pods=(pod(0, 1, labels={naming.TEMPLATE_HASH: ""}),),
        need=Why.CHANGED,
        replaces=1,
        holder=1,
        server=1,
    ),
    Case(
        says="successor not ready yet",
        pods=(pod(0, 1, template_hash=OLD), pod(0, 2, on="n2", ready=False)),
        holder=2,
        server=1,
    ),
    Case(
        says="successor ready",
        pods=(pod(0, 1, template_hash=OLD), pod(0, 2, on="n2")),
        retire=((1, Why.SUPERSEDED),),
        holder=2,
        server=2,
    ),
    Case(
        says="successor starts, and the old pod has stopped serving meanwhile",
        pods=(pod(0, 1, template_hash=OLD, ready=False), pod(0, 2, ready=False)),
        delete=((1, Why.SUPERSEDED),),
        holder=2,
    ),
    Case(
        says="template changed again during the roll",
        pods=(pod(0, 1, template_hash=OLD), pod(0, 2, template_hash="old1", ready=False)),
        need=Why.CHANGED,
        replaces=1,
        delete=((2, Why.CHANGED),),
        holder=1,
        server=1,
    ),
    Case(
        says="template changed again just when the successor was ready",
        pods=(pod(0, 1, template_hash=OLD), pod(0, 2, template_hash="old1")),
        need=Why.CHANGED,
        replaces=2,
        retire=((1, Why.CHANGED),),
        holder=2,
        server=2,
    ),
    Case(
        says="the change was taken back: what serves is right again",
        pods=(READY, pod(0, 2, template_hash=OLD, ready=False)),
        delete=((2, Why.CHANGED),),
        holder=1,
        server=1,
    ),
    Case(
        says="node cordoned",
        pods=(READY,),
        nodes=(node("n1", cordoned=True), TWO_NODES[1]),
        need=Why.DRAINING,
        replaces=1,
        holder=1,
        server=1,
    ),
    Case(
        says="node being deleted, but it still runs",
        pods=(READY,),
        nodes=(node("n1", deleting=True), TWO_NODES[1]),
        need=Why.DRAINING,
        replaces=1,
        holder=1,
        server=1,
    ),
    Case(
        says="node uncordoned while the successor starts: the newest wins all the same",
        pods=(READY, pod(0, 2, on="n2", ready=False)),
        holder=2,
        server=1,
    ),
    # Not bound.
    Case(
        says="refused for a moment",
        pods=(pod(0, 1, on=None, planned="n1", unschedulable_since_s=NOW_S - 14),),
        holder=1,
    ),
    Case(
        says="refused for too long: kube-scheduler chooses",
        pods=(REFUSED,),
        need=Why.STUCK,
        pinned=False,
        delete=((1, Why.STUCK),),
    ),
    Case(
        says="refused, but nobody knows since when",
        pods=(replace(REFUSED, unschedulable_since_s=None),),
        holder=1,
    ),
    Case(
        says="refused because its node is silent: a new plan knows better",
        pods=(REFUSED,),
        nodes=silent(20),
        need=Why.STUCK,
        delete=((1, Why.STUCK),),
    ),
    Case(
        says="refused with a template that has changed since: the new one may fit",
        pods=(replace(REFUSED, labels={**REFUSED.labels, naming.TEMPLATE_HASH: OLD}),),
        need=Why.CHANGED,
        delete=((1, Why.CHANGED),),
    ),
    Case(
        says="fits nowhere, bound to no plan: waits for ever",
        pods=(pod(0, 1, on=None, unschedulable_since_s=NOW_S - 9999),),
        holder=1,
    ),
    Case(
        says="planned node gone",
        pods=(pod(0, 1, on=None, planned="n9"),),
        need=Why.STUCK,
        delete=((1, Why.STUCK),),
    ),
    Case(
        says="planned node cordoned",
        pods=(UNBOUND,),
        nodes=(node("n1", cordoned=True),),
        need=Why.STUCK,
        delete=((1, Why.STUCK),),
    ),
    Case(
        says="plan spoilt by hand",
        pods=(pod(0, 1, on=None, planned=""),),
        need=Why.STUCK,
        delete=((1, Why.STUCK),),
    ),
    Case(
        says="bound elsewhere than planned, as a domain allows",
        pods=(pod(0, 1, on="n2", planned="n9"),),
        holder=1,
        server=1,
    ),
    Case(
        says="successor refused while a changed pod serves",
        pods=(pod(0, 1, template_hash=OLD), refused(2, planned="n1")),
        need=Why.STUCK,
        replaces=1,
        pinned=False,
        delete=((2, Why.STUCK),),
        holder=1,
        server=1,
    ),
    Case(
        says="successor without a plan finds no room while a changed pod serves: planned anew",
        pods=(pod(0, 1, template_hash=OLD), refused(2)),
        need=Why.STUCK,
        replaces=1,
        delete=((2, Why.STUCK),),
        holder=1,
        server=1,
    ),
    Case(
        says="a move that cannot be made is given up",
        pods=(READY, pod(0, 2, on=None, planned="n9")),
        delete=((2, Why.STUCK),),
        holder=1,
        server=1,
    ),
    # Retiring.
    Case(
        says="retiring for a while",
        pods=(pod(0, 1, retired_at_s=NOW_S - 59), pod(0, 2)),
        holder=2,
        server=2,
    ),
    Case(
        says="retired long enough",
        pods=(pod(0, 1, retired_at_s=NOW_S - 60), pod(0, 2)),
        delete=((1, Why.SUPERSEDED),),
        holder=2,
        server=2,
    ),
    Case(
        says="retiring since a time that cannot be read",
        pods=(pod(0, 1, retired_at_s=0, annotations={naming.RETIRED_AT: "noon"}), pod(0, 2)),
        delete=((1, Why.SUPERSEDED),),
        holder=2,
        server=2,
    ),
    Case(
        says="retiring since a moment ahead: two clocks",
        pods=(pod(0, 1, retired_at_s=NOW_S + 5), pod(0, 2)),
        holder=2,
        server=2,
    ),
    Case(
        says="retiring since far ahead: spoilt",
        pods=(pod(0, 1, retired_at_s=NOW_S + 10**6), pod(0, 2)),
        delete=((1, Why.SUPERSEDED),),
        holder=2,
        server=2,
    ),
    Case(
        says="only a retiring pod: it does not come back",
        pods=(pod(0, 1, retired_at_s=NOW_S),),
        need=Why.FIRST,
    ),
    # Labels that somebody has spoilt.
    Case(
        says="set aside: it names no task",
        pods=(pod(0, 1, labels={naming.TASK: "x"}),),
        need=Why.FIRST,
    ),
    Case(
        says="of another vertex",
        pods=(pod(0, 1, labels={naming.VERTEX: "other"}),),
        need=Why.FIRST,
    ),
    Case(
        says="incarnation taken away: it is older than any other",
        pods=(pod(0, 1, labels={naming.INCARNATION: ""}), pod(0, 2)),
        retire=((0, Why.SUPERSEDED),),
        holder=2,
        server=2,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_a_task(case: Case) -> None:
    found = look(*case.pods, nodes=case.nodes)
    task = TaskKey(vertex="split", index=0)
    assert [(need.task, need.why) for need in found.needs] == (
        [] if case.need is None else [(task, case.need)]
    )
    for need in found.needs:
        assert (incarnation(need.replaces), need.pinned) == (case.replaces, case.pinned)
    endings = [
        tuple((incarnation(end.pod), end.why) for end in ends)
        for ends in (found.retire, found.delete)
    ]
    assert endings == [case.retire, case.delete]
    assert incarnation(found.holders.get(task)) == case.holder
    assert incarnation(found.serving.get(task)) == case.server
    assert found.waiting == (() if case.server else (task,))
    assert found.disrupted == len(found.waiting)
