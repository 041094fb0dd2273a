"""Programs that are called and waited for."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from thalweg_testbed.errors import CommandFailed

__all__ = ["call", "call_bytes"]

_TAIL_LINES = 20


def call(
    command: Sequence[str | Path],
    *,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 120.0,
    cwd: Path | None = None,
) -> str:
    """Run a program and return what it prints; CommandFailed with what it complained of."""
    block = None if stdin is None else stdin.encode()
    output = call_bytes(command, stdin=block, env=env, timeout_s=timeout_s, cwd=cwd)
    return output.decode(errors="replace")


def call_bytes(
    command: Sequence[str | Path],
    *,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 120.0,
    cwd: Path | None = None,
) -> bytes:
    """Run a program and return the bytes that it prints."""
    words = [str(word) for word in command]
    shown = " ".join(words)
    shown = shown if len(shown) <= 200 else f"{shown[:200]}…"
    try:
        done = subprocess.run(
            words,
            input=stdin if stdin is not None else b"",
            env=None if env is None else {**os.environ, **env},
            capture_output=True,
            timeout=timeout_s,
            cwd=cwd,
            check=False,
        )
    except FileNotFoundError:
        raise CommandFailed(f"{words[0]}: no such program") from None
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"{shown}: not within {timeout_s:g} s") from None
    if done.returncode:
        complaint = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        tail = "\n".join(complaint[-_TAIL_LINES:])
        raise CommandFailed(f"{shown}: code {done.returncode}: {tail}")
    return done.stdout
