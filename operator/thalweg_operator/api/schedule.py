"""Cron schedules: whether one can be read, and when it last came round.

Five fields: minute, hour, day of month, month, day of week. Each is `*`, a number, a name, a range,
a step, or several of these with commas. As in cron, a day counts if either day field names it, once
both are narrowed down.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MOST_DAYS_BACK = 8


class InvalidSchedule(ValueError):
    """A schedule that cron would not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_PARTS = (
    _Part(name="minute", least=0, most=59),
    _Part(name="hour", least=0, most=23),
    _Part(name="day of month", least=1, most=31),
    _Part(name="month", least=1, most=12, names=_MONTHS),
    _Part(name="day of week", least=0, most=7, names=_DAYS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The times that a cron schedule names."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    either_day: bool
    """Both day fields are narrowed down, and one of them is enough."""

    def last_before(self, now: datetime, zone: ZoneInfo) -> datetime | None:
        """The latest time, not after `now`; None when the last eight days had none."""
        local = now.astimezone(zone)
        for days_back in range(_MOST_DAYS_BACK):
            day = local - timedelta(days=days_back)
            if not self._names_day(day):
                continue
            for hour in sorted(self.hours, reverse=True):
                for minute in sorted(self.minutes, reverse=True):
                    time = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
                    if time.astimezone(UTC) <= now:
                        return time
        return None

    def _names_day(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (by_date or by_weekday) if self.either_day else (by_date and by_weekday)


def parse_schedule(text: str) -> Schedule:
    """Read a cron schedule; InvalidSchedule says which field is wrong."""
    fields = text.split()
    if len(fields) != len(_PARTS):
        raise InvalidSchedule(f"a schedule has five fields, {text!r} has {len(fields)}")
    minutes, hours, days, months, weekdays = (
        _parse_field(field, part) for field, part in zip(fields, _PARTS, strict=True)
    )
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )


def is_in_force(schedule: Schedule, duration_s: int, now: datetime, zone: ZoneInfo) -> bool:
    """Whether `now` is within `duration_s` of the last time that the schedule came round."""
    last = schedule.last_before(now, zone)
    return last is not None and (now - last.astimezone(UTC)).total_seconds() < duration_s


def _parse_field(field: str, part: _Part) -> frozenset[int]:
    return frozenset(number for item in field.split(",") for number in _parse_item(item, part))


def _parse_item(item: str, part: _Part) -> range:
    span, _, step_text = item.partition("/")
    if "/" in item and (not step_text.isdecimal() or int(step_text) < 1):
        raise InvalidSchedule(f"{item!r} is not a step for the {part.name}")
    step = int(step_text) if step_text else 1
    if span == "*":
        return range(part.least, part.most + 1, step)
    first_text, dash, last_text = span.partition("-")
    first = _parse_number(first_text, part)
    open_end = part.most if step_text else first
    last = _parse_number(last_text, part) if dash else open_end
    if last < first:
        raise InvalidSchedule(f"{item!r} runs backwards for the {part.name}")
    return range(first, last + 1, step)


def _parse_number(text: str, part: _Part) -> int:
    if text.lower() in part.names:
        # Months count from 1, weekdays from 0: both as their lowest number says.
        return part.names.index(text.lower()) + part.least
    if not (text.isascii() and text.isdecimal()) or not part.least <= int(text) <= part.most:
        raise InvalidSchedule(
            f"{text!r} is no {part.name}; it must be from {part.least} to {part.most}"
        )
    return int(text)
