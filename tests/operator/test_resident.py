"""The Spark child may die, hang or grow: the loop goes on, and numpy stands in."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_operator.condensing import Condenser, Reading
from thalweg_operator.resident import Outcome, Resident, last_said, session_memory_bytes
from thalweg_operator.settings import CondenseSettings, MetricsSource
from thalweg_spark.resident import parse_request

NOTHING: dict[str, Any] = {"topologies": [], "nodes": []}
CHILD = """
import json, sys, time
mode = {mode!r}
def say(**line):
    print(json.dumps(line), flush=True)
if mode == "no java":
    sys.exit("error: Spark needs Java")
if mode != "never ready":
    say(kind="ready")
if mode == "talkative":
    print("a page of Java", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if mode == "hangs":
        time.sleep(600)
    if mode == "dies":
        sys.exit(3)
    if mode == "source down":
        say(kind="failed", id=asked["id"], exit_code=4, error="nobody answers")
        continue
    request = json.load(open(asked["request"]))
    if mode == "publishes":
        from thalweg_spark.publish.store import publish
        from thalweg_spark.schemas import TABLES
        nothing = {{table: [] for table in TABLES}}
        publish(request["store"], nothing, engine="spark", observed_at_s=1.0)
    say(kind="done", id=asked["id"], report={{"store": request["store"]}})
"""


@dataclass
class HandClock:
    """Time that a test moves."""

    now: float = 1000.0

    def now_s(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.now


def until(condition: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.01)


def alive(one: Resident) -> bool:
    return one.pid is not None


class Bed:
    """A resident with a child of our own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.made: list[Resident] = []

    def resident(self, mode: str, **settings: Any) -> Resident:
        words = [sys.executable, "-c", CHILD.format(mode=mode)]
        known = CondenseSettings(engine="spark", **settings)
        self.made.append(Resident(known, self.folder, self.clock, command=words))
        return self.made[-1]

    def ready(self, mode: str, **settings: Any) -> Resident:
        found = self.resident(mode, **settings)
        self.tick_until(found, lambda: not found.trouble, what="ready")
        return found

    def tick_until(self, one: Resident, condition: Callable[[], bool], *, what: str) -> None:
        def ticked() -> bool:
            one.tick()
            return condition()

        until(ticked, what=what)

    def run(self, one: Resident) -> Outcome:
        ticket = one.submit("run", {"store": "s"})
        assert ticket is not None
        found: list[Outcome] = []

        def ended() -> bool:
            outcome = one.outcome(ticket)
            found.extend([outcome] if outcome else [])
            return bool(found)

        self.tick_until(one, ended, what="the run to end")
        return found[0]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    made = Bed(tmp_path)
    yield made
    for one in made.made:
        one.close()


def test_one_child_serves_run_after_run(bed: Bed) -> None:
    one = bed.ready("works")
    pid = one.pid
    assert [bed.run(one) for _ in range(3)] == [Outcome()] * 3
    assert one.pid == pid


def test_runs_of_several_sources_wait_for_one_another(bed: Bed) -> None:
    one = bed.ready("works")
    tickets = [one.submit(name, {"store": "s"}) for name in ("a", "b", "c")]
    assert None not in tickets
    bed.tick_until(one, lambda: not one.is_busy, what="all three")
    assert [one.outcome(ticket or 0) for ticket in tickets] == [Outcome()] * 3


def test_what_is_no_json_is_passed_over(bed: Bed) -> None:
    assert bed.run(bed.ready("talkative")) == Outcome()


def test_a_source_that_fails_is_no_fault_of_sparks(bed: Bed) -> None:
    one = bed.ready("source down")
    assert bed.run(one) == Outcome(error="nobody answers")
    assert one.trouble == ""


def test_killed_children_come_back_after_a_pause_that_grows(bed: Bed) -> None:
    one = bed.ready("works")
    for pause_s in (5.0, 10.0):
        os.kill(one.pid or 0, signal.SIGKILL)
        bed.tick_until(one, lambda: not alive(one), what="the loss to be seen")
        assert "exit code -9" in one.trouble
        bed.clock.now += pause_s - 0.1
        one.tick()
        assert not alive(one), "not before the pause is over"
        bed.clock.now += 0.2
        bed.tick_until(one, lambda: not one.trouble, what="the next child")
    assert bed.run(one) == Outcome()


def test_a_run_that_hangs_ends_at_its_deadline(bed: Bed) -> None:
    one = bed.ready("hangs", timeout_s=20)
    ticket = one.submit("run", {"store": "s"})
    assert ticket is not None
    one.tick()
    assert one.outcome(ticket) is None
    bed.clock.now += 21
    one.tick()
    assert one.outcome(ticket) == Outcome(error="Spark took longer than 20 s", is_spark_down=True)
    assert one.pid is None


@pytest.mark.parametrize(
    ("mode", "passed_s", "words"),
    [
        ("never ready", 25.0, "not ready after 20 s"),
        ("never ready", 31.0, "silent for 30 s"),
        ("no java", 0.0, "exit code 1: error: Spark needs Java"),
    ],
)
def test_a_child_that_never_serves(bed: Bed, mode: str, passed_s: float, words: str) -> None:
    one = bed.resident(mode, start_timeout_s=20 if passed_s < 30 else 60)
    one.tick()
    bed.clock.now += passed_s
    bed.tick_until(one, lambda: words in one.trouble, what=words)
    assert one.submit("run", {}) is None


def test_a_child_that_dies_over_a_run(bed: Bed) -> None:
    outcome = bed.run(bed.ready("dies"))
    assert outcome.is_spark_down
    assert "exit code 3" in outcome.error


def test_a_child_that_grows_in_the_middle_of_a_run_is_ended(bed: Bed) -> None:
    one = bed.ready("hangs", spark_limit_bytes=2**40)
    ticket = one.submit("run", {"store": "s"})
    one._settings = CondenseSettings(spark_limit_bytes=2**20)
    one.tick()
    outcome = one.outcome(ticket or 0)
    assert outcome is not None
    assert "MiB of memory in the middle of a run" in outcome.error
    assert outcome.is_spark_down
    assert one.is_lost


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"recycle_passes": 2}, "2 runs"), ({"spark_limit_bytes": 2**20}, "MiB of memory")],
)
def test_an_outworn_child_is_replaced_at_once(
    bed: Bed, settings: dict[str, int], words: str
) -> None:
    one = bed.resident("works", **settings)
    seen: set[str] = set()

    def worn() -> bool:
        ticket = one.submit("run", {"store": "s"})
        if ticket is not None:
            bed.tick_until(one, lambda: not one.is_busy, what="the run to end")
        seen.add(one.trouble)
        return any(words in trouble for trouble in seen)

    bed.tick_until(one, worn, what=words)
    one.tick()
    assert one.pid is not None


