"""An object agrees with ours if all that we want of it is there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_operator.act.agreeing import agrees


@pytest.mark.parametrize(
    ("wanted", "found", "answer"),
    [
        (1, 1, True),
        (1, 2, False),
        ("a", "a", True),
        (None, None, True),
        (None, 1, False),
        (0, None, False),
        (False, None, False),
        ("", None, False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"b": 2}, False),
        ({"a": 1}, {"a": None}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"a": {"b": 1}}, {"a": 1}, False),
        ({"a": 1}, [], False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ([1, 2], [1], False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ((1, 2), [1, 2], True),
        ([1], {"0": 1}, False),
        ({"a": {}}, {}, True),
        ({"a": []}, {}, True),
        ({"a": None}, {}, True),
        ({"a": []}, {"a": [1]}, False),
        ({"a": {}}, {"a": {"b": 1}}, True),
        ({}, None, True),
    ],
)
def test_agrees(wanted: Any, found: Any, answer: bool) -> None:
    assert agrees(wanted, found) is answer


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(value=json_values)
def test_every_value_agrees_with_itself(value: Any) -> None:
    assert agrees(value, value)


@given(
    value=st.dictionaries(st.sampled_from("abc"), json_values),
    more=st.dictionaries(st.sampled_from("xyz"), json_values),
)
def test_what_others_add_is_not_ours_to_judge(value: dict[str, Any], more: dict[str, Any]) -> None:
    assert agrees(value, value | more)
