"""What can be asked of the network, and how it is written down."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_testbed.latency.links import Link, Links, parse_duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10ms", 0.01), ("500us", 0.0005), ("0.2s", 0.2), ("1.5ms", 0.0015), (" 3ms ", 0.003)],
)
def test_a_duration_has_a_unit(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["10", "ms", "-3ms", "1h", "", "1 0ms"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"latency_s": -0.1}, "latency"),
        ({"latency_s": 11.0}, "latency"),
        ({"latency_s": 0.01, "jitter_s": 0.02}, "jitter"),
        ({"loss": 1.0}, "loss"),
        ({"loss": -0.1}, "loss"),
    ],
)
def test_a_link_that_cannot_be_is_refused(values: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Link(**values)


def test_within_a_domain_there_is_no_latency() -> None:
    with pytest.raises(ValueError, match="within domain a"):
        Links(links={("a", "a"): Link(latency_s=0.01)})


def test_symmetric_links_are_alike_in_both_directions() -> None:
    links = Links.symmetric({("a", "b"): 0.01, ("c", "b"): 0.02})
    assert links.between("a", "b") == links.between("b", "a") == Link(latency_s=0.01)
    assert links.between("b", "c") == Link(latency_s=0.02)
    assert links.between("a", "c").is_plain


def test_a_change_leaves_the_others_and_a_plain_link_is_no_link() -> None:
    links = Links.symmetric({("a", "b"): 0.01, ("a", "c"): 0.02})
    changed = links.changed({("a", "b"): Link(), ("c", "a"): Link(latency_s=0.05)})
    assert set(changed.links) == {("b", "a"), ("a", "c"), ("c", "a")}
    assert changed.between("c", "a").latency_s == 0.05
    assert links.between("a", "b").latency_s == 0.01


def test_csv_may_leave_out_what_is_zero() -> None:
    lines = ["from,to,latency_s", "# the sea", "", "a, b, 0.01", "b,a,0.02,0.001,0.05"]
    links = Links.parse_csv(lines)
    assert links.between("a", "b") == Link(latency_s=0.01)
    assert links.between("b", "a") == Link(latency_s=0.02, jitter_s=0.001, loss=0.05)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("a", "line 2, 'a': write from,to,latency_s[,jitter_s[,loss]]"),
        ("a,b", "line 2, 'a,b': write from,to,latency_s[,jitter_s[,loss]]"),
        ("a,b,1,0,0,0", "line 2, 'a,b,1,0,0,0': write from,to,latency_s[,jitter_s[,loss]]"),
        ("a,b,10ms", "line 2, 'a,b,10ms': latency and jitter are seconds, like 0.025; loss is"),
        ("a,b,0.1,0,50", "line 2, 'a,b,0.1,0,50': loss is a share below 1"),
        ("a,b,nan", "line 2, 'a,b,nan': a latency is between 0 and 10 s"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(row: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}"):
        Links.parse_csv(["c,d,0.1", row])


shares = st.integers(0, 99).map(lambda n: n / 100)
milliseconds = st.integers(0, 500).map(lambda n: n / 1000)


@given(
    st.dictionaries(
        st.sampled_from([("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")]),
        st.builds(Link, latency_s=milliseconds, loss=shares),
    )
)
def test_csv_is_read_as_it_is_written(links: dict[tuple[str, str], Link]) -> None:
    asked = Links(links=links)
    assert Links.parse_csv(asked.csv_lines()) == asked
