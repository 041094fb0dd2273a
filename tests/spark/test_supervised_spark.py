"""A real Spark that is killed, hangs or runs out of memory: matrices come all the same."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_operator.clock import SystemClock
from thalweg_operator.condensing import Condenser, Reading
from thalweg_operator.resident import Resident, session_processes
from thalweg_operator.settings import CondenseSettings, MetricsSource

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

NOTHING: dict[str, Any] = {"topologies": [], "nodes": []}
DEADLINE_S = 300.0


class Rig:
    """A condenser with a real Spark child, ticked as the operator's loop does."""

    def __init__(self, folder: Path, url: str) -> None:
        settings = CondenseSettings(
            engine="spark",
            spark_master="local[2]",
            spark_memory="512m",
            interval_s=8,
            timeout_s=60,
            start_timeout_s=DEADLINE_S,
        )
        clock = SystemClock()
        self.resident = Resident(settings, folder / "spark", clock)
        self.condenser = Condenser(
            source=MetricsSource(url=url),
            preset="thalweg",
            settings=settings,
            folder=folder / "default-thalweg",
            clock=clock,
            resident=self.resident,
        )
        self.engines: dict[str, str] = {}
        """Which engine made each run that was seen."""
        self.troubles: list[str] = []

    def tick_until(self, condition: Callable[[Reading], bool], *, what: str) -> Reading:
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            reading = self.condenser.tick(NOTHING)
            if reading.matrices is not None:
                self.engines[reading.matrices.run] = reading.matrices.engine
            if reading.stands_in and reading.stands_in not in self.troubles:
                self.troubles.append(reading.stands_in)
            if condition(reading):
                return reading
            time.sleep(0.1)
        raise AssertionError(f"waited in vain: {what}; saw {self.engines} and {self.troubles}")

    def until_made_by(self, engine: str, *, runs: int) -> None:
        """Go on until an engine has published this many further runs."""
        before = set(self.engines)

        def fresh(_: Reading) -> bool:
            found = [run for run in self.engines if run not in before]
            return sum(self.engines[run] == engine for run in found) >= runs

        self.tick_until(fresh, what=f"{runs} runs by {engine}")

    def jvm(self) -> int:
        (found,) = [
            process
            for process in session_processes(self.resident.pid or 0)
            if Path(f"/proc/{process}/comm").read_text().strip() == "java"
        ]
        return found

    def close(self) -> None:
        self.condenser.close()
        self.resident.close()


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    labels = {"namespace": "n", "topology": "wc", "vertex": "split", "task": "split-0"}
    now_s = time.time()
    with fake_prometheus() as found:
        samples = [(now_s + second, str(100 * second)) for second in range(-30, 1200, 5)]
        found.series["thalweg_processed_total"] = [(labels, samples)]
        yield found


@pytest.fixture
def rig(tmp_path: Path, server: FakePrometheus) -> Iterator[Rig]:
    made = Rig(tmp_path, server.url)
    yield made
    made.close()


def test_a_killed_spark_is_replaced_and_numpy_bridges_the_time(rig: Rig) -> None:
    rig.until_made_by("numpy", runs=1)
    rig.until_made_by("spark", runs=1)
    assert not rig.resident.is_lost, "a start that was meant is no fault"

    first = session_processes(rig.resident.pid or 0)
    os.kill(rig.jvm(), signal.SIGKILL)
    rig.until_made_by("numpy", runs=2)
    assert any("child ended" in one for one in rig.troubles), "that Spark died is said"
    rig.until_made_by("spark", runs=1)
    assert not any(Path(f"/proc/{process}").exists() for process in first), "nothing is left"


def test_a_hung_spark_is_replaced_and_numpy_bridges_the_time(rig: Rig) -> None:
    rig.until_made_by("spark", runs=1)
    hung = rig.resident.pid
    os.kill(rig.jvm(), signal.SIGSTOP)
    rig.until_made_by("numpy", runs=2)
    assert rig.resident.pid == hung, "numpy does not wait for the deadline"
    assert any("not answered within 8 s" in one for one in rig.troubles)
    rig.tick_until(lambda _: rig.resident.pid != hung, what="the deadline")
    assert "longer than 60 s" in rig.resident.trouble
    rig.until_made_by("spark", runs=1)
    reading = rig.tick_until(lambda one: not one.stands_in, what="all well")
    assert reading.trouble == ""


def test_a_spark_without_memory(
    tmp_path: Path, server: FakePrometheus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Room for too few classes: a real OutOfMemoryError, at the start or in the first runs."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:MaxMetaspaceSize=90m")
    rig = Rig(tmp_path, server.url)
    try:
        rig.tick_until(lambda _: rig.resident.is_lost, what="Spark to die")
        # The next start, after a pause, begins a log of its own.
        log = (tmp_path / "spark" / "spark.log").read_text(errors="replace")
        assert "OutOfMemoryError" in log
        rig.until_made_by("numpy", runs=2)
        assert "spark" not in rig.engines.values() or rig.resident.is_lost
    finally:
        rig.close()
