"""The Spark child: started, watched, ended, started again; never waited for.

It keeps a SparkSession between runs. Whatever becomes of it (killed, hung, out of memory, no
Java), the caller learns at its next look that it cannot be asked now, and why.
"""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg_operator.clock import Clock
from thalweg_operator.settings import CondenseSettings

log = logging.getLogger(__name__)
_SILENCE_S = 30.0
"""A child beats every second; this much silence is a stopped process, not a busy machine."""
_FIRST_PAUSE_S = 5.0
_LONGEST_PAUSE_S = 300.0
_LOG_TAIL = 400
_MID_RUN_EXCESS = 1.5
"""How far beyond its limit a child may be while it works; between runs it is the limit itself."""
_SPARK_DOWN = 3
"""The exit code by which the child says that Spark itself is not to be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. `error` is empty when its matrices are published."""

    error: str = ""
    is_spark_down: bool = False


@dataclass(kw_only=True)
class _Child:
    process: subprocess.Popen[bytes]
    started_s: float
    heard_s: float
    pending: bytes = b""
    is_ready: bool = False
    runs: int = 0
    tickets: list[int] = field(default_factory=list)
    """Runs that it was asked for and has not answered; it does them one after the other."""
    asked_s: float = 0.0
    """Since when it has been at the first of them."""


