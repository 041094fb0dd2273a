"""Each grouping, through real connections: who gets how much is what the library says."""

import asyncio
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity
from thalweg_scheduling.group import NearSource, Origin, Receiver

COUNT = 20_000
HERE, NEAR, FAR = Place(), Place(node="n1"), Place(node="n2", domain="b")


async def shares(
    folder: Path,
    grouping: str,
    places: Sequence[Place],
    keys: tuple[str, ...] = (),
    senders: Sequence[Place] = (),
) -> list[float]:
    """The part of the source's tuples that each receiver gets."""
    async with inner_stream(folder, grouping, keys=keys) as stream:
        receivers = [await stream.receive(index) for index in range(len(places))]
        stream.route(places, senders=senders)
        (source,) = (await stream.send(last=COUNT)).sources
        await until(lambda: source.is_finished, "everything is acknowledged")
        got = [sum(task.counters.processed for task in one.tasks.values()) for one in receivers]
        sent = source.counters.traffic
        assert got == [sent["take", f"take-{index}"].tuples for index in range(len(places))]
        return [one / COUNT for one in got]


def test_shuffle_gives_everybody_the_same(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "Shuffle", [HERE, NEAR, FAR, FAR]))
    assert got == pytest.approx([0.25] * 4, abs=0.001)


def test_weighted_follows_the_weights(tmp_path: Path) -> None:
    places = [Place(weight=weight) for weight in (1.0, 2.0, 5.0)]
    got = asyncio.run(shares(tmp_path, "Weighted", places))
    assert got == pytest.approx([0.125, 0.25, 0.625], rel=0.01)


def test_near_source_keeps_the_shares_of_the_equations(tmp_path: Path) -> None:
    places = [HERE, NEAR, FAR, Place(node="n3", domain="b")]
    receivers = [
        Receiver(name=str(index), node=one.node, domain=one.domain)
        for index, one in enumerate(places)
    ]
    expected = [0.0] * len(places)
    for place, share in NearSource(receivers, Origin(node="n0", domain="a")).shares:
        expected[place] = share
    got = asyncio.run(shares(tmp_path, "NearSource", places))
    assert got == pytest.approx(expected, abs=0.01)
    assert expected[0] > expected[2], "the example has nothing near"


@pytest.mark.parametrize(
    ("senders", "kept"),
    [
        ([HERE], 0.5),  # the only sender: everybody has its half from it
        ([HERE, FAR], 1.0),  # one of two: the half of all that it sends stays here
        ([HERE, HERE, HERE, FAR], 2 / 3),  # three quarters come from here, a half stays
    ],
)
def test_near_source_leaves_a_part_to_the_senders_beside_it(
    tmp_path: Path, senders: list[Place], kept: float
) -> None:
    got = asyncio.run(shares(tmp_path, "NearSource", [HERE, FAR], senders=senders))
    assert got == pytest.approx([kept, 1 - kept], abs=0.01)


def test_load_aware_local_stays_on_the_node(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "LoadAwareLocal", [HERE, NEAR, FAR]))
    assert got[0] > got[2]
    assert sum(got) == pytest.approx(1.0)


def test_load_aware_local_looks_farther_when_the_nearest_is_busy(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "LoadAwareLocal") as stream:
            me = TaskIdentity(vertex="take", task="take-0", incarnation=1, routes=None)
            busy = Work(program="thalweg_stream_steps", emulated_wait_s=0.002)
            near = await stream.start([me], f"{stream.net}.32", busy)
            far = await stream.receive(1)
            stream.route([HERE, FAR])
            (source,) = (await stream.send(last=COUNT, rate="5000")).sources
            await until(lambda: done_by(near) > 0, "the near one gets something")
            assert done_by(far) == 0
            await until(lambda: source.is_finished or done_by(far) > 0, "it spills over")
            assert done_by(far) > 0

    asyncio.run(story())


def done_by(process: Process) -> int:
    return sum(task.counters.processed for task in process.tasks.values())


def test_fields_spreads_keys(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "Fields", [HERE, NEAR, FAR], keys=("word",)))
    assert sum(got) == pytest.approx(1.0)
    assert all(0.15 < one < 0.55 for one in got)


def test_partial_key_levels_what_fields_does_not(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "PartialKey", [HERE, NEAR, FAR], keys=("word",)))
    assert got == pytest.approx([1 / 3] * 3, abs=0.02)


def test_w_choices_levels_them_too(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "WChoices", [HERE, NEAR, FAR], keys=("word",)))
    assert got == pytest.approx([1 / 3] * 3, abs=0.02)


def test_w_choices_gives_everybody_a_part_of_a_key_that_is_all_there_is(tmp_path: Path) -> None:
    places = [HERE, NEAR, FAR, FAR]
    # No tuple has the field, so all of them have the same key.
    wide = asyncio.run(shares(tmp_path, "WChoices", places, keys=("none",)))
    narrow = asyncio.run(shares(tmp_path, "PartialKey", places, keys=("none",)))
    assert sorted(narrow) == pytest.approx([0.0, 0.0, 0.5, 0.5], abs=0.001)
    assert wide == pytest.approx([1 / 4] * 4, abs=0.02)


def test_global_sends_all_to_one(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "Global", [HERE, NEAR, FAR]))
    assert sorted(got) == [0.0, 0.0, 1.0]


def test_broadcast_sends_all_to_everybody(tmp_path: Path) -> None:
    got = asyncio.run(shares(tmp_path, "Broadcast", [HERE, NEAR, FAR]))
    assert got == [1.0, 1.0, 1.0]


def held(stream: InnerStream) -> dict[str, list[int]]:
    """What the tasks of `tally` have in their key groups, of all of them."""
    found: dict[str, list[int]] = {}
    for process, _, _ in stream.running.values():
        for task in process.tasks.values():
            for group in chain.from_iterable(
                holding.held.values() for holding in task._holdings.values()
            ):
                for word, ids in group.items():
                    assert word not in found, "a key in two places"
                    found[word] = ids
    return found


def test_a_key_is_in_one_place_while_routes_change(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Fields", keys=("word",), receiver="tally") as stream:
            for index in range(4):
                await stream.receive(index)
            stream.route([HERE] * 2)
            (source,) = (await stream.send(last=COUNT, rate="20000")).sources
            for receivers in (4, 1, 3, 2, 4):
                before = source.position.acknowledged
                stream.route([HERE] * receivers)
                await until(
                    lambda: source.is_finished or source.position.acknowledged > before + 2000,  # noqa: B023
                    "tuples flow",
                )
            await until(lambda: source.is_finished, "everything is acknowledged")
            await until(lambda: sum(map(len, held(stream).values())) == COUNT, "every tuple once")
            ids = sorted(chain.from_iterable(held(stream).values()))
            assert ids == list(range(COUNT))

    asyncio.run(story())


@pytest.mark.slow
def test_weights_change_while_tuples_flow(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Weighted") as stream:
            for index in range(2):
                await stream.receive(index)
            stream.route([HERE, HERE])
            (source,) = (await stream.send(last=COUNT, rate="10000")).sources
            await until(lambda: source.position.acknowledged > COUNT // 4, "a quarter is done")
            stream.route([Place(weight=1), Place(weight=9)])
            await until(lambda: source.is_finished, "everything is acknowledged")
            sent = [source.counters.traffic["take", f"take-{n}"].tuples for n in range(2)]
            assert sum(sent) == COUNT
            assert source.counters.resent == 0
            assert sent[1] > 1.5 * sent[0]

    asyncio.run(story())
