"""Keeping the matrices fresh: a child process condenses, the loop only looks whether it has.

The child is started again and again, never waited for. One that hangs is ended; one that fails
leaves the last matrices where they are, which then grow old, and old matrices change nothing.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg_operator.clock import Clock
from thalweg_operator.errors import StoreUnreadable
from thalweg_operator.observe.store import Matrices, read_matrices
from thalweg_operator.settings import CondenseSettings, MetricsSource

log = logging.getLogger(__name__)
_LOG_TAIL = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The last matrices, and what hinders newer ones."""

    matrices: Matrices | None = None
    trouble: str = ""


@dataclass(kw_only=True)
class _Child:
    process: subprocess.Popen[bytes]
    started_s: float
    output: Path


@dataclass(kw_only=True)
class Condenser:
    """Condenses one metrics source by one preset."""

    source: MetricsSource
    preset: str
    settings: CondenseSettings
    folder: Path
    """Where the matrix store and the child's files are."""
    clock: Clock
    _child: _Child | None = None
    _started_s: float | None = None
    _trouble: str = field(default="no measurement has ended yet")
    _matrices: Matrices | None = None

    def tick(self, expectation: Mapping[str, Any]) -> Reading:
        """Look after the child, start the next one when it is time, and read what is there."""
        now_s = self.clock.monotonic_s()
        if self._child is not None:
            self._look_after(self._child, now_s)
        due = self._started_s is None or now_s - self._started_s >= self.settings.interval_s
        if self._child is None and due:
            self._start(expectation, now_s)
        return Reading(matrices=self._matrices, trouble=self._trouble)

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.process.kill()
            self._child.process.wait()
            self._child = None

    def _look_after(self, child: _Child, now_s: float) -> None:
        code = child.process.poll()
        if code is None:
            if now_s - child.started_s > self.settings.timeout_s:
                self.close()
                self._trouble = f"condensing took longer than {self.settings.timeout_s:g} s"
            return
        self._child = None
        if code == 0:
            self._read()
            return
        said = child.output.read_text(errors="replace").strip()[-_LOG_TAIL:]
        self._trouble = f"condensing failed with exit code {code}: {said.splitlines()[-1:]}"
        log.warning("condensing failed with exit code %d: %s", code, said)

    def _read(self) -> None:
        try:
            self._matrices = read_matrices(self.folder / "store")
        except StoreUnreadable as error:
            self._trouble = str(error)
            log.warning("%s", error)
            return
        self._trouble = ""

    def _start(self, expectation: Mapping[str, Any], now_s: float) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        expected = self.folder / "expectation.json"
        expected.write_text(json.dumps(expectation))
        output = self.folder / "condense.log"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                self._command(expected), stdout=stream, stderr=stream, stdin=subprocess.DEVNULL
            )
        self._child = _Child(process=process, started_s=now_s, output=output)
        self._started_s = now_s

    def _command(self, expected: Path) -> Sequence[str]:
        words = [sys.executable, "-m", "thalweg_spark", "condense"]
        words += ["--source", self.source.url, "--preset", self.preset]
        words += ["--store", str(self.folder / "store"), "--expect", str(expected)]
        words += ["--engine", self.settings.engine]
        if self.source.token_file:
            words += ["--token-file", self.source.token_file]
        if self.source.ca_file:
            words += ["--ca-file", self.source.ca_file]
        return words
