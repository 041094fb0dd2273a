"""State goes with its key group, whatever it is made of; what cannot go is said aloud."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.errors import Garbage, Unsendable
from thalweg_runtime.worker.frames import State, encoded
from thalweg_runtime.worker.holding import Holding
from thalweg_runtime.worker.packing import LARGEST_STATE_BYTES, PIECE_BYTES, Unpacking, pieces
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity
from thalweg_runtime.worker.source import Source

ENDLESS = 10**9
SOME = 500
USERS = 50
EDGE = "numbers"

keys = st.one_of(
    st.text(max_size=3),
    st.integers(-(2**63), 2**64 - 1),
    st.binary(max_size=3),
    st.tuples(st.integers(0, 9), st.text(max_size=2)),
    st.none(),
)
values = st.one_of(keys.filter(lambda one: type(one) is not tuple), st.lists(st.integers(0, 9)))
states = st.dictionaries(st.integers(0, 1023), st.dictionaries(keys, values), max_size=9)


def numbers(sequence: int) -> dict[str, Any]:
    return {"id": sequence, "user": sequence % USERS}


def tally(record: dict[str, Any], state: dict[int, list[int]]) -> None:
    state.setdefault(record["user"], []).append(record["id"])


def hoard(record: dict[str, Any], state: dict[str, Any]) -> None:
    """More than a frame holds."""
    state.setdefault("blob", bytes(20 * 1024 * 1024))
    state.setdefault("ids", []).append(record["id"])


@dataclass(frozen=True)
class Seat:
    """Something that becomes a dict on the way, which is no key."""

    number: int


def unspeakable(record: dict[str, Any], state: dict[str, Any]) -> None:
    state["lock"] = object()


def unreadable(record: dict[str, Any], state: dict[Any, Any]) -> None:
    state[Seat(record["id"])] = 1


async def receive(stream: InnerStream, index: int, step: Callable[..., Any]) -> Process:
    me = TaskIdentity(vertex="tally", task=f"tally-{index}", incarnation=1, routes=None)
    work = Work(step=f"{__name__}:{step.__name__}")
    return await stream.start([me], f"{stream.net}.{32 + index}", work)


async def send(stream: InnerStream, last: int = ENDLESS, rate: str = "2000") -> Source:
    me = TaskIdentity(vertex=EDGE, task="numbers-0", incarnation=1, routes=stream.routes)
    work = Work(step=f"{__name__}:numbers", profile=parse_profile(rate), last=last)
    return (await stream.start([me], f"{stream.net}.1", work)).sources[0]


async def finished(source: Source) -> list[int]:
    """Have no more made; return what was."""
    source._last = source._made
    await until(lambda: source.is_finished, "everything is acknowledged")
    return list(range(source._made))


def holding_of(process: Process) -> Holding:
    (task,) = process.tasks.values()
    return task._holdings[EDGE]


def tallied(holding: Holding) -> list[int]:
    """The users whose tuples are counted here."""
    return [user for state in holding.held.values() for user in state]


def held(*processes: Process) -> list[int]:
    """All ids that were tallied."""
    groups = chain.from_iterable(holding_of(one).held.values() for one in processes)
    return sorted(chain.from_iterable(chain.from_iterable(group.values() for group in groups)))


@settings(max_examples=50)
@given(states)
def test_state_of_any_key_survives(found: dict[int, dict[Any, Any]]) -> None:
    unpacking, taken = Unpacking(), dict[int, dict[Any, Any]]()
    for piece in pieces("e", found):
        taken |= unpacking.feed(piece)
    assert taken == found


def test_what_is_too_large_for_one_frame_goes_in_pieces() -> None:
    found: dict[int, dict[Any, Any]] = {
        1: {"small": 1},
        2: {"large": bytes(3 * PIECE_BYTES)},
        **{group: {group: 1} for group in range(3, 200)},
    }
    unpacking, taken = Unpacking(), dict[int, dict[Any, Any]]()
    sent = list(pieces("e", found))
    for piece in sent:
        encoded(piece)
        taken |= unpacking.feed(piece)
    assert taken == found
    assert sum(piece.goes_on for piece in sent) == 3


def test_nobody_takes_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LARGEST_STATE_BYTES > 2**20
    monkeypatch.setattr("thalweg_runtime.worker.packing.LARGEST_STATE_BYTES", 100)
    unpacking = Unpacking()
    assert unpacking.feed(State("e", {1: bytes(60)}, goes_on=True)) == {}
    with pytest.raises(Garbage, match="group 1 is too large"):
        unpacking.feed(State("e", {1: bytes(60)}, goes_on=True))


def test_counts_by_a_number_are_exact_after_scaling(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Fields", keys=("user",), receiver="tally") as stream:
            processes = [await receive(stream, index, tally) for index in range(3)]
            stream.route([Place()])
            source = await send(stream)
            await until(lambda: source.position.acknowledged > SOME, "tuples flow")
            stream.route([Place()] * 3)
            last = processes[2].tasks["tally-2", 1]
            await until(lambda: last.counters.processed > SOME, "they flow to the last one")
            made = await finished(source)
            holdings = [holding_of(one) for one in processes]
            await until(lambda: not any(one.foreign for one in holdings), "all state has moved")
            assert held(*processes) == made
            # A user's whole list is with the owner: nobody began in the middle.
            assert all(tallied(one) for one in holdings)
            assert sum(len(tallied(one)) for one in holdings) == USERS

    asyncio.run(story())


def test_a_group_that_is_larger_than_a_frame_moves(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Global", receiver="tally") as stream:
            old, new = [await receive(stream, index, hoard) for index in range(2)]
            stream.route([Place()])
            source = await send(stream, last=10)
            await until(lambda: source.is_finished, "it is applied")
            before = holding_of(old).held[0]
            stream.route([Place(weight=0.0), Place()])
            (task,) = new.tasks.values()
            await until(lambda: task.held_groups, "it has moved")
            assert holding_of(new).held[0] == before
            await until(lambda: not holding_of(old).held, "nothing is left behind")

    asyncio.run(story())


@pytest.mark.parametrize("step", [unspeakable, unreadable])
def test_a_state_that_cannot_go_ends_the_process(tmp_path: Path, step: Callable[..., Any]) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Global", receiver="tally") as stream:
            await receive(stream, 0, step)
            await receive(stream, 1, step)
            stream.route([Place()])
            source = await send(stream, last=10)
            await until(lambda: source.is_finished, "it is applied")
            _, _, job = stream.running.pop(f"{stream.net}.32")
            stream.route([Place(weight=0.0), Place()])
            with pytest.raises(Unsendable, match="state of key group 0 cannot be"):
                async with asyncio.timeout(30):
                    await job

    asyncio.run(story())


def test_what_is_held_elsewhere_never_begins_anew(tmp_path: Path) -> None:
    """Its holder cannot reach the new owner for a while, though the new owner reaches it."""

    async def story() -> None:
        async with inner_stream(tmp_path, "Fields", keys=("user",), receiver="tally") as stream:
            old, new = [await receive(stream, index, tally) for index in range(2)]
            stream.route([Place()])
            source = await send(stream)
            await until(lambda: source.position.acknowledged > SOME, "tuples flow")
            (ways,) = old._ways
            ways.port += 1
            asked: list[list[int]] = []
            (holder,) = old.tasks.values()
            give_away = holder.give_away

            async def listened(edge: str) -> list[int]:
                asked.append(await give_away(edge))
                return asked[-1]

            holder.give_away = listened  # type: ignore[method-assign]
            stream.route([Place()] * 2)
            await until(lambda: len(asked) > 3, "it is asked again and again")
            assert all(asked)
            assert not holding_of(new).held
            ways.port -= 1
            made = await finished(source)
            await until(lambda: not holding_of(old).foreign, "all state has moved")
            assert held(old, new) == made

    asyncio.run(story())
