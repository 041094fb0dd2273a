"""Who holds a key group: always at most one, whatever order the news of owners comes in."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.connection import Ear
from thalweg_runtime.worker.frames import Doc, Done, Frame, Peer, Want, Welcome
from thalweg_runtime.worker.handover import HandOver
from thalweg_runtime.worker.holding import Holding
from thalweg_runtime.worker.link import divided

TASKS = 3
GROUPS = 12
EDGE = "split"

parts = st.lists(st.integers(0, TASKS - 1), min_size=GROUPS, max_size=GROUPS)
"""The owner of each group."""
steps = st.lists(st.tuples(st.integers(0, TASKS - 1), st.integers(0, 9)), max_size=60)


def doc(version: int, owners: list[int]) -> Doc:
    peers = tuple(
        Peer(
            f"count-{task}",
            1,
            f"10.0.0.{task}",
            tuple((group, group) for group, owner in enumerate(owners) if owner == task),
        )
        for task in range(TASKS)
    )
    return Doc(EDGE, version, peers, ())


def give(holdings: list[Holding], giver: Holding) -> None:
    """What a hand-over does, with the receiver's answer."""
    for peer, groups in giver.to_give().values():
        taker = holdings[int(peer.name.rpartition("-")[2])]
        giver.sending(groups)
        got = taker.take({group: giver.held[group] for group in groups})
        giver.sent(groups, got)


@given(st.lists(parts, min_size=1, max_size=5), steps)
def test_a_group_is_held_once_and_its_state_survives(
    versions: list[list[int]], order: list[tuple[int, int]]
) -> None:
    holdings = [Holding(EDGE, f"count-{task}", 1) for task in range(TASKS)]
    docs = [doc(number + 1, owners) for number, owners in enumerate(versions)]
    for holding in holdings:
        holding.learn(docs[0])
        holding.begin(set(holding.own))
        for group in holding.held:
            holding.held[group]["mark"] = group
    for task, version in order:
        holdings[task].learn(docs[version % len(docs)])
        give(holdings, holdings[task])
        places = [group for one in holdings for group in one.held]
        assert sorted(places) == list(range(GROUPS))
    for holding in holdings:
        holding.learn(docs[-1])
    for holding in holdings:
        give(holdings, holding)
    for task, holding in enumerate(holdings):
        assert holding.ready.keys() == {g for g, owner in enumerate(versions[-1]) if owner == task}
        assert all(holding.ready[group] is holding.held[group] for group in holding.ready)
        assert all(state["mark"] == group for group, state in holding.held.items())


def test_what_is_on_its_way_is_not_used() -> None:
    holding = Holding(EDGE, "count-0", 1)
    holding.learn(doc(1, [0] * GROUPS))
    holding.begin(range(GROUPS))
    holding.sending([3])
    assert 3 not in holding.ready
    holding.sent([3], [])
    assert 3 in holding.ready
    holding.sending([3])
    holding.sent([3], [3])
    assert 3 not in holding.held


def test_old_news_changes_nothing() -> None:
    holding = Holding(EDGE, "count-0", 1)
    assert holding.learn(doc(2, [0] * GROUPS))
    assert not holding.learn(doc(1, [1] * GROUPS))
    assert holding.own == set(range(GROUPS))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_a_cut_keeps_every_cause_open_as_often_as_it_is_needed(
    lengths: list[int], data: st.DataObject
) -> None:
    finished: list[int] = []
    causes = [Cause(partial(finished.append, number)) for number in range(len(lengths))]
    runs, total = [], 0
    for cause, length in zip(causes, lengths, strict=True):
        runs.append((total, 0.5 + total, cause))
        total += length
    count = data.draw(st.integers(1, total))
    first, rest = divided(runs, count, total)
    assert not first or first[0][0] == 0
    assert not rest or rest[0][0] == 0
    for start, born, _ in first:
        assert born == 0.5 + start
    for start, born, _ in rest[1:]:
        assert born == 0.5 + start + count
    for _, _, cause in (*first, *rest):
        assert cause.pending > 0
        cause.release()
    assert sorted(finished) == list(range(len(lengths)))


