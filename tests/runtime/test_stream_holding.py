"""Who holds a key group: always at most one, whatever order the news of owners comes in."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.frames import Doc, Peer
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
