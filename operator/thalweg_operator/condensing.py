"""Keeping the matrices fresh: a child process condenses, the loop only looks whether it has.

With the engine numpy a child is started for each run, never waited for. With Spark one child stays
(resident.py), and whenever it cannot be asked, or has not answered when the next run is due, a
numpy run stands in, so that matrices come as often as ever. A run that hangs is ended; one that
fails leaves the last matrices where they are, which then grow old, and old matrices change nothing.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg_operator.clock import Clock
from thalweg_operator.errors import StoreUnreadable
from thalweg_operator.observe.store import Matrices, read_matrices
from thalweg_operator.resident import Resident, last_said
from thalweg_operator.settings import CondenseSettings, MetricsSource

log = logging.getLogger(__name__)
_ASKING_SHARE = 0.75
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""A run is short; threads for every core of a large machine would reserve more than its work."""
_FILES = ("token_file", "basic_file", "ca_file", "certificate_file")
"""Secrets and certificates go by their files, never in a command line or a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The last matrices, and what hinders newer ones."""

    matrices: Matrices | None = None
    trouble: str = ""
    stands_in: str = ""
    """Why numpy stands in for Spark; empty when it does not."""


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
    resident: Resident | None = None
    """The Spark child, which other sources use as well; None with the engine numpy."""
    _child: _Child | None = None
    _ticket: int | None = None
    _asked_s: float = 0.0
    _started_s: float | None = None
    _trouble: str = field(default="no measurement has ended yet")
    _matrices: Matrices | None = None

    def tick(self, expectation: Mapping[str, Any]) -> Reading:
        """Look after the children, start the next run when it is time, and read what is there."""
        now_s = self.clock.monotonic_s()
        if self._child is not None:
            self._look_after(self._child, now_s)
        if self.resident is not None:
            self.resident.tick()
            self._ask_after(self.resident)
        due = self._started_s is None or now_s - self._started_s >= self.settings.interval_s
        if self._child is None and due:
            self._run(expectation, now_s)
        return Reading(
            matrices=self._matrices, trouble=self._trouble, stands_in=self._why_numpy(now_s)
        )

    def close(self) -> None:
        """End the child; the Spark child is whose who made it."""
        self._close_child()

    def _why_numpy(self, now_s: float) -> str:
        if self.resident is None:
            return ""
        if self.resident.is_lost:
            return self.resident.trouble
        interval_s = self.settings.interval_s
        is_late = self._ticket is not None and now_s - self._asked_s >= interval_s
        return f"Spark has not answered within {interval_s:g} s" if is_late else ""

    @property
    def _store(self) -> str:
        """Where the matrices of this source and preset are."""
        elsewhere = self.settings.store.rstrip("/")
        return f"{elsewhere}/{self.folder.name}" if elsewhere else str(self.folder / "store")

    def _close_child(self) -> None:
        if self._child is not None:
            self._child.process.kill()
            self._child.process.wait()
            self._child = None

    def _ask_after(self, resident: Resident) -> None:
        """Take the result of a Spark run; where Spark died over it, numpy stands in at once."""
        if self._ticket is None or (outcome := resident.outcome(self._ticket)) is None:
            return
        self._ticket = None
        if outcome.is_spark_down:
            self._started_s = None
        elif outcome.error:
            self._trouble = f"condensing failed: {outcome.error}"
            log.warning("condensing failed: %s", outcome.error)
        else:
            self._read()

    def _run(self, expectation: Mapping[str, Any], now_s: float) -> None:
        if not self._is_asked(expectation, now_s):
            self._start(expectation, now_s)
        self._started_s = now_s

    def _is_asked(self, expectation: Mapping[str, Any], now_s: float) -> bool:
        """Whether Spark has taken this run; while it still does the last, numpy does this one."""
        if self.resident is None or self._ticket is not None:
            return False
        self._ticket = self.resident.submit(self.folder.name, self._request(expectation))
        self._asked_s = now_s
        return self._ticket is not None

    def _request(self, expectation: Mapping[str, Any]) -> dict[str, Any]:
        source = self.source
        return {
            "source": {
                "url": source.url,
                **{name: getattr(source, name) or None for name in _FILES},
                "headers": _tenant_headers(source),
                "timeout_s": source.timeout_s,
                "run_timeout_s": self._run_timeout_s,
                "most_series": source.most_series,
                "most_bytes": source.most_mib * 2**20,
            },
            "preset": self.preset,
            "presets": dict(self.settings.presets),
            "store": self._store,
            "keep_runs": self.settings.keep_runs,
            "expectation": dict(expectation),
            "windows": {
                "scaling_s": self.settings.scaling_window_s,
                "placement_s": self.settings.placement_window_s,
            },
        }

    @property
    def _run_timeout_s(self) -> float:
        """For all answers of a run: what is left of its time is for what is made of them."""
        return _ASKING_SHARE * self.settings.timeout_s

    def _look_after(self, child: _Child, now_s: float) -> None:
        code = child.process.poll()
        if code is None:
            if now_s - child.started_s > self.settings.timeout_s:
                self._close_child()
                self._trouble = f"condensing took longer than {self.settings.timeout_s:g} s"
            return
        self._child = None
        if code == 0:
            self._read()
            return
        said = last_said(child.output)
        self._trouble = f"condensing failed with exit code {code}: {said.splitlines()[-1:]}"
        log.warning("condensing failed with exit code %d: %s", code, said)

    def _read(self) -> None:
        try:
            self._matrices = read_matrices(self._store)
        except StoreUnreadable as error:
            self._trouble = str(error)
            log.warning("%s", error)
            return
        self._trouble = ""

    def _start(self, expectation: Mapping[str, Any], now_s: float) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        expected = self.folder / "expectation.json"
        expected.write_text(json.dumps(expectation))
        self._write_presets()
        output = self.folder / "condense.log"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                self._command(expected),
                stdout=stream,
                stderr=stream,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD},
            )
        self._child = _Child(process=process, started_s=now_s, output=output)

    def _write_presets(self) -> None:
        """The presets of the settings where the child finds them; those of former settings go."""
        shutil.rmtree(self._presets, ignore_errors=True)
        self._presets.mkdir(parents=True)
        for name, text in self.settings.presets.items():
            (self._presets / f"{name}.toml").write_text(text)

    @property
    def _presets(self) -> Path:
        return self.folder / "presets"

    def _command(self, expected: Path) -> Sequence[str]:
        words = [sys.executable, "-m", "thalweg_spark", "condense"]
        words += ["--source", self.source.url, "--preset", self.preset]
        words += ["--store", self._store, "--expect", str(expected), "--engine", "numpy"]
        words += ["--keep-runs", str(self.settings.keep_runs)]
        words += ["--presets", str(self._presets)]
        words += ["--timeout-s", str(self.source.timeout_s)]
        words += ["--run-timeout-s", str(self._run_timeout_s)]
        words += ["--most-series", str(self.source.most_series)]
        words += ["--most-mib", str(self.source.most_mib)]
        words += ["--memory-mib", str(self.settings.numpy_limit_bytes >> 20)]
        words += ["--window-s", str(self.settings.scaling_window_s)]
        words += ["--placement-window-s", str(self.settings.placement_window_s)]
        for name in _FILES:
            if file := getattr(self.source, name):
                words += [f"--{name.replace('_', '-')}", file]
        for name, value in _tenant_headers(self.source).items():
            words += ["--header", f"{name}: {value}"]
        return words


def _tenant_headers(source: MetricsSource) -> dict[str, str]:
    """Mimir's and Thanos' headers; each passes over the other's."""
    if not source.tenant:
        return {}
    return {"X-Scope-OrgID": source.tenant, "THANOS-TENANT": source.tenant}
