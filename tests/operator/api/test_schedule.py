"""Cron schedules: what can be read, and when they last came round."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_operator.api.schedule import InvalidSchedule, is_in_force, parse_schedule

BERLIN = ZoneInfo("Europe/Berlin")
GREENWICH = ZoneInfo("UTC")
# A Wednesday.
NOON = datetime(2026, 7, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("* * * * *", "2026-07-15 12:00"),
        ("0 9 * * *", "2026-07-15 09:00"),
        ("30 13 * * *", "2026-07-14 13:30"),
        ("*/25 * * * *", "2026-07-15 12:00"),
        ("5/20 * * * *", "2026-07-15 11:45"),
        ("0 22 * * 1-5", "2026-07-14 22:00"),
        ("0 22 * * sat,sun", "2026-07-12 22:00"),
        ("0 22 * * 7", "2026-07-12 22:00"),
        ("0 0 10 * *", "2026-07-10 00:00"),
        ("0 0 10 * mon", "2026-07-13 00:00"),
        ("0 0 * JUL wed", "2026-07-15 00:00"),
        ("0 0 */7 * *", "2026-07-15 00:00"),
        ("10-12 8 * * *", "2026-07-15 08:12"),
    ],
)
def test_when_it_last_came_round(text: str, last: str) -> None:
    found = parse_schedule(text).last_before(NOON, GREENWICH)
    assert found is not None
    assert found.strftime("%Y-%m-%d %H:%M") == last


@pytest.mark.parametrize("text", ["0 0 1 jan *", "0 0 31 2 *"])
def test_what_was_more_than_a_week_ago_does_not_count(text: str) -> None:
    assert parse_schedule(text).last_before(NOON, GREENWICH) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 9 * *", "has 4"),
        ("0 9 * * * *", "has 6"),
        ("60 * * * *", "'60' is no minute; it must be from 0 to 59"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day of month"),
        ("* * * 13 *", "'13' is no month"),
        ("* * * * 8", "'8' is no day of week"),
        ("* * * * funday", "'funday' is no day of week"),
        ("*/0 * * * *", "'\\*/0' is not a step for the minute"),
        ("*/x * * * *", "'\\*/x' is not a step for the minute"),
        ("5/ * * * *", "'5/' is not a step for the minute"),
        ("9-5 * * * *", "'9-5' runs backwards for the minute"),
        (", * * * *", "'' is no minute"),
        ("-1 * * * *", "'' is no minute"),
        ("١ * * * *", "'١' is no minute"),
    ],
)
def test_what_cron_would_not_take(text: str, says: str) -> None:
    with pytest.raises(InvalidSchedule, match=says):
        parse_schedule(text)


@pytest.mark.parametrize(
    ("now", "in_force"),
    [
        ("2026-07-15 06:59", False),
        ("2026-07-15 07:00", True),
        ("2026-07-15 14:59", True),
        ("2026-07-15 15:00", False),
        ("2026-07-18 10:00", False),
        ("2026-01-14 07:59", False),
        ("2026-01-14 08:00", True),
    ],
)
def test_office_hours_in_berlin(now: str, in_force: bool) -> None:
    schedule = parse_schedule("0 9 * * 1-5")
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert is_in_force(schedule, 8 * 3600, at, BERLIN) is in_force


def test_a_night_lasts_past_midnight() -> None:
    schedule = parse_schedule("0 22 * * *")
    at = datetime(2026, 7, 15, 3, 0, tzinfo=UTC)
    assert is_in_force(schedule, 8 * 3600, at, GREENWICH)


@settings(max_examples=50)
@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    now=st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_a_daily_time_was_within_the_last_day_of_25_hours(
    minute: int, hour: int, now: datetime
) -> None:
    last = parse_schedule(f"{minute} {hour} * * *").last_before(now, BERLIN)
    assert last is not None
    assert timedelta(0) <= now - last.astimezone(UTC) <= timedelta(hours=25)
