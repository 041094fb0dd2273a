"""The hash is a contract: these numbers must never change."""

import pytest

from thalweg_scheduling.group.keys import (
    KEY_GROUPS,
    Field,
    GroupsOfKeys,
    joined_key,
    key_bytes,
    key_group,
)


@pytest.mark.parametrize(
    ("key", "group"),
    [(b"", 0), (b"stream", 540), (b"bed", 255), ("übung".encode(), 845), (b"a\x1f7", 916)],
)
def test_groups_are_for_ever(key: bytes, group: int) -> None:
    assert key_group(key) == group


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("word", b"word"),
        ("ü", b"\xc3\xbc"),
        (b"\x00\xff", b"\x00\xff"),
        (-7, b"-7"),
        (0.1, b"0.1"),
        (True, b"true"),
        (False, b"false"),
        (None, b"null"),
    ],
)
def test_a_field_is_hashed_by_its_text(value: Field, key: bytes) -> None:
    assert key_bytes(value) == key


def test_fields_are_joined_in_their_order() -> None:
    assert joined_key(["a", 7]) == b"a\x1f7"
    assert joined_key(["a", 7]) != joined_key([7, "a"])


def test_groups_are_used_evenly() -> None:
    counts = [0] * KEY_GROUPS
    for number in range(100 * KEY_GROUPS):
        counts[key_group(f"user-{number}".encode())] += 1
    assert min(counts) > 40
    assert max(counts) < 180


def test_only_words_are_remembered_and_not_too_many_of_them() -> None:
    groups = GroupsOfKeys()
    alike: tuple[Field, ...] = (1, 1.0, True, "1", b"1")
    assert [groups[value] for value in alike] == [key_group(key_bytes(one)) for one in alike]
    assert list(groups) == ["1"]
    for number in range(70_000):
        assert groups[str(number)] == key_group(str(number).encode())
    assert len(groups) < 70_000
