"""NearSource by real workers, against shares that were worked out by hand from the paper.

Ns-Stream, Eq 14–18, as ruled (Eq 15 per second; a circle takes what is left; one's own tuples are
no load; between node and everywhere comes the domain). α is 0.6, the window 10 s, and two senders
make 300 tuples/s each: one on n0 in domain a, one on n2 in domain b.

    receiver   where   processed  busy   PC (14)   cap ρ̄ (15)
    take-0     n0, a         500   2 s       0.2   0.6 ·  50/s / 0.2 = 150/s
    take-1     n1, a         300   2 s       0.2   0.6 ·  30/s / 0.2 =  90/s
    take-2     n2, b        2000   3 s       0.3   0.6 · 200/s / 0.3 = 400/s

The first sender keeps 150/300 on its node (16), then 90/300 in its domain (17). What is left, 0.2
or 60/s, goes elsewhere (18): take-2 has 400 - 300 = 100/s to spare. The second sender has take-2
beside it, which takes 400 - 60 = 340/s and so all of its 300/s. Together take-0 gets 150/s, take-1
90/s and take-2 360/s of 600/s: these are the weights that a plan writes.
"""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import Identity, Limits, TaskIdentity
from thalweg_runtime.worker.source import Source
from thalweg_scheduling.group import Nearness, near_source_shares
from thalweg_scheduling.group.near_source import Measured, cap_per_s, processing_capability
from thalweg_scheduling.group.weighing import fill_nearest

COUNT = 20_000
SENDS_PER_S = 300.0
WEIGHTS = (0.25, 0.15, 0.6)
BY_HAND = ((0.5, 0.3, 0.2), (0.0, 0.0, 1.0))
"""The share of each receiver in what each sender makes."""
RECEIVERS = (
    Place(node="n0", domain="a", weight=WEIGHTS[0]),
    Place(node="n1", domain="a", weight=WEIGHTS[1]),
    Place(node="n2", domain="b", weight=WEIGHTS[2]),
)
SENDERS = (Place(node="n0", domain="a"), Place(node="n2", domain="b"))
CAPS = (150.0, 90.0, 400.0)
NODE, DOMAIN, ELSEWHERE = Nearness.NODE, Nearness.DOMAIN, Nearness.ELSEWHERE
NEAR = ((NODE, DOMAIN, ELSEWHERE), (ELSEWHERE, ELSEWHERE, NODE))


def test_the_caps_are_those_of_the_table() -> None:
    for processed, busy_s, cap in ((500, 2.0, 150.0), (300, 2.0, 90.0), (2000, 3.0, 400.0)):
        busy_share = processing_capability(busy_s, 10.0)
        assert cap_per_s(processed / 10.0, busy_share, alpha=0.6) == pytest.approx(cap)


def test_the_equations_say_what_was_worked_out() -> None:
    for me, mine in enumerate(BY_HAND):
        other = BY_HAND[1 - me]
        receivers = [
            Measured(
                near=NEAR[me][place],
                cap_per_s=CAPS[place],
                input_per_s=SENDS_PER_S * (mine[place] + other[place]),
                own_per_s=SENDS_PER_S * mine[place],
            )
            for place in range(len(CAPS))
        ]
        assert near_source_shares(SENDS_PER_S, receivers) == pytest.approx(mine)


def test_a_plan_writes_these_weights() -> None:
    sends, caps = np.array([SENDS_PER_S] * 2), np.array(CAPS)
    flows = fill_nearest(sends, caps, np.array([[int(one) for one in row] for row in NEAR]))
    assert flows.sum(axis=0) / flows.sum() == pytest.approx(WEIGHTS)


async def send(stream: InnerStream, index: int) -> Source:
    """Start a source where its node says."""
    place, host = SENDERS[index], f"{stream.net}.{1 + index}"
    me = TaskIdentity(
        vertex="numbers", task=f"numbers-{index}", incarnation=1, routes=stream.routes
    )
    identity = Identity(
        topology="inner",
        namespace="",
        pod=host,
        node=place.node,
        domain=place.domain,
        tasks=(me,),
    )
    work = Work(program="thalweg_stream_steps", profile=parse_profile("10000"), last=COUNT)
    process = Process(identity, work, Limits(port=stream.port), host=host)
    leave = asyncio.Event()
    job = asyncio.get_running_loop().create_task(process.run(leave, http_port=0))
    stream.running[host] = process, leave, job
    return process.sources[0]


def test_workers_keep_to_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "NearSource") as stream:
            receivers = [await stream.receive(index) for index in range(len(RECEIVERS))]
            stream.route(RECEIVERS, senders=SENDERS)
            sources = [await send(stream, index) for index in range(len(SENDERS))]
            await until(lambda: all(one.is_finished for one in sources), "all is acknowledged")
            for source, expected in zip(sources, BY_HAND, strict=True):
                sent = [source.counters.to("take", f"take-{n}").tuples for n in range(3)]
                assert sum(sent) == COUNT
                assert [one / COUNT for one in sent] == pytest.approx(expected, abs=0.005)
            got = [sum(task.counters.processed for task in one.tasks.values()) for one in receivers]
            assert [one / sum(got) for one in got] == pytest.approx(WEIGHTS, abs=0.005)

    asyncio.run(story())
