"""Every grouping picks as it says it does."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.group import (
    KEY_GROUPS,
    Broadcast,
    Fields,
    Global,
    NearSource,
    NoReceiver,
    Origin,
    PartialKey,
    Picker,
    Receiver,
    Shuffle,
    WChoices,
    Weighted,
    key_group,
    picker_for,
)
from thalweg_scheduling.group.w_choices import HeavyKeys
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.graph import GroupingType

HERE = Origin(node="n0", domain="d0")
KEYLESS = [
    GroupingType.SHUFFLE,
    GroupingType.WEIGHTED,
    GroupingType.NEAR_SOURCE,
    GroupingType.LOAD_AWARE_LOCAL,
    GroupingType.GLOBAL,
]
SPLITTING = [GroupingType.PARTIAL_KEY, GroupingType.W_CHOICES]
PICKING = [*KEYLESS, GroupingType.FIELDS, *SPLITTING]


def crowd(*weights: float, nodes: int = 2) -> list[Receiver]:
    """Receivers on nodes in turn, each owning an even part of the key groups."""
    count = len(weights)
    return [
        Receiver(
            name=f"r-{i}",
            node=f"n{i % nodes}",
            domain="d0",
            weight=weight,
            key_groups=((i * 1024 // count, (i + 1) * 1024 // count - 1),),
        )
        for i, weight in enumerate(weights)
    ]


def counted(picker: Picker, picks: int, keys: Sequence[bytes] = (b"",)) -> Counter[int]:
    return Counter(picker.pick(keys[turn % len(keys)]) for turn in range(picks))


@pytest.mark.parametrize("grouping", PICKING)
def test_the_same_seed_picks_the_same(grouping: GroupingType) -> None:
    keys = [f"k{number}".encode() for number in range(200)]
    first, second = (picker_for(grouping, crowd(1, 2, 3), HERE, seed=5) for _ in range(2))
    assert [first.pick(key) for key in keys] == [second.pick(key) for key in keys]


@pytest.mark.parametrize("grouping", PICKING)
def test_updating_to_others_picks_only_those(grouping: GroupingType) -> None:
    picker = picker_for(grouping, crowd(1, 1, 1, 1), HERE)
    counted(picker, 10)
    after = picker.update(crowd(1, 1))
    assert set(counted(after, 50, [f"k{number}".encode() for number in range(50)])) <= {0, 1}


@pytest.mark.parametrize("grouping", [*KEYLESS, *SPLITTING])
def test_who_has_no_weight_gets_nothing(grouping: GroupingType) -> None:
    picker = picker_for(grouping, crowd(0, 1, 0, 1), HERE)
    assert set(counted(picker, 100, [b"a", b"b", b"c", b"d"])) <= {1, 3}
    with pytest.raises(NoReceiver):
        picker_for(grouping, crowd(0, 0), HERE)
    with pytest.raises(NoReceiver):
        picker_for(grouping, [], HERE)


def test_broadcast_has_targets_and_no_picker() -> None:
    assert Broadcast(crowd(1, 0, 1)).targets == (0, 1, 2)
    assert Broadcast(crowd(1)).update(crowd(1, 1)).targets == (0, 1)
    with pytest.raises(InvalidParameters, match="targets"):
        picker_for(GroupingType.BROADCAST, crowd(1))
    with pytest.raises(NoReceiver):
        Broadcast([])


def test_shuffle_takes_turns_and_goes_on_after_an_update() -> None:
    picker = Shuffle(crowd(1, 1, 1), seed=1)
    assert [picker.pick() for _ in range(4)] == [1, 2, 0, 1]
    assert picker.update(crowd(1, 1, 1, 1)).pick() == 2


def test_global_is_the_first_for_everybody() -> None:
    assert set(counted(Global(crowd(1, 1, 1)), 9)) == {0}


def test_fields_go_to_the_owner_whatever_the_weights() -> None:
    receivers = crowd(1, 0, 5)
    picker = Fields(receivers)
    for number in range(500):
        key = f"word{number}".encode()
        first, last = receivers[picker.pick(key)].key_groups[0]
        assert first <= key_group(key) <= last


def test_a_group_without_owner_is_told() -> None:
    picker = Fields([Receiver(name="r-0", key_groups=((0, 100), (102, 1023)))])
    orphan = next(
        key for key in (f"w{n}".encode() for n in range(100_000)) if key_group(key) == 101
    )
    with pytest.raises(NoReceiver, match="101"):
        picker.pick(orphan)
    assert picker.owners == [None if group == 101 else 0 for group in range(KEY_GROUPS)]


@given(st.integers(1, 5), st.integers(0, 9), st.lists(st.integers(0, 12), max_size=9))
def test_many_picks_are_as_many_single_ones(count: int, seed: int, many: list[int]) -> None:
    whole, single = (Shuffle(crowd(0, *[1] * count), seed=seed) for _ in range(2))
    for number in many:
        assert whole.picks(number) == [single.pick() for _ in range(number)]


@settings(max_examples=30)
@given(st.integers(2, 40), st.lists(st.binary(max_size=8), min_size=1, max_size=60))
def test_a_partial_key_has_two_receivers_at_most(count: int, keys: list[bytes]) -> None:
    picker = PartialKey(crowd(*[1.0] * count))
    got: dict[bytes, set[int]] = {}
    for key in keys * 3:
        got.setdefault(key, set()).add(picker.pick(key))
    for key, places in got.items():
        assert places <= set(picker.candidates(key))
        assert len(set(picker.candidates(key))) == 2


def test_partial_keys_are_more_even_than_whole_ones() -> None:
    keys = [f"w{rank}".encode() for rank in range(200) for _ in range(400 // (rank + 1))]
    receivers = crowd(*[1.0] * 8)
    partial = counted(PartialKey(receivers), len(keys), keys)
    whole = counted(Fields(receivers), len(keys), keys)
    assert max(partial.values()) < max(whole.values())
    assert max(partial.values()) < 1.2 * len(keys) / 8


def test_candidates_are_spread_over_all_pairs() -> None:
    picker = PartialKey(crowd(*[1.0] * 6))
    pairs = {picker.candidates(f"{number:06}".encode()) for number in range(2000)}
    assert len(pairs) == 30


@pytest.mark.parametrize("make", [PartialKey, WChoices])
def test_a_newcomer_does_not_get_everything(
    make: Callable[[Sequence[Receiver]], PartialKey | WChoices],
) -> None:
    keys = [f"k{number}".encode() for number in range(300)]
    picker = make(crowd(1, 1))
    counted(picker, 3000, keys)
    after = counted(picker.update(crowd(1, 1, 1)), 300, keys)
    assert after[2] < 180


def test_w_choices_spread_a_key_that_two_could_not_carry() -> None:
    keys = [b"hot", b"hot", b"hot", *(f"k{number}".encode() for number in range(3))]
    receivers = crowd(*[1.0] * 10)
    wide = counted(WChoices(receivers, parameters=HeavyKeys(warm_up=100)), 20_000, keys)
    narrow = counted(PartialKey(receivers), 20_000, keys)
    assert max(narrow.values()) > 4000
    assert max(wide.values()) < 3000


@settings(max_examples=30)
@given(st.integers(1, 6), st.lists(st.integers(0, 80), min_size=1, max_size=400))
def test_w_choices_know_the_heavy_keys_within_half_a_threshold(
    count: int, ranks: list[int]
) -> None:
    picker = WChoices(crowd(*[1.0] * count), parameters=HeavyKeys(threshold=1.0, warm_up=0))
    keys = [str(rank * rank // 40).encode() for rank in ranks]
    counted(picker, len(keys), keys)
    for key, times in Counter(keys).items():
        if picker.is_heavy(key):
            assert times * count >= len(keys)
        else:
            assert times * count < 1.5 * len(keys)


def test_w_choices_leave_light_keys_to_two() -> None:
    picker = WChoices(crowd(*[1.0] * 4), parameters=HeavyKeys(warm_up=0))
    keys = [f"k{number}".encode() for number in range(1000)]
    got: dict[bytes, set[int]] = {}
    for key in keys * 5:
        got.setdefault(key, set()).add(picker.pick(key))
    light = [key for key in keys if not picker.is_heavy(key)]
    assert len(light) > 950
    assert max(len(got[key]) for key in light[100:]) <= 2


@settings(max_examples=50)
@given(st.lists(st.floats(0.02, 1.0), min_size=1, max_size=30))
def test_weighted_follows_the_weights_within_one_per_cent(weights: list[float]) -> None:
    counts = counted(Weighted(crowd(*weights)), 5000)
    for place, weight in enumerate(weights):
        assert counts[place] / 5000 == pytest.approx(weight / sum(weights), abs=0.01)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=12))
def test_weighted_meets_the_weights_exactly_after_a_cycle_as_the_paper_does(
    weights: list[int],
) -> None:
    ours = counted(Weighted(crowd(*map(float, weights))), sum(weights))
    assert [ours[place] for place in range(len(weights))] == weights
    assert Counter(_by_the_paper(weights)) == ours


def _by_the_paper(weights: list[int]) -> list[int]:
    """One cycle by Eq 13 to 15."""
    current, picks = [0] * len(weights), []
    for _ in range(sum(weights)):
        effective = [now + weight for now, weight in zip(current, weights, strict=True)]
        chosen = effective.index(max(effective))
        picks.append(chosen)
        current = effective
        current[chosen] -= sum(weights)
    return picks


def test_weighted_mixes_and_begins_with_the_largest() -> None:
    picker = Weighted(crowd(1, 3, 2))
    assert [picker.pick() for _ in range(6)] == [1, 2, 0, 1, 2, 1]


def test_updating_often_does_not_upset_the_shares() -> None:
    picker, counts = Weighted(crowd(1, 4)), Counter[int]()
    for _ in range(500):
        counts[picker.pick()] += 1
        counts[picker.pick()] += 1
        picker = picker.update(crowd(1, 4))
    assert counts[0] == pytest.approx(200, abs=3)


@settings(max_examples=30)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=10).filter(lambda w: sum(w) > 0.1))
def test_near_source_draws_the_shares_it_was_given(shares: list[float]) -> None:
    picker = NearSource(crowd(*[1.0] * len(shares)), shares=shares)
    counts = counted(picker, 4000)
    for place, share in enumerate(shares):
        assert counts[place] / 4000 == pytest.approx(share / sum(shares), abs=0.01)
