"""Near-source shares, by the corrected equations; and Storm's locality, which they compete with."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.group import (
    LoadAwareLocal,
    Locality,
    Nearness,
    NearSource,
    Origin,
    Receiver,
    near_source_shares,
)
from thalweg_scheduling.group.near_source import (
    Measured,
    cap_per_s,
    processing_capability,
    routed_shares,
)
from thalweg_scheduling.model.errors import InvalidParameters

HERE = Origin(node="a", domain="east", process="p0")


def test_a_cap_is_the_rate_at_which_a_task_is_busy_for_alpha() -> None:
    busy = processing_capability(busy_s=3.0, window_s=10.0)
    assert busy == pytest.approx(0.3)
    assert cap_per_s(processed_per_s=300, busy_share=busy, alpha=0.6) == pytest.approx(600)
    assert cap_per_s(processed_per_s=0, busy_share=0.0) == float("inf")


@pytest.mark.parametrize(
    ("sends", "receivers", "shares"),
    [
        # All of it fits into the own process.
        (100, [(Nearness.PROCESS, 100, 0), (Nearness.NODE, 100, 0)], [1, 0]),
        # The process takes its cap, the node what is left.
        (200, [(Nearness.PROCESS, 50, 0), (Nearness.NODE, 200, 0)], [0.25, 0.75]),
        # What others already send to it is not free any more.
        (200, [(Nearness.NODE, 150, 50), (Nearness.ELSEWHERE, 400, 0)], [0.5, 0.5]),
        # Within a circle by what is spare.
        (100, [(Nearness.DOMAIN, 90, 0), (Nearness.DOMAIN, 60, 30)], [0.75, 0.25]),
        # A full neighbour gets nothing.
        (100, [(Nearness.NODE, 100, 120), (Nearness.ELSEWHERE, 300, 0)], [0, 1]),
    ],
)
def test_the_nearest_get_their_caps_first(
    sends: float, receivers: list[tuple[Nearness, float, float]], shares: list[float]
) -> None:
    measured = [
        Measured(near=near, cap_per_s=cap, input_per_s=others) for near, cap, others in receivers
    ]
    assert near_source_shares(sends, measured) == pytest.approx(shares)


def test_a_cap_in_the_process_is_shared_by_its_senders() -> None:
    crowded = Measured(near=Nearness.PROCESS, cap_per_s=100, senders=4)
    far = Measured(near=Nearness.ELSEWHERE, cap_per_s=1000)
    assert near_source_shares(100, [crowded, far]) == pytest.approx([0.25, 0.75])


def test_ones_own_tuples_do_not_count_as_anothers_load() -> None:
    mine = Measured(near=Nearness.NODE, cap_per_s=100, input_per_s=100, own_per_s=100)
    assert near_source_shares(100, [mine])[0] == pytest.approx(1)
    far = Measured(near=Nearness.ELSEWHERE, cap_per_s=100)
    assert near_source_shares(100, [mine, far]) == pytest.approx([1, 0])


def test_when_all_are_full_the_idlest_gets_the_rest() -> None:
    full = [
        Measured(near=Nearness.NODE, cap_per_s=50, busy_share=0.9),
        Measured(near=Nearness.ELSEWHERE, cap_per_s=30, busy_share=0.7),
    ]
    assert near_source_shares(100, full) == pytest.approx([0.5, 0.5])


@settings(max_examples=50)
@given(
    st.floats(1, 1000),
    st.lists(
        st.tuples(st.sampled_from(list(Nearness)), st.floats(0.1, 500), st.floats(0, 500)),
        min_size=1,
        max_size=12,
    ),
)
def test_shares_sum_to_one_and_respect_the_caps(
    sends: float, receivers: list[tuple[Nearness, float, float]]
) -> None:
    measured = [Measured(near=near, cap_per_s=cap, input_per_s=got) for near, cap, got in receivers]
    shares = near_source_shares(sends, measured)
    assert sum(shares) == pytest.approx(1)
    spare = [
        one.cap_per_s if one.near is Nearness.PROCESS else max(0.0, one.cap_per_s - one.input_per_s)
        for one in measured
    ]
    if sum(spare) >= sends:
        for share, room in zip(shares, spare, strict=True):
            assert share * sends <= room * (1 + 1e-9) + 1e-9


def at(name: str, node: str, domain: str = "east", weight: float = 1.0) -> Receiver:
    return Receiver(name=name, node=node, domain=domain, weight=weight)


@pytest.mark.parametrize(
    ("receivers", "shares"),
    [
        ([at("r-0", "a"), at("r-1", "b")], {0: 1.0}),
        # One of three is here: it can keep two thirds if senders are on both nodes.
        ([at("r-0", "a"), at("r-1", "b"), at("r-2", "b")], {0: 2 / 3, 1: 1 / 6, 2: 1 / 6}),
        # Nobody on the node: the domain keeps what those beside the receiver there leave.
        ([at("r-0", "b"), at("r-1", "c", "west")], {0: 0.5, 1: 0.5}),
        ([at("r-0", "b", "west"), at("r-1", "c", "west")], {0: 0.5, 1: 0.5}),
        # A planner that gives the receiver here little weight sends the rest on.
        ([at("r-0", "a", weight=0.2), at("r-1", "b", weight=0.8)], {0: 0.4, 1: 0.6}),
    ],
)
def test_a_sender_keeps_near_what_routes_allow(
    receivers: list[Receiver], shares: dict[int, float]
) -> None:
    found = dict(NearSource(receivers, HERE).shares)
    assert found == pytest.approx(shares)


def home(node: str, domain: str = "east") -> Origin:
    return Origin(node=node, domain=domain)


@pytest.mark.parametrize(
    ("senders", "here", "shares"),
    [
        # Two beside one receiver that should get half: each keeps half of what it sends.
        ({home("a"): 2}, "a", {0: 0.5, 1: 0.5}),
        # One of two beside it: it keeps everything, the other sends everything elsewhere.
        ({home("a"): 1, home("c"): 1}, "a", {0: 1.0}),
        ({home("a"): 1, home("c"): 1}, "c", {1: 1.0}),
        # Three of four: two thirds stay, and who has nobody on the node takes the rest.
        ({home("a"): 3, home("c"): 1}, "a", {0: 2 / 3, 1: 1 / 3}),
        ({home("a"): 3, home("c"): 1}, "c", {1: 1.0}),
    ],
)
def test_senders_on_a_node_share_its_receivers(
    senders: dict[Origin, int], here: str, shares: dict[int, float]
) -> None:
    receivers = [at("r-0", "a"), at("r-1", "b")]
    found = dict(NearSource(receivers, home(here), senders=senders).shares)
    assert found == pytest.approx(shares)


places = st.tuples(st.sampled_from("abcd"), st.sampled_from(["east", "west"]))


@given(
    senders=st.dictionaries(places, st.integers(1, 5), min_size=1),
    receivers=st.lists(st.tuples(places, st.floats(0.01, 10)), min_size=1, max_size=8),
)
def test_everybody_gets_what_its_weight_says(
    senders: dict[tuple[str, str], int], receivers: list[tuple[tuple[str, str], float]]
) -> None:
    crowd = [
        at(f"r-{place}", f"{domain}-{node}", domain, weight)
        for place, ((node, domain), weight) in enumerate(receivers)
    ]
    counts = {home(f"{domain}-{node}", domain): n for (node, domain), n in senders.items()}
    got = [0.0] * len(crowd)
    kept = dict.fromkeys((one.node for one in counts), 0.0)
    for origin, count in counts.items():
        shares = routed_shares(crowd, origin, counts)
        assert sum(shares) == pytest.approx(1)
        for place, share in enumerate(shares):
            got[place] += share * count / sum(counts.values())
            if crowd[place].node == origin.node:
                kept[origin.node] += share * count / sum(counts.values())
    total = sum(one.weight for one in crowd)
    assert got == pytest.approx([one.weight / total for one in crowd])
    for origin, count in counts.items():
        here = sum(one.weight for one in crowd if one.node == origin.node) / total
        # What stays on a node is all that is sent there, or all that is wanted there.
        assert kept[origin.node] == pytest.approx(min(here, count / sum(counts.values())))


LOCAL = [at("r-0", "a"), at("r-1", "a"), at("r-2", "b"), at("r-3", "c", "west")]


def test_locality_begins_near_and_goes_out_and_in_with_the_load() -> None:
    picker = LoadAwareLocal(LOCAL, HERE)
    assert {place for place, _ in picker.shares} == {0, 1}
    busy = picker.observed([0.9, 0.9, 0.1, 0.1])
    assert busy.circle is Nearness.DOMAIN
    assert {place for place, _ in busy.shares} == {0, 1, 2}
    assert busy.observed([0.9, 0.9, 0.9, 0.1]).circle is Nearness.ELSEWHERE
    assert busy.observed([0.5, 0.5, 0.5, 0.5]).circle is Nearness.DOMAIN
    assert busy.observed([0.1, 0.1, 0.1, 0.1]).circle is Nearness.NODE


def test_locality_moves_weight_to_the_idlest() -> None:
    picker = LoadAwareLocal(LOCAL[:2], HERE)
    for _ in range(4):
        picker = picker.observed([0.3, 0.7])
    assert dict(picker.shares) == pytest.approx({0: 100 / 160, 1: 60 / 160})
    for _ in range(20):
        picker = picker.observed([0.3, 0.7])
    assert dict(picker.shares) == pytest.approx({0: 1.0})
    assert {picker.pick() for _ in range(50)} == {0}
    assert dict(picker.update(LOCAL[:3]).shares) == pytest.approx({0: 1.0})


def test_bounds_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidParameters):
        Locality(nearer_below=0.9, farther_above=0.1)
    with pytest.raises(InvalidParameters):
        Locality(rise=0)
