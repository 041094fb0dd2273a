"""The benchmark of runs over time, on seconds instead of an hour."""

import pytest

from bench import hours


@pytest.mark.slow
def test_a_few_seconds_are_run() -> None:
    found = [hours.interpreted(0.5), *hours.hours(20.0)]
    assert [one.mode for one in found] == ["Events", "Events", "Events"]
    assert found[0].visits == pytest.approx(3 * 900 * 0.5, rel=0.2)
    assert found[1].visits == pytest.approx(3 * 900 * 20, rel=0.1)
    assert "interpreted" in hours.render(found)


@pytest.mark.slow
def test_papers_are_timed_by_their_own_strategy_and_by_auto() -> None:
    found = hours.papers(60.0)
    assert [one.name for one in found] == [
        "Ns-5 COMMCount 1, NsStream",
        "Ns-5 COMMCount 1, Auto",
        "Hd-4, HdStream",
        "Hd-4, Auto",
    ]
    assert all(one.visits > 0 for one in found)
