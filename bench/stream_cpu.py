"""CPU time of processes, as the kernel counts it: the same whoever else is on the machine."""

import os
from collections.abc import Iterable
from pathlib import Path

_USER = 11
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pids: Iterable[int]) -> float:
    """What these have spent so far, all threads of them."""
    return sum(map(_of, pids))


def _of(pid: int) -> float:
    # The name, in brackets, may have blanks; what comes after it has none.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    user, system = fields.rpartition(")")[2].split()[_USER : _USER + 2]
    return (int(user) + int(system)) / _TICKS_PER_S
