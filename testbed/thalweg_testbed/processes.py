"""Child processes that end with their owner, whatever ends the owner.

Each runs under a guard (see guard.py) that holds one end of a pipe. The kernel closes our end when
this process goes away, also by SIGKILL, and the guard then kills the child. Output goes to a log
file, whose last lines are shown when the child ends by itself.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from thalweg_testbed.errors import ProcessDied

__all__ = ["Process"]

_GUARD = Path(__file__).with_name("guard.py")
_TAIL_LINES = 15


class Process:
    """One program, started when made; ended by `stop` or `kill`, which may be called again."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        sweep: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        guarded = [*(("--sweep", str(sweep)) if sweep else ()), *command]
        with log.open("ab") as output:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), *guarded],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=None if env is None else {**os.environ, **env},
                start_new_session=True,  # Ctrl-C is for us; we then end the children in order
                bufsize=0,
            )
        if self._guard.stdin is None or self._guard.stdout is None:
            raise ProcessDied(f"{name}: no pipe to its guard")
        self._orders, answers = self._guard.stdin, self._guard.stdout
        with answers:
            line = answers.readline()
        if not line:
            self._guard.wait()
            self.require_running()
        self.pid = int(line)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 plus the signal's number if a signal ended it."""
        return self._guard.poll()

    def is_running(self) -> bool:
        """Tell whether the program has not ended."""
        return self.exit_code is None

    def require_running(self) -> None:
        """Raise ProcessDied, with the end of the log, if the program has ended."""
        if self.exit_code is not None:
            raise ProcessDied(
                f"{self.name} ended with code {self.exit_code}; the end of {self.log}:\n"
                f"{self.log_tail()}"
            )

    def log_tail(self) -> str:
        """Return the last lines of the log."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(f"  {line}" for line in lines[-_TAIL_LINES:]) or "  (empty log)"

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing happens if the program has ended."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._orders.write(b"%d\n" % number)

    def stop(self, *, grace_s: float = 10.0) -> int:
        """Ask it to end (SIGTERM), insist after `grace_s` (SIGKILL), return its exit code."""
        self.send(signal.SIGTERM)
        try:
            self._guard.wait(grace_s)
        except subprocess.TimeoutExpired:
            return self.kill()
        return self._close()

    def kill(self) -> int:
        """End it at once and return its exit code."""
        self.send(signal.SIGKILL)
        self._guard.wait()
        return self._close()

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for it to end by itself; subprocess.TimeoutExpired if it does not."""
        self._guard.wait(timeout_s)
        return self._close()

    def _close(self) -> int:
        self._orders.close()
        return self._guard.wait()
