"""Receivers of a broadcast that are gone for now, and what is for them when they are back.

Routes name who can receive now: in them, a task whose pod has died looks like one that was scaled
away. The link can tell. Who is scaled away is left out of the routes while it is still there; who
was lost, or left, before the routes knew of it comes back in another pod.
"""

from collections.abc import Sequence

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.frames import Record

Kept = tuple[Sequence[Record], float, Cause]


class Absent:
    """Keeps what the missing have not got, for a while and not without end."""

    def __init__(self, *, patience_s: float, full_tuples: int) -> None:
        """Nobody is missing."""
        self._patience_s = patience_s
        self._full_tuples = full_tuples
        self._since_s: dict[str, float] = {}
        self._kept: dict[str, list[Kept]] = {}
        self._count = dict[str, int]()

    def __bool__(self) -> bool:
        """Whether anybody is missing."""
        return bool(self._since_s)

    def __contains__(self, task: str) -> bool:
        """Whether this task is missing."""
        return task in self._since_s

    @property
    def is_full(self) -> bool:
        """Whether the sender should wait before it makes more."""
        return any(count >= self._full_tuples for count in self._count.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not any(self._count.values())

    def miss(self, task: str, now_s: float) -> None:
        """From now on, keep what is for this task."""
        if task not in self._since_s:
            self._since_s[task] = now_s
            self._kept[task], self._count[task] = [], 0

    def put(self, task: str, records: Sequence[Record], born: float, cause: Cause) -> None:
        """Keep these for one that is missing."""
        cause.pending += 1
        self._kept[task].append((records, born, cause))
        self._count[task] += len(records)

    def put_all(self, records: Sequence[Record], born: float, cause: Cause) -> None:
        """Keep these for everybody who is missing."""
        for task in self._since_s:
            self.put(task, records, born, cause)

    def back(self, task: str) -> list[Kept]:
        """The task is there again: return what is for it; release the causes afterwards."""
        del self._since_s[task], self._count[task]
        return self._kept.pop(task)

    def give_up(self, now_s: float) -> dict[str, int]:
        """Wait no longer for those that are missing for too long; return what each loses."""
        late = [task for task, since_s in self._since_s.items() if self._is_over(since_s, now_s)]
        lost = {task: self._count[task] for task in late}
        for task in late:
            self.release(task)
        return lost

    def release(self, *tasks: str) -> None:
        """Let go of what was for these."""
        for task in tasks:
            for _, _, cause in self.back(task):
                cause.release()

    def clear(self) -> None:
        """Let go of everything."""
        self.release(*self._since_s)

    def _is_over(self, since_s: float, now_s: float) -> bool:
        return now_s - since_s > self._patience_s
