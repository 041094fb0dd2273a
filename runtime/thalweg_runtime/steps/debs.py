"""DEBS 2024: the state of hard disks, from records as their S.M.A.R.T. gives them (Ra-Stream).

source → filter → events → aggregate → storage
                → anomalies → alert
"""

from collections.abc import Iterator
from typing import Any

from thalweg_runtime.steps.seeded import drawn

DISKS = 500
VAULTS = 25
WINDOW = 30
_TOO_HOT = 50
_MANY_BAD_SECTORS = 20

Record = dict[str, Any]


def source(sequence: int) -> Record:
    """Make a disk's record of a day; a few have a hole in them."""
    chance = drawn(sequence)
    disk = chance.randrange(DISKS)
    return {
        "disk": f"disk{disk}",
        "vault": f"vault{disk % VAULTS}",
        "day": sequence // DISKS,
        "is_failed": chance.random() < 0.002,
        "bad_sectors": chance.randrange(4) if chance.random() < 0.97 else chance.randrange(60),
        "celsius": None if chance.random() < 0.01 else round(chance.gauss(36, 6)),
        "hours": sequence % 50_000,
    }


def filter(record: Record) -> Iterator[tuple[str, Record]]:  # noqa: A001 - called like its vertex
    """Leave out what is incomplete; the rest goes both ways."""
    if record["celsius"] is not None:
        yield "events", record
        yield "anomalies", record


def events(record: Record) -> Record | None:
    """Keep failures and disks that are about to fail."""
    if record["is_failed"] or record["bad_sectors"] > 0:
        return {"vault": record["vault"], "day": record["day"], "is_failed": record["is_failed"]}
    return None


def aggregate(record: Record, state: Record) -> Record:
    """Count a vault's events over the last 30 days."""
    vault, day = record["vault"], record["day"]
    days: dict[str, int] = state.setdefault(vault, {})
    days[str(day)] = days.get(str(day), 0) + 1
    for old in [one for one in days if int(one) <= day - WINDOW]:
        del days[old]
    return {"vault": vault, "day": day, "events": sum(days.values())}


def storage(record: Record) -> None:
    """Take the windows, as a database would."""


def anomalies(record: Record) -> Record | None:
    """Find what is out of the ordinary."""
    if record["celsius"] > _TOO_HOT or record["bad_sectors"] > _MANY_BAD_SECTORS:
        return {"disk": record["disk"], "celsius": record["celsius"], "day": record["day"]}
    return None


def alert(record: Record) -> None:
    """Call somebody."""
