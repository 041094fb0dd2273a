"""What is wrong with a topology beyond what the API server sees."""

from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_operator.api.topology import (
    BudgetSpec,
    EdgeSpec,
    GroupingSpec,
    MetricsSpec,
    PlacementSpec,
    Processes,
    ReplicasSpec,
    TopologySpec,
    VertexSpec,
)
from thalweg_operator.api.validation import Fault, Offer, Problem, find_cycle, find_problems
from thalweg_scheduling.model.graph import GroupingType

TEMPLATE = {"spec": {"containers": [{"image": "a"}]}}
EVERYTHING = Offer(strategies=["Auto", "Even"], shared_processes=True)


def vertices(names: str) -> tuple[VertexSpec, ...]:
    return tuple(
        VertexSpec(name=name, replicas=ReplicasSpec(), template=TEMPLATE) for name in names
    )


def edges(*pairs: str) -> tuple[EdgeSpec, ...]:
    return tuple(EdgeSpec(source=pair[0], target=pair[1]) for pair in pairs)


def only(problems: Sequence[Problem]) -> tuple[str, str]:
    assert len(problems) == 1, problems
    return problems[0].reason, problems[0].message


def test_a_diamond_is_right() -> None:
    spec = TopologySpec(vertices=vertices("abcd"), edges=edges("ab", "ac", "bd", "cd"))
    assert find_problems(spec, EVERYTHING) == ()


@pytest.mark.parametrize(
    ("pairs", "cycle"),
    [
        (("ab", "ba"), "a → b → a"),
        (("ab", "bc", "ca"), "a → b → c → a"),
        (("ab", "bc", "cd", "db"), "b → c → d → b"),
        (("ab", "ac", "bd", "cd", "da"), "a → b → d → a"),
        (("aa",), "a → a"),
        (("ab", "cd", "dc"), "c → d → c"),
    ],
)
def test_a_cycle_is_named(pairs: tuple[str, ...], cycle: str) -> None:
    spec = TopologySpec(vertices=vertices("abcd"), edges=edges(*pairs))
    assert only(find_problems(spec, EVERYTHING)) == (
        Fault.CYCLE,
        f"vertices form a cycle: {cycle}; remove one of these edges",
    )


@settings(max_examples=50)
@given(st.sets(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=16))
def test_a_cycle_is_found_where_there_is_one(pairs: set[tuple[str, str]]) -> None:
    ordered = sorted(pairs)
    spec = TopologySpec(
        vertices=vertices("abcdefg"),
        edges=tuple(EdgeSpec(source=source, target=target) for source, target in ordered),
    )
    cycle = find_cycle(spec)
    assert (cycle == ()) == nx.is_directed_acyclic_graph(nx.DiGraph(ordered))
    assert set(pairwise(cycle)) <= pairs
    assert cycle[:1] == cycle[-1:]


def test_the_longest_chain_is_walked() -> None:
    names = [f"v{number}" for number in range(64)]
    chain = tuple(EdgeSpec(source=a, target=b) for a, b in pairwise(names))
    back = EdgeSpec(source=names[-1], target=names[0])
    spec = TopologySpec(vertices=(), edges=(*chain, back))
    assert find_cycle(spec) == (*names, names[0])


