"""Whatever happens to a vertex, the survey keeps some laws, and all is well when it is over."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_operator import naming
from thalweg_tiny_cluster import TinyCluster, Turn

Event = Callable[[TinyCluster], None]
NODES = 3
LONGEST_PEACE = 80
"""Turns in which a cluster left in peace has to come to rest."""


def on_pod(number: int, act: Callable[[TinyCluster, str], None]) -> Event:
    def happen(cluster: TinyCluster) -> None:
        if cluster.pods:
            act(cluster, sorted(cluster.pods)[number % len(cluster.pods)])

    return happen


def on_node(number: int, *, ready: bool, cordoned: bool) -> Event:
    return lambda cluster: cluster.change_node(f"n{number}", ready=ready, cordoned=cordoned)


def lose_node(number: int) -> Event:
    def happen(cluster: TinyCluster) -> None:
        cluster.nodes.pop(f"n{number}", None)

    return happen


def setting(name: str, value: object) -> Event:
    return lambda cluster: setattr(cluster, name, value)


def crowd(number: int, cores: int) -> Event:
    def happen(cluster: TinyCluster) -> None:
        cluster.foreign[f"n{number}"] = cores

    return happen


def nothing(cluster: TinyCluster) -> None:
    """Only time goes by."""


numbers = st.integers(0, 9)
some_node = st.integers(0, NODES - 1)
events = st.one_of(
    st.just(nothing),
    st.builds(on_pod, numbers, st.just(TinyCluster.delete_pod)),
    st.builds(on_pod, numbers, st.just(TinyCluster.fail_pod)),
    st.builds(on_node, some_node, ready=st.booleans(), cordoned=st.booleans()),
    st.builds(lose_node, some_node),
    st.builds(lambda number: lambda cluster: cluster.add_node(number), some_node),
    st.builds(setting, st.just("template_hash"), st.sampled_from(["t0", "t1", "t2"])),
    st.builds(setting, st.just("replicas"), st.integers(0, 6)),
    st.builds(crowd, some_node, st.integers(0, 3)),
)
clusters = st.builds(
    TinyCluster,
    cores=st.just((2, 2, 2)) | st.just((4, 3, 4)),
    replicas=st.integers(1, 6),
    surge=st.integers(1, 2),
)


def check_laws(cluster: TinyCluster, turn: Turn) -> None:
    found = turn.survey
    asked = [need.task for need in found.needs]
    assert len(asked) == len(set(asked)), "two pods for one task"
    ended = [end.pod.uid for end in (*found.retire, *found.delete)]
    assert len(ended) == len(set(ended)), "a pod ends in two ways"
    serving = {pod.uid for pod in found.serving.values()}
    assert not serving & set(ended), "a serving pod ends"
    assert len(turn.crowded) <= 1
    relieved = [need for need in found.needs if need.replaces is not None]
    under_way = sum(found.holders[task] is not server for task, server in found.serving.items())
    assert len(relieved) + under_way <= max(cluster.surge, under_way), "more than the surge"


def why_not_at_rest(cluster: TinyCluster) -> str:
    tasks = sorted(pod.labels[naming.TASK] for pod in cluster.pods.values())
    if tasks != [str(index) for index in range(cluster.replicas)]:
        return f"pods of tasks {tasks}"
    for pod in cluster.pods.values():
        if not pod.is_ready:
            return f"{pod.name} is not ready"
        if pod.labels[naming.TEMPLATE_HASH] != cluster.template_hash:
            return f"{pod.name} has an old template"
        if pod.labels[naming.STATE] != naming.ACTIVE:
            return f"{pod.name} retires"
    return ""


@settings(max_examples=50)
@given(cluster=clusters, story=st.lists(events, max_size=25))
def test_laws_and_rest(cluster: TinyCluster, story: list[Event]) -> None:
    for event in story:
        event(cluster)
        check_laws(cluster, cluster.turn())
        cluster.settle()
    cluster.foreign.clear()
    for number in range(NODES):
        cluster.add_node(number)
    for _ in range(LONGEST_PEACE):
        if not why_not_at_rest(cluster):
            break
        check_laws(cluster, cluster.turn())
        cluster.settle()
    assert why_not_at_rest(cluster) == ""
    assert cluster.turn().did_nothing