def test_memory_is_counted_over_the_whole_session() -> None:
    assert session_memory_bytes(os.getsid(0)) > 2**20
    assert session_memory_bytes(2**22 + 5) == 0


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    with fake_prometheus() as found:
        yield found


def condenser(bed: Bed, server: FakePrometheus, mode: str) -> Condenser:
    resident = bed.resident(mode, timeout_s=20)
    return Condenser(
        source=MetricsSource(url=server.url),
        preset="thalweg",
        settings=CondenseSettings(engine="spark", timeout_s=20),
        folder=bed.folder,
        clock=bed.clock,
        resident=resident,
    )


@pytest.mark.slow
def test_numpy_stands_in_while_spark_cannot_be_asked(bed: Bed, server: FakePrometheus) -> None:
    one = condenser(bed, server, "no java")
    reading = Reading()

    def measured() -> bool:
        nonlocal reading
        reading = one.tick(NOTHING)
        return reading.matrices is not None and "Java" in reading.stands_in

    until(measured, what="matrices without Spark")
    assert reading.matrices is not None
    assert reading.matrices.engine == "numpy"
    assert reading.trouble == ""
    one.close()


def test_both_engines_reach_a_source_in_the_same_way(bed: Bed) -> None:
    source = MetricsSource(
        url="https://mimir", basic_file="/b", ca_file="/c", certificate_file="/d", tenant="team-a"
    )
    one = Condenser(
        source=source,
        preset="thalweg",
        settings=CondenseSettings(),
        folder=bed.folder,
        clock=bed.clock,
    )
    asked = one._request(NOTHING)["source"]
    assert asked["headers"] == {"X-Scope-OrgID": "team-a", "THANOS-TENANT": "team-a"}
    assert (asked["basic_file"], asked["token_file"]) == ("/b", None)
    assert parse_request(one._request(NOTHING)).source.certificate_file == Path("/d")
    words = one._command(bed.folder / "expectation.json")
    pairs = set(pairwise(words))
    assert {("--basic-file", "/b"), ("--ca-file", "/c"), ("--certificate-file", "/d")} <= pairs
    assert ("--header", "THANOS-TENANT: team-a") in pairs
    assert "--token-file" not in words