@pytest.mark.parametrize(
    ("spec", "reason", "says"),
    [
        (TopologySpec(vertices=()), Fault.NO_VERTICES, "add at least one vertex"),
        (
            TopologySpec(vertices=vertices("aa")),
            Fault.DUPLICATE_VERTEX,
            "two vertices are named a; rename one",
        ),
        (
            TopologySpec(
                vertices=(
                    VertexSpec(name="a", replicas=ReplicasSpec(min=3, max=2), template=TEMPLATE),
                )
            ),
            Fault.INVALID_REPLICAS,
            "replicas of vertex a must be 1 ≤ min ≤ initial ≤ max",
        ),
        (
            TopologySpec(
                vertices=(VertexSpec(name="a", replicas=ReplicasSpec(), template={"spec": None}),)
            ),
            Fault.INVALID_TEMPLATE,
            "give vertex a a template with spec.containers[0].image",
        ),
        (
            TopologySpec(vertices=vertices("a"), edges=edges("ax")),
            Fault.UNKNOWN_VERTEX,
            "edge a → x: no vertex is named x; add it or correct the edge",
        ),
        (
            TopologySpec(vertices=vertices("ab"), edges=edges("ab", "ab")),
            Fault.DUPLICATE_EDGE,
            "edge a → b is there twice; remove one",
        ),
        (
            TopologySpec(
                vertices=vertices("ab"),
                edges=(
                    EdgeSpec(
                        source="a", target="b", grouping=GroupingSpec(type=GroupingType.FIELDS)
                    ),
                ),
            ),
            Fault.INVALID_GROUPING,
            "edge a → b: grouping Fields needs keys; name the fields",
        ),
        (
            TopologySpec(
                vertices=vertices("ab"),
                edges=(
                    EdgeSpec(
                        source="a", target="b", grouping=GroupingSpec(type=GroupingType.W_CHOICES)
                    ),
                ),
            ),
            Fault.INVALID_GROUPING,
            "edge a → b: grouping WChoices needs keys; name the fields",
        ),
        (
            TopologySpec(
                vertices=vertices("ab"),
                edges=(EdgeSpec(source="a", target="b", grouping=GroupingSpec(keys=("k",))),),
            ),
            Fault.INVALID_GROUPING,
            "edge a → b: grouping Shuffle takes no keys; remove them",
        ),
    ],
)
def test_a_file_is_looked_at_as_the_api_server_would(
    spec: TopologySpec, reason: Fault, says: str
) -> None:
    assert only(find_problems(spec, EVERYTHING)) == (reason, says)


@pytest.mark.parametrize(
    ("spec", "offer", "reason", "says"),
    [
        (
            TopologySpec(vertices=vertices("a"), strategy="MdStream"),
            EVERYTHING,
            Fault.STRATEGY_UNAVAILABLE,
            "strategy MdStream is not available here; choose one of Auto, Even",
        ),
        (
            TopologySpec(
                vertices=vertices("a"), placement=PlacementSpec(processes=Processes.SHARED)
            ),
            Offer(strategies=["Auto"]),
            Fault.NOT_AVAILABLE,
            "placement.processes Shared is not available here; set it to Separate",
        ),
        (
            TopologySpec(vertices=vertices("a"), metrics=MetricsSpec(source="prod")),
            Offer(strategies=["Auto"], metrics_sources=["default"]),
            Fault.UNKNOWN_METRICS_SOURCE,
            "the operator's settings have no metrics source prod; choose one of default",
        ),
    ],
)
def test_what_is_not_offered_here(
    spec: TopologySpec, offer: Offer, reason: Fault, says: str
) -> None:
    assert only(find_problems(spec, offer)) == (reason, says)


@pytest.mark.parametrize(
    ("budget", "reason", "says"),
    [
        (
            BudgetSpec(max_moves=1, schedule="0 25 * * *", duration_s=60),
            Fault.INVALID_SCHEDULE,
            "'25' is no hour; it must be from 0 to 23",
        ),
        (
            BudgetSpec(max_moves=1, schedule="0 9 * * *"),
            Fault.INVALID_SCHEDULE,
            "a budget needs both schedule and durationSeconds, or neither",
        ),
        (
            BudgetSpec(max_moves=1, schedule="0 9 * * *", time_zone="Mars/Olympus", duration_s=60),
            Fault.INVALID_TIME_ZONE,
            "timeZone 'Mars/Olympus' is not known; use a name such as Europe/Berlin or UTC",
        ),
        (
            BudgetSpec(max_moves=1, schedule="0 9 * * *", time_zone="../etc", duration_s=60),
            Fault.INVALID_TIME_ZONE,
            "timeZone '../etc' is not known",
        ),
    ],
)
def test_a_budget_that_makes_no_sense(budget: BudgetSpec, reason: Fault, says: str) -> None:
    spec = TopologySpec(vertices=vertices("a"), budgets=(budget,))
    found_reason, message = only(find_problems(spec, EVERYTHING))
    assert found_reason == reason
    assert says in message


def test_all_problems_are_found_at_once() -> None:
    spec = TopologySpec(
        vertices=vertices("aab"), edges=edges("ab", "ba", "bx"), strategy="RaStream"
    )
    assert [problem.reason for problem in find_problems(spec, EVERYTHING)] == [
        Fault.DUPLICATE_VERTEX,
        Fault.UNKNOWN_VERTEX,
        Fault.CYCLE,
        Fault.STRATEGY_UNAVAILABLE,
    ]
