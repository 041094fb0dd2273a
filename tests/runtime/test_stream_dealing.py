"""Who gets which tuples of a batch: the same as if each had been asked for alone, in order."""

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.dealing import Dealing, parted
from thalweg_runtime.worker.frames import Batch, encoded
from thalweg_runtime.worker.link import Parcel
from thalweg_scheduling.group import KEY_GROUPS, Receiver, joined_key, key_group, picker_for
from thalweg_scheduling.model.graph import GroupingType

NAMES = ("a", "b", "c")
HALF = KEY_GROUPS // 2
RECEIVERS = (
    Receiver(name="a", weight=1.0, key_groups=((0, HALF - 1),)),
    Receiver(name="b", weight=2.0, key_groups=((HALF, KEY_GROUPS - 9),)),
    Receiver(name="c", weight=5.0),
)
"""The last few key groups have no owner."""

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.lists(st.integers(0, 9), max_size=2),
)
records = st.lists(st.dictionaries(st.sampled_from(["k", "l"]), values), min_size=1, max_size=40)


@given(records, st.sampled_from([("k",), ("k", "l"), ()]))
def test_a_key_goes_to_the_owner_of_its_group(
    found: list[dict[str, Any]], keys: tuple[str, ...]
) -> None:
    picker = picker_for(GroupingType.FIELDS, RECEIVERS)
    dealing = Dealing(GroupingType.FIELDS, keys, NAMES, picker)
    for _ in range(2):  # the second time, words are remembered
        dealt = 0
        for to, part, groups in dealing.deal(found):
            for record, group in zip(part, groups, strict=True):
                assert group == key_group(joined_key([record.get(key) for key in keys]))
                owner = "a" if group < HALF else "b" if group <= KEY_GROUPS - 9 else None
                assert to == owner
                dealt += 1
        assert dealt == len(found)


@pytest.mark.parametrize(
    "grouping", [GroupingType.SHUFFLE, GroupingType.WEIGHTED, GroupingType.PARTIAL_KEY]
)
def test_a_batch_is_dealt_as_tuples_would_be_one_by_one(grouping: GroupingType) -> None:
    keys = ("k",) if grouping is GroupingType.PARTIAL_KEY else ()
    sent = [[{"k": f"w{number % 7}"} for number in range(size)] for size in (1, 8, 30)]
    picker = picker_for(grouping, RECEIVERS)
    expected: dict[str, list[Any]] = {}
    for record in chain.from_iterable(sent):
        key = joined_key([record["k"]]) if keys else None
        expected.setdefault(NAMES[picker.pick(key)], []).append(record)
    dealing = Dealing(grouping, keys, NAMES, picker_for(grouping, RECEIVERS))
    got: dict[str | None, list[Any]] = {}
    for batch in sent:
        for to, part, groups in dealing.deal(batch):
            assert not groups
            got.setdefault(to, []).extend(part)
    assert got == expected


def test_a_broadcast_goes_to_everybody_and_global_to_one() -> None:
    found: list[dict[str, Any]] = [{"n": 1}, {"n": 2}]
    everybody = Dealing(GroupingType.BROADCAST, (), NAMES, None).deal(found)
    assert everybody == [(name, found, ()) for name in NAMES]
    one = Dealing(GroupingType.GLOBAL, (), NAMES, picker_for(GroupingType.GLOBAL, RECEIVERS))
    assert one.deal(found) == [("a", found, [0, 0])]


@pytest.mark.parametrize("grouping", [one for one in GroupingType if one.name != "BROADCAST"])
def test_the_only_receiver_gets_everything_and_the_same_groups(grouping: GroupingType) -> None:
    alone = Receiver(name="a", weight=2.0, key_groups=((0, KEY_GROUPS - 1),))
    found: list[dict[str, Any]] = [{"k": number} for number in range(9)]
    ((to, part, groups),) = Dealing(grouping, ("k",), ("a",), picker_for(grouping, [alone])).deal(
        found
    )
    assert (to, part) == ("a", found)
    keyed = [key_group(joined_key([record["k"]])) for record in found]
    expected = {GroupingType.FIELDS: keyed, GroupingType.GLOBAL: [0] * 9}
    assert list(groups) == expected.get(grouping, [])


def test_an_owner_of_nearly_all_groups_does_not_get_the_others() -> None:
    nearly = Receiver(name="a", weight=1.0, key_groups=((0, KEY_GROUPS - 2),))
    dealing = Dealing(
        GroupingType.FIELDS, ("k",), ("a",), picker_for(GroupingType.FIELDS, [nearly])
    )
    parts = dealing.deal([{"k": number} for number in range(20_000)])
    assert {to for to, _, _ in parts} == {"a", None}


def test_where_nobody_is_nobody_gets_it() -> None:
    found: list[dict[str, Any]] = [{"n": 1}]
    nobody: tuple[str, ...] = ()
    for grouping in (GroupingType.BROADCAST, GroupingType.SHUFFLE, GroupingType.FIELDS):
        assert Dealing(grouping, (), nobody, None).deal(found) == [(None, found, ())]


@given(st.lists(st.sampled_from([*NAMES, None]), min_size=1, max_size=30), st.booleans())
def test_parts_keep_the_order(to: list[str | None], has_groups: bool) -> None:
    found: list[dict[str, Any]] = [{"n": place} for place in range(len(to))]
    groups = list(range(len(to))) if has_groups else ()
    parts = parted(found, to, groups)
    assert len({name for name, _, _ in parts}) == len(parts)
    for name, part, its in parts:
        places = [place for place, one in enumerate(to) if one == name]
        assert [record["n"] for record in part] == places
        assert list(its) == (places if has_groups else [])


def test_what_went_over_a_wire_can_be_dealt_out_again() -> None:
    found: list[dict[str, Any]] = [
        {"n": number, "b": b"\xff", "l": [1, "é", None]} for number in range(5)
    ]
    causes = [Cause(lambda: None), Cause(lambda: None)]
    batch = Batch(7, [(2, 0.5), (3, 1.5)], [1, 2, 3, 4, 5], found)
    for content in (batch, encoded(batch)):
        parcel = Parcel(content=content, count=5, runs=[(0, 0.5, causes[0]), (2, 1.5, causes[1])])
        assert list(parcel.entries()) == [
            (found[:2], 0.5, causes[0]),
            (found[2:], 1.5, causes[1]),
        ]
