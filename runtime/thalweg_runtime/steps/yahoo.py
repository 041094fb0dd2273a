"""The Yahoo Streaming Benchmark: events → views → fields → join → windows.

Of advertisement events those that are views are kept, joined with the campaign of their
advertisement, and counted for each campaign in windows of ten seconds.
"""

import time
from collections.abc import Iterator
from typing import Any

from thalweg_runtime.steps.seeded import drawn

CAMPAIGNS = 100
ADS_A_CAMPAIGN = 10
WINDOW_S = 10
_KINDS = ("view", "click", "purchase")

Record = dict[str, Any]


def events(sequence: int) -> Record:
    """Make an event; its time is now."""
    chance = drawn(sequence)
    return {
        "user": f"user{chance.randrange(10_000)}",
        "page": f"page{chance.randrange(1000)}",
        "ad": chance.randrange(CAMPAIGNS * ADS_A_CAMPAIGN),
        "kind": _KINDS[chance.randrange(len(_KINDS))],
        "at_s": time.time(),
    }


def views(record: Record) -> Record | None:
    """Keep views."""
    return record if record["kind"] == "view" else None


def fields(record: Record) -> Record:
    """Keep what is needed."""
    return {"ad": record["ad"], "at_s": record["at_s"]}


def join(record: Record) -> Record:
    """Add the campaign: the table is small and in every task's memory."""
    return {"campaign": f"campaign{_CAMPAIGN_OF[record['ad']]}", "at_s": record["at_s"]}


def windows(record: Record, state: Record) -> Iterator[Record]:
    """Count for each campaign and window; a window that is over is told."""
    campaign, window = record["campaign"], int(record["at_s"] // WINDOW_S)
    open_windows: dict[str, int] = state.setdefault(campaign, {})
    open_windows[str(window)] = open_windows.get(str(window), 0) + 1
    for over in [one for one in open_windows if int(one) < window - 1]:
        yield {"campaign": campaign, "window": int(over), "views": open_windows.pop(over)}


def store(record: Record) -> None:
    """Take windows, as a database would."""


_CAMPAIGN_OF = {ad: ad // ADS_A_CAMPAIGN for ad in range(CAMPAIGNS * ADS_A_CAMPAIGN)}