class Told:
    """The way to a peer that gives what it has, or never answers."""

    def __init__(self, ear: Ear, holding: Holding, has: dict[int, Any] | None) -> None:
        self._ear, self._holding, self._has = ear, holding, has

    def send(self, frame: Frame) -> bytes:
        if isinstance(frame, Want) and self._has is not None:
            self._holding.take(self._has)
            self._ear.heard(Done([]))
        return b""

    def close(self) -> None:
        """Nobody minds."""


@dataclass
class Reach:
    """The ways out of a task whose peers are known by what they have."""

    holding: Holding
    peers: dict[str, dict[int, Any] | None]
    asked: list[str] = field(default_factory=list)

    async def open(self, ear: Ear, peer: Peer, *, among_peers: bool) -> None:
        assert among_peers
        self.asked.append(peer.name)
        ear.connected(Told(ear, self.holding, self.peers[peer.name]))
        asyncio.get_running_loop().call_soon(ear.heard, Welcome(1, 0))


def reaching(has: dict[int, Any], *, hand_over_s: float) -> tuple[Holding, Reach, HandOver]:
    """The owner of all groups, a peer that has some of them, and a former one that is dead."""
    holding = Holding(EDGE, "count-0", 1)
    former = Peer("count-1", 0, "10.0.9.9", ())
    told = doc(1, [0] * GROUPS)
    holding.learn(Doc(EDGE, 1, told.peers, (former,)))
    reach = Reach(holding, {"count-1": None, "count-2": has})
    ways: Any = reach
    return (
        holding,
        reach,
        HandOver(holding, ways, asyncio.Lock(), holding.learn, hand_over_s=hand_over_s),
    )


def without_the_living(holding: Holding) -> None:
    """Leave the owner, the holder and the dead one: nobody else is to be asked."""
    peers = tuple(peer for peer in holding.doc.peers if peer.name != "count-1")
    holding.learn(Doc(EDGE, 2, peers, ()))
    holding.forget(Peer("count-1", 1, "", ()))


def test_nobody_is_waited_for_once_everything_is_there() -> None:
    async def story() -> None:
        has = {group: {"mark": group} for group in range(GROUPS)}
        holding, reach, handover = reaching(has, hand_over_s=3600)
        without_the_living(holding)
        async with asyncio.timeout(30):
            await handover.fetch()
        assert sorted(reach.asked) == ["count-1", "count-2"]
        assert all(state["mark"] == group for group, state in holding.ready.items())
        assert len(holding.ready) == GROUPS

    asyncio.run(story())


def test_who_was_asked_in_vain_is_not_asked_again() -> None:
    async def story() -> None:
        holding, reach, handover = reaching({0: {"mark": 0}}, hand_over_s=0.05)
        without_the_living(holding)
        await handover.fetch()
        assert holding.ready == {0: {"mark": 0}, **{group: {} for group in range(1, GROUPS)}}
        assert not holding.told().former
        # Others have not heard of it.
        holding.learn(Doc(EDGE, 3, holding.doc.peers, (Peer("count-1", 0, "10.0.9.9", ()),)))
        assert not holding.told().former
        holding.held.clear()
        holding._settle()
        reach.asked.clear()
        await handover.fetch()
        assert reach.asked == ["count-2"]

    asyncio.run(story())


def test_those_that_were_there_before_are_not_kept_without_end() -> None:
    holding = Holding(EDGE, "count-0", 1)
    for version in range(1, 600):
        peers = (Peer("count-0", 1, "", ()), Peer("count-1", version, "", ()))
        holding.learn(Doc(EDGE, version, peers, ()))
    assert 0 < len(holding.told().former) <= 256
    for peer in holding.told().former:
        holding.forget(peer)
    assert [peer.incarnation for peer in holding.others()] == [599]


def test_what_is_on_its_way_is_not_given_twice() -> None:
    holding = Holding(EDGE, "count-0", 1)
    holding.learn(doc(1, [0] * GROUPS))
    holding.begin(range(GROUPS))
    holding.learn(doc(2, [1] * GROUPS))
    ((_, groups),) = holding.to_give().values()
    holding.sending(groups[:4])
    ((_, others),) = holding.to_give().values()
    assert others == groups[4:]
    assert holding.is_owing
    holding.sent(groups[:4], [])
    ((_, again),) = holding.to_give().values()
    assert again == groups
