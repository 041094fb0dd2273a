"""Ports that nobody else takes between choosing and listening.

A port that the kernel offers (bind to 0, close) may be handed to somebody's outgoing connection a
moment later. So ours lie below the range for outgoing connections, and each is claimed by a
lock on a file, which the kernel drops with the owner.
"""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

from thalweg_testbed.errors import BedError

__all__ = ["Port"]

_FIRST, _LAST = 20_000, 32_000


class Port:
    """A claimed TCP port on 127.0.0.1; ours until `release`."""

    def __init__(self) -> None:
        directory = Path(tempfile.gettempdir()) / f"thalweg-ports-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
        # A random start keeps planes that start together from trying the same ports in turn.
        start = random.SystemRandom().randrange(_FIRST, _LAST)
        for number in (*range(start, _LAST), *range(_FIRST, start)):
            claim = _claim(directory / str(number))
            if claim is None:
                continue
            if _is_free(number):
                self.number = number
                self._claim = claim
                return
            claim.close()
        raise BedError(f"no free port on 127.0.0.1 between {_FIRST} and {_LAST}")

    def release(self) -> None:
        """Give the port up."""
        self._claim.close()


def _claim(path: Path) -> IO[str] | None:
    claim = path.open("w")
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        claim.close()
        return None
    return claim


def _is_free(number: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return False
    return True
