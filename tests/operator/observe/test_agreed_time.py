"""Times that the control plane wrote are compared with the control plane's time."""

import pytest

from thalweg_operator.observe.world import agreed_now_s


@pytest.mark.parametrize(
    ("own_s", "server_s", "agreed_s"),
    [
        (100.5, None, 100.5),
        (100.5, 100.0, 100.5),
        (100.5, 99.0, 100.5),
        (7300.0, 100.0, 100.0),
        (100.0, 7300.0, 7300.0),
    ],
)
def test_agreed_time(own_s: float, server_s: float | None, agreed_s: float) -> None:
    assert agreed_now_s(own_s, server_s) == agreed_s
