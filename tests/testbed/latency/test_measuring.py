"""Who probes whom, and what counts as not what was asked for."""

import json
from dataclasses import replace
from ipaddress import IPv4Network

import pytest

from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.links import Link, Links
from thalweg_testbed.latency.measuring import Measured, find_errors, parse_answers, plan_probes

NODES = tuple(
    Node(
        name=f"{domain}{index}",
        domain=domain,
        address=f"172.18.{number}.{index + 1}",
        pods=IPv4Network(f"10.{number}.{index}.0/24"),
    )
    for number, domain in enumerate("abc")
    for index in range(2)
)
LINKS = Links(links={("a", "b"): Link(latency_s=0.01), ("b", "a"): Link(latency_s=0.03)})
GOOD = Measured(
    source="a0",
    target="b0",
    source_domain="a",
    target_domain="b",
    path="pods",
    sent=20,
    answered=20,
    forward_s=0.0105,
    backward_s=0.031,
    round_trip_s=0.0415,
)


def test_every_node_asks_and_is_asked_on_both_paths() -> None:
    probes = list(plan_probes(NODES))
    for path in ("pods", "nodes"):
        own = [probe for probe in probes if probe.path == path]
        assert {probe.source for probe in own} == set(NODES)
        assert {node for probe in own for _, node in probe.targets} == set(NODES)
        assert all(
            {node.domain for _, node in probe.targets} == set("abc") - {probe.source.domain}
            for probe in own
        )


def test_medians_are_taken_of_each_way_by_itself() -> None:
    probe = next(plan_probes(NODES[:4]))
    answer = {"target": probe.targets[0][0], "sent": 3}
    ways = {"forward_s": [0.01, 0.012, 0.09], "backward_s": [0.03, 0.031, 0.029]}
    (measured,) = parse_answers(probe, json.dumps([answer | ways]))
    assert (measured.forward_s, measured.backward_s) == (0.012, 0.03)
    assert measured.round_trip_s == pytest.approx(0.043)
    assert (measured.source, measured.target, measured.answered) == ("a0", "b0", 3)


def test_no_answer_at_all_is_an_error_not_a_crash() -> None:
    probe = next(plan_probes(NODES[:4]))
    answer = {"target": probe.targets[0][0], "sent": 20, "forward_s": [], "backward_s": []}
    (error,) = find_errors(parse_answers(probe, json.dumps([answer])), LINKS)
    assert "0 of 20 probes answered" in error


def test_what_was_asked_for_is_no_error() -> None:
    assert find_errors([GOOD], LINKS) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"forward_s": 0.031, "backward_s": 0.0105}, "there 31.0 ms, asked for 10.0 ms"),
        ({"round_trip_s": 0.047}, "round trip 47.0 ms, asked for 40.0 ms"),
        ({"backward_s": 0.001}, "back 1.0 ms, asked for 30.0 ms"),
        ({"answered": 9}, "9 of 20 probes answered"),
    ],
)
def test_anything_else_is_said(change: dict[str, float], complaint: str) -> None:
    changed = Measured(**{name: getattr(GOOD, name) for name in Measured.__slots__} | change)
    assert any(complaint in line for line in find_errors([changed], LINKS))


def test_short_latencies_may_be_off_by_two_milliseconds() -> None:
    links = Links.symmetric({("a", "b"): 0.001})
    near = replace(GOOD, forward_s=0.0029, backward_s=0.001, round_trip_s=0.0039)
    assert find_errors([near], links) == []
    assert find_errors([replace(near, round_trip_s=0.0041)], links) != []


def test_what_is_lost_on_purpose_is_not_missed() -> None:
    lossy = LINKS.changed({("a", "b"): Link(latency_s=0.01, loss=0.5)})
    assert find_errors([replace(GOOD, answered=6)], lossy) == []
    assert find_errors([replace(GOOD, answered=4)], lossy) != []


def test_jitter_lets_a_median_stray_by_half_of_it() -> None:
    shaky = LINKS.changed({("a", "b"): Link(latency_s=0.01, jitter_s=0.008)})
    assert find_errors([replace(GOOD, forward_s=0.0155)], shaky) == []
    assert find_errors([replace(GOOD, forward_s=0.0165)], shaky) != []
    assert find_errors([replace(GOOD, forward_s=0.0155)], LINKS) != []
