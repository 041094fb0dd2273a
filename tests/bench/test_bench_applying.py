"""The operator's benchmark runs on a small control plane."""

import pytest

from bench import applying

pytestmark = pytest.mark.control_plane


def test_applying_measures_one_topology() -> None:
    found = applying.run(1, 8, domains=2, per_domain=2)
    assert found.bound_s > 0
    assert found.writes >= applying.TASKS
    assert found.largest_bytes >= found.resting_bytes > 0
    told = applying.told({(1, 8): [found]})
    assert told.splitlines()[2].startswith("| 1 ")