class Resident:
    """Supervises one child for all metrics sources."""

    def __init__(
        self,
        settings: CondenseSettings,
        folder: Path,
        clock: Clock,
        *,
        command: Sequence[str] | None = None,
    ) -> None:
        """Start nothing yet; `command` stands in for the real child in tests."""
        self._settings = settings
        self._folder = folder
        self._clock = clock
        self._command = command
        self._child: _Child | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._next_start_s = clock.monotonic_s()
        self._tickets = 0
        self._outcomes: dict[int, Outcome] = {}
        self.trouble = "Spark is starting"
        """Why it cannot be asked now; empty when it can."""
        self.is_lost = False
        """Whether that is a fault, rather than a start that was meant."""

    @property
    def pid(self) -> int | None:
        """The child's process, while there is one."""
        return None if self._child is None else self._child.process.pid

    def tick(self) -> None:
        """Hear what the child said, end it where it must be ended, start the next."""
        now_s = self._clock.monotonic_s()
        if self._child is not None:
            self._hear(self._child, now_s)
            self._judge(self._child, now_s)
        if self._child is None and now_s >= self._next_start_s:
            self._start(now_s)

    def submit(self, name: str, request: Mapping[str, Any]) -> int | None:
        """Ask for a run; a ticket, or None where it cannot be asked now.

        Runs of other sources may be before it: one Spark serves them all.
        """
        child = self._child
        if child is None or not child.is_ready:
            return None
        file = self._folder / f"{name}.request.json"
        file.write_text(json.dumps(request))
        self._tickets += 1
        line = json.dumps({"id": self._tickets, "request": str(file)}) + "\n"
        try:
            assert child.process.stdin is not None  # noqa: S101
            child.process.stdin.write(line.encode())
            child.process.stdin.flush()
        except OSError:
            return None
        if not child.tickets:
            child.asked_s = self._clock.monotonic_s()
        child.tickets.append(self._tickets)
        return self._tickets

    @property
    def is_busy(self) -> bool:
        """Whether a run is under way, of whomever."""
        return self._child is not None and bool(self._child.tickets)

    def outcome(self, ticket: int) -> Outcome | None:
        """How a run ended, told once; None while it goes on."""
        return self._outcomes.pop(ticket, None)

    def close(self) -> None:
        """End the child and all that it started."""
        if self._child is not None:
            self._end(self._child)
            self._child = None

    def _start(self, now_s: float) -> None:
        scratch = self._folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        with self._log.open("wb") as stream:
            process = subprocess.Popen(
                self._command or self._words(scratch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                start_new_session=True,
            )
        assert process.stdout is not None  # noqa: S101
        os.set_blocking(process.stdout.fileno(), False)
        self._child = _Child(process=process, started_s=now_s, heard_s=now_s)

    @property
    def _log(self) -> Path:
        return self._folder / "spark.log"

    def _words(self, scratch: Path) -> list[str]:
        return [
            *(sys.executable, "-m", "thalweg_spark", "serve"),
            *("--spark-master", self._settings.spark_master),
            *("--memory", self._settings.spark_memory),
            *("--scratch", str(scratch)),
            *("--executors", str(self._settings.spark_executors)),
            *("--executor-memory", self._settings.spark_executor_memory),
        ]

    def _hear(self, child: _Child, now_s: float) -> None:
        stream = child.process.stdout
        assert stream is not None  # noqa: S101
        while piece := stream.read(2**16):
            child.pending += piece
        *lines, child.pending = child.pending.split(b"\n")
        if lines:
            child.heard_s = now_s
        for line in lines:
            self._understand(child, line)

    def _understand(self, child: _Child, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            log.warning("the Spark child said what is no JSON: %r", line[:_LOG_TAIL])
            return
        kind = said.get("kind")
        if kind == "ready":
            child.is_ready = True
            self.trouble, self.is_lost = "", False
            log.info("Spark is ready on %s", self._settings.spark_master)
        elif kind in ("done", "failed") and child.tickets[:1] == [said.get("id")]:
            self._close_run(child, said)

    def _close_run(self, child: _Child, said: Mapping[str, Any]) -> None:
        self._outcomes[child.tickets.pop(0)] = Outcome(
            error=str(said.get("error", "")), is_spark_down=said.get("exit_code") == _SPARK_DOWN
        )
        child.asked_s = self._clock.monotonic_s()
        child.runs += 1
        if said["kind"] == "done":
            self._pause_s = _FIRST_PAUSE_S

    def _judge(self, child: _Child, now_s: float) -> None:
        """Let it go on, or end it with a reason."""
        settings = self._settings
        if (code := child.process.poll()) is not None:
            self._lose(child, f"the Spark child ended with exit code {code}: {self._last_words()}")
        elif now_s - child.heard_s > _SILENCE_S:
            self._lose(child, f"the Spark child has been silent for {_SILENCE_S:g} s")
        elif not child.is_ready and now_s - child.started_s > settings.start_timeout_s:
            self._lose(child, f"Spark was not ready after {settings.start_timeout_s:g} s")
        elif child.tickets and now_s - child.asked_s > settings.timeout_s:
            self._lose(child, f"Spark took longer than {settings.timeout_s:g} s")
        elif child.tickets and (used := session_memory_bytes(child.process.pid)) > self._most_bytes:
            self._lose(child, f"Spark held {used >> 20} MiB of memory in the middle of a run")
        elif not child.tickets and (why := self._outworn(child)):
            log.info("the Spark child is recycled: %s", why)
            self._end(child)
            self._child, self._next_start_s = None, now_s
            self.trouble = f"Spark is started anew: {why}"

    @property
    def _most_bytes(self) -> float:
        return self._settings.spark_limit_bytes * _MID_RUN_EXCESS

    def _outworn(self, child: _Child) -> str:
        if child.runs >= self._settings.recycle_passes:
            return f"{child.runs} runs"
        used = session_memory_bytes(child.process.pid)
        limit = self._settings.spark_limit_bytes
        return f"{used >> 20} MiB of memory" if used > limit else ""

    def _lose(self, child: _Child, why: str) -> None:
        """The child is of no use any more; the next comes after a pause that grows."""
        if why != self.trouble:
            log.warning("%s; numpy stands in, next start in %g s", why, self._pause_s)
        self.trouble, self.is_lost = why, True
        for ticket in child.tickets:
            self._outcomes[ticket] = Outcome(error=why, is_spark_down=True)
        self._end(child)
        self._child = None
        self._next_start_s = self._clock.monotonic_s() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _last_words(self) -> str:
        said = last_said(self._log).splitlines()
        return said[-1] if said else "it said nothing"

    def _end(self, child: _Child) -> None:
        """Kill the whole session of processes: the JVM, and Spark's Python workers too.

        The workers have made a process group of their own; only the session holds all of them.
        """
        for process in session_processes(child.process.pid):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                log.debug("process %d of the Spark child was gone already", process)
        child.process.kill()
        child.process.wait()
        for stream in (child.process.stdin, child.process.stdout):
            if stream is not None:
                _close_quietly(stream)


def last_said(log_file: Path) -> str:
    """The end of what a child wrote; the rest, which may be long, is not read."""
    with log_file.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LOG_TAIL))
        return stream.read(_LOG_TAIL).decode(errors="replace").strip()


def _close_quietly(stream: Any) -> None:  # noqa: ANN401
    try:
        stream.close()
    except OSError:
        log.debug("a pipe of the Spark child was broken already")


def session_memory_bytes(session: int) -> int:
    """What the processes of one session hold in memory; 0 where the system does not say."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(fields[21]) * page for _, fields in _session(session))


def session_processes(session: int) -> list[int]:
    """The processes of one session, the one that leads it first."""
    return sorted(process for process, _ in _session(session))


def _session(session: int) -> Iterator[tuple[int, list[str]]]:
    """Each process of a session, with the fields of its `stat` from the state on."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            yield int(folder.name), fields