@pytest.mark.slow
def test_numpy_stands_in_while_a_run_hangs(bed: Bed, server: FakePrometheus) -> None:
    """Not at the deadline of the run that hangs, but when the next one is due."""
    one = condenser(bed, server, "hangs")
    resident = bed.made[-1]
    bed.tick_until(resident, lambda: not resident.trouble, what="ready")
    assert one.tick(NOTHING).stands_in == ""
    bed.clock.now += 15
    assert resident.is_busy
    until(lambda: one.tick(NOTHING).matrices is not None, what="matrices although Spark hangs")
    assert "not answered within 15 s" in one.tick(NOTHING).stands_in
    assert resident.pid is not None, "its deadline is not over"
    one.close()


@pytest.mark.slow
def test_a_spark_that_dies_over_a_run_leaves_the_cadence(bed: Bed, server: FakePrometheus) -> None:
    """The run that Spark did not finish is done by numpy at once, not an interval later."""
    one = condenser(bed, server, "dies")
    resident = bed.made[-1]
    bed.tick_until(resident, lambda: not resident.trouble, what="ready")
    one.tick(NOTHING)
    assert resident.is_busy, "Spark is asked first"
    until(
        lambda: one.tick(NOTHING).matrices is not None,
        what="matrices although Spark died",
    )
    assert json.loads((bed.folder / "store" / "CURRENT").read_text())["engine"] == "numpy"
    one.close()


@pytest.mark.slow
def test_matrices_come_every_turn_although_spark_is_killed(
    bed: Bed, server: FakePrometheus
) -> None:
    """A turn is an interval of a clock moved by hand; what runs in it takes as long as it does."""
    one = condenser(bed, server, "publishes")
    resident = bed.made[-1]
    bed.tick_until(resident, lambda: not resident.trouble, what="ready")
    engines: list[str] = []
    runs: set[str] = set()
    for turn in range(8):
        if turn in (2, 5):
            os.kill(resident.pid or 0, signal.SIGKILL)

        def is_new() -> bool:
            found = one.tick(NOTHING).matrices
            return found is not None and found.run not in runs

        until(is_new, what=f"new matrices in turn {turn}")
        newest = one.tick(NOTHING).matrices
        assert newest is not None
        runs.add(newest.run)
        engines.append(newest.engine)
        bed.tick_until(resident, lambda: not resident.is_busy, what="Spark to rest")
        bed.clock.now += 15
        if turn not in (1, 4):
            # The next child may take its time; the turn after it is Spark's again.
            bed.tick_until(resident, lambda: not resident.trouble, what="the next child")
    assert engines[0] == "spark"
    assert (engines[2], engines[5]) == ("numpy", "numpy"), "no turn is without matrices"
    assert engines[7] == "spark"
    one.close()


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stream:
        stream.truncate(2**33)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nerror: \xff it is over\n")
    assert last_said(log).splitlines()[-1] == "error: \ufffd it is over"
    log.write_text("")
    assert last_said(log) == ""
