"""The elector against a pretended API server, with clocks that the test turns."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_operator.cluster.lease import Elector, lease_namespace, new_identity
from thalweg_operator.cluster.resources import Object, Resource
from thalweg_operator.errors import AlreadyExists, ApiError, Conflict, NotLeader, Unavailable
from thalweg_operator.settings import LeaseSettings

TIMES = LeaseSettings(namespace="ops", duration_s=15, renew_deadline_s=10, retry_s=2, margin_s=1)


class Hands:
    """Real time, which only the test moves."""

    def __init__(self) -> None:
        self.real_s = 1000.0


class SkewedClock:
    """A machine's clocks: both are off, each in its own way."""

    def __init__(self, hands: Hands, *, wall_off_s: float = 0.0, boot_off_s: float = 0.0) -> None:
        self.hands = hands
        self.wall_off_s = wall_off_s
        self.boot_off_s = boot_off_s

    def now_s(self) -> float:
        return 1.7e9 + self.hands.real_s + self.wall_off_s

    def monotonic_s(self) -> float:
        return self.hands.real_s + self.boot_off_s


class StoppedWallClock(SkewedClock):
    """A wall clock that stands still."""

    def now_s(self) -> float:
        return 1.7e9


class LeaseServer:
    """One Lease with compare-and-swap, as the API server keeps it."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self.lease: Object | None = None
        self.version = 0
        self.is_up = True
        self.answers_lost = 0
        self.delay_before_write_s = 0.0

    def get(self, _resource: Resource, _namespace: str | None, _name: str) -> Object | None:
        self._require_up()
        return copy.deepcopy(self.lease)

    def create(self, _resource: Resource, body: Mapping[str, Any]) -> Object:
        return self._write(body, lambda: self.lease is not None, AlreadyExists)

    def replace(self, _resource: Resource, body: Mapping[str, Any]) -> Object:
        def is_stale() -> bool:
            seen = body["metadata"]["resourceVersion"]
            return self.lease is None or self.lease["metadata"]["resourceVersion"] != seen

        return self._write(body, is_stale, Conflict)

    def holder(self) -> str:
        return "" if self.lease is None else self.lease["spec"]["holderIdentity"]

    def _write(
        self, body: Mapping[str, Any], is_refused: Callable[[], bool], error: type[ApiError]
    ) -> Object:
        self.hands.real_s += self.delay_before_write_s
        self._require_up()
        if is_refused():
            raise error("no", status=409)
        before = copy.deepcopy(self.lease)
        self.lease = copy.deepcopy(dict(body))
        if before is None or before["spec"] != self.lease["spec"]:
            self.version += 1
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        if self.answers_lost:
            self.answers_lost -= 1
            raise Unavailable("no answer")
        return copy.deepcopy(self.lease)

    def _require_up(self) -> None:
        if not self.is_up:
            raise Unavailable("connection refused")


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def server(hands: Hands) -> LeaseServer:
    return LeaseServer(hands)


def elector(server: LeaseServer, name: str = "a", **off: float) -> Elector:
    return Elector(server, TIMES, identity=name, clock=SkewedClock(server.hands, **off))


def leading(server: LeaseServer, name: str = "a", **off: float) -> Elector:
    """Return an elector that made the Lease and waited until it leads."""
    made = elector(server, name, **off)
    for _ in range(6):
        made.attempt()
        server.hands.real_s += 2
    made.attempt()
    assert made.is_leading()
    return made


def test_nobody_leads_before_the_first_attempt(server: LeaseServer) -> None:
    with pytest.raises(NotLeader):
        elector(server).check()


def test_who_makes_the_lease_waits_for_a_leader_whose_lease_was_deleted(
    server: LeaseServer,
) -> None:
    old = leading(server, "old")
    server.lease = None
    new = elector(server, "new")
    new.attempt()
    assert (old.is_leading(), new.is_leading()) == (True, False)
    server.hands.real_s += 9.5
    new.attempt()
    assert (old.is_leading(), new.is_leading()) == (False, False)
    server.hands.real_s += 1
    new.attempt()
    assert (old.is_leading(), new.is_leading()) == (False, True)


def test_a_released_lease_is_taken_at_once(server: LeaseServer) -> None:
    first = leading(server, "a")
    first.release()
    assert server.holder() == ""
    assert not first.is_leading()
    second = elector(server, "b")
    second.attempt()
    assert second.is_leading()
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 2


def test_a_lease_is_taken_only_after_it_was_seen_unchanged_for_its_duration(
    server: LeaseServer,
) -> None:
    leading(server, "a")
    second = elector(server, "b")
    second.attempt()
    server.hands.real_s += 14.9
    second.attempt()
    assert server.holder() == "a"
    server.hands.real_s += 0.2
    second.attempt()
    assert second.is_leading()


@pytest.mark.parametrize("wall_off_s", [-7200.0, 0.0, 7200.0])
def test_a_clock_apart_neither_takes_a_living_lease_nor_loses_it(
    server: LeaseServer, wall_off_s: float
) -> None:
    first = leading(server, "a")
    second = elector(server, "b", wall_off_s=wall_off_s, boot_off_s=12345.0)
    for _ in range(60):
        server.hands.real_s += 2
        first.attempt()
        second.attempt()
        assert (first.is_leading(), second.is_leading()) == (True, False)


def test_renewals_are_seen_though_the_leaders_wall_clock_stands_still(server: LeaseServer) -> None:
    first = Elector(server, TIMES, identity="a", clock=StoppedWallClock(server.hands))
    second = elector(server, "b")
    for _ in range(30):
        first.attempt()
        second.attempt()
        server.hands.real_s += 2
    first.attempt()
    assert (first.is_leading(), second.is_leading()) == (True, False)


def test_the_leader_stops_writing_when_the_server_is_gone_and_never_comes_back(
    server: LeaseServer,
) -> None:
    first = leading(server)
    server.is_up = False
    server.hands.real_s += 8.9
    assert first.is_leading()
    server.hands.real_s += 0.2  # the margin is reached: no write, but not lost
    assert not first.is_leading()
    assert not first.has_lost()
    server.hands.real_s += 1
    assert first.has_lost()
    server.is_up = True
    first.attempt()
    assert not first.is_leading()


def test_a_renewal_counts_from_its_beginning(server: LeaseServer) -> None:
    first = leading(server)
    server.delay_before_write_s = 6
    first.attempt()
    server.hands.real_s += 3.5
    assert not first.is_leading()


def test_a_leader_that_slept_too_long_does_not_renew(server: LeaseServer) -> None:
    first = leading(server)
    server.hands.real_s += 60
    first.attempt()
    assert first.has_lost()
    assert not first.is_leading()


def test_a_lease_that_another_holds_is_lost(server: LeaseServer) -> None:
    first = leading(server)
    assert server.lease is not None
    server.lease["spec"]["holderIdentity"] = "intruder"
    first.attempt()
    assert first.has_lost()


def test_a_claim_without_an_answer_is_found_again(server: LeaseServer) -> None:
    first = elector(server)
    server.answers_lost = 1
    with pytest.raises(Unavailable):
        first.attempt()
    assert not first.is_leading()
    for _ in range(7):
        first.attempt()
        server.hands.real_s += 2
    assert first.is_leading()


def test_release_leaves_anothers_lease_alone(server: LeaseServer) -> None:
    first = leading(server)
    assert server.lease is not None
    server.lease["spec"]["holderIdentity"] = "b"
    first.release()
    assert server.holder() == "b"


def test_a_lease_without_spec_is_free(server: LeaseServer) -> None:
    server.lease = {"metadata": {"name": "thalweg", "resourceVersion": "0"}, "spec": {}}
    first = elector(server)
    first.attempt()
    assert first.is_leading()


def test_identities_differ() -> None:
    assert new_identity() != new_identity()


def test_the_namespace_set_wins() -> None:
    assert lease_namespace(TIMES) == "ops"


moves = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "delete", "down", "up", "lose answer", "slow", "quick"]),
        st.floats(min_value=0, max_value=7),
    ),
    max_size=60,
)


@given(moves=moves)
@settings(max_examples=50)
def test_two_never_lead_at_once(moves: list[tuple[str, float]]) -> None:
    hands = Hands()
    server = LeaseServer(hands)
    electors = {
        "a": elector(server, "a", wall_off_s=-300.0, boot_off_s=77.0),
        "b": elector(server, "b", wall_off_s=4000.0, boot_off_s=-500.0),
    }
    for move, pause_s in moves:
        _make(move, server, electors)
        assert sum(one.is_leading() for one in electors.values()) <= 1
        hands.real_s += pause_s
        assert sum(one.is_leading() for one in electors.values()) <= 1


def _make(move: str, server: LeaseServer, electors: Mapping[str, Elector]) -> None:
    if move in electors:
        try:
            electors[move].attempt()
        except Unavailable:
            return
    elif move == "delete":
        server.lease = None
    elif move in {"down", "up"}:
        server.is_up = move == "up"
    elif move == "lose answer":
        server.answers_lost = 1
    else:
        server.delay_before_write_s = 4.0 if move == "slow" else 0.0
