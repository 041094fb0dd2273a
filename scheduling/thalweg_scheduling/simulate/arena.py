"""The memory of the event kernel: two long arrays, one of whole numbers and one of reals.

Numba is quick with two arrays and slow with fifty, so everything is in these. They are divided into
areas, the same in both; an area has rows of the same width; the cells of a row have names here.
`whole[SLOTS]` is where the slots begin, `whole[SLOTS] + 3 * SLOT` is the row of the fourth.

A *slot* is a task that is or was there: a task that is taken away keeps its slot until its queue is
empty, and gets it back if it returns. A *group* is one edge as one slot sends on it. A *root* is a
tuple as it came from outside, with all that it has caused.
"""

from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from thalweg_scheduling.model.arrays import Floats, Ints, Kind

# The head of `whole`: where areas begin, then how full they are.
SLOTS, NODES, PROCESSES, GROUPS, PAIRS, SENDERS, RUNNING, TUPLES, ROOTS, EVENTS = range(10)
SLOT_COUNT, SPARE, EVENT_ROOM, EVENT_COUNT, FREE_TUPLES, NEXT_TUPLE, FREE_ROOTS, NEXT_ROOT = range(
    10, 18
)
# The head of `real`: what holds for all, then what is counted.
NOW, CREDIT, RECEIVE_S, SERVICE_CV2, TIMEOUT_S = range(5)
LATENCY_SUM, LATENCIES, COMPLETE_SUM, COMPLETED, FAILED = range(5, 10)
HEAD = 18

# Slots.
SLOT = 17
CURRENT, PHASE, FIRST, LAST, QUEUED, LEVEL, FULL_TARGETS, IS_FULL, PLACE, BACKLOG = range(10)
NODE_OF, PROCESS_OF, IS_SINK, GROUP_FROM, GROUP_END, SENDER_FROM, SENDER_END = range(10, 17)
WORK, SPEED, STRETCH, SINCE, BLOCKED_SINCE, PAUSED_UNTIL, CPU_S, HELD_S = range(8)
OFFERED, PROCESSED, WAITED, SERVED, CPU, BLOCKED = range(8, 14)
IDLE, ON_CPU, HOLDING, SUSPENDED = range(4)
# Nodes.
NODE = 4
ROOM_FROM, ACTIVE, CALL, DUE = range(4)
CORES, TOUCHED, OUT_FREE, IN_FREE = range(4)
# Processes: how many of one are on a CPU, and how many cores it may use.
PROCESS = 1
# Groups.
GROUP = 2
PAIR_FROM, PAIR_END = range(2)
COPIES = 0
# Pairs. A pair is taken when a number from 0 to 1 is below UPTO for the first time.
PAIR = 4
TARGET_OF, IS_REMOTE_PAIR = range(2)
UPTO, HOP_S, WIRE_S, SENT = range(4)
# Tuples.
TUPLE = 4
ROOT_OF, FOLLOWING, TARGET, IS_REMOTE = range(4)
ARRIVED, BACK, WIRE = range(3)
# Roots.
ROOT = 2
LEFT, FREE = range(2)
BEGUN, LAST_ACK = range(2)
# Events: one number each, at a time. Kinds of them:
COMPUTED, RECEIVED, RELEASED, WAKES = range(4)

WIDTH = MappingProxyType(
    {
        SLOTS: SLOT,
        NODES: NODE,
        PROCESSES: PROCESS,
        GROUPS: GROUP,
        PAIRS: PAIR,
        SENDERS: 1,
        RUNNING: 1,
        TUPLES: TUPLE,
        ROOTS: ROOT,
        EVENTS: 1,
    }
)


class Memory:
    """Both arrays, and their areas as tables that write through."""

    def __init__(self, rows: dict[int, int]) -> None:
        """So many rows in each area."""
        self.rows = dict(rows)
        size = HEAD + sum(WIDTH[area] * count for area, count in rows.items())
        self.whole: Ints = np.zeros(size, dtype=np.int64)
        self.real: Floats = np.zeros(size)
        begin = HEAD
        for area, count in rows.items():
            self.whole[area] = begin
            begin += WIDTH[area] * count

    def whole_of(self, area: int) -> Ints:
        """Shape (rows, width): the whole numbers of an area."""
        return self._table(self.whole, area)

    def real_of(self, area: int) -> Floats:
        """Shape (rows, width): the reals of an area."""
        return self._table(self.real, area)

    def copy_from(self, other: "Memory", area: int) -> None:
        """Take over the rows that there are in another memory."""
        count = other.rows[area]
        self.whole_of(area)[:count] = other.whole_of(area)
        self.real_of(area)[:count] = other.real_of(area)

    def _table(self, cells: npt.NDArray[Kind], area: int) -> npt.NDArray[Kind]:
        begin, count, width = int(self.whole[area]), self.rows[area], WIDTH[area]
        return cells[begin : begin + count * width].reshape(count, width)
