"""What every test shares: the test bed's fixtures, how hypothesis searches, what is begun with."""

import pytest
from hypothesis import settings

pytest_plugins = ["thalweg_testbed.pytest_plugin"]

# The same examples on every run: a test that fails only sometimes stops everyone's work.
# `pytest --hypothesis-profile=explore` looks further.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


# Last: what is deselected is gone by then.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let every worker begin with its share of the lengthy tests, so that none waits for them.

    Workers get equal pieces of the list in its order, and those that are done take from the ends
    of others' pieces.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    pieces: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for item in sorted(items, key=_seconds, reverse=True):
        if _seconds(item):
            min(pieces, key=lambda piece: sum(map(_seconds, piece))).append(item)
    others = (item for item in items if not _seconds(item))
    left = len(items)
    for place, piece in enumerate(pieces):
        size = left // (workers - place)
        piece.extend(item for _, item in zip(range(size - len(piece)), others, strict=False))
        left -= size
    items[:] = [item for piece in pieces for item in piece]


def _seconds(item: pytest.Item) -> float:
    """About how long a lengthy test takes on two cores; 0 for all others."""
    marker = item.get_closest_marker("lengthy")
    return float(marker.kwargs["seconds"]) if marker else 0.0
