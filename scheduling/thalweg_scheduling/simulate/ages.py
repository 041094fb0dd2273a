"""How old is what leaves a queue, where only amounts are known: first come, first served."""

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints

_ROWS = 256


class Ages:
    """What has come to each task by when, and how much of it has left."""

    def __init__(self, there: Floats) -> None:
        """Begin with queues whose tuples count as having just come."""
        self._tasks = np.arange(len(there))
        self._times_s = np.zeros(_ROWS)
        self._arrived = np.zeros((_ROWS, len(there)))
        self._arrived[1] = there
        self._rows = 2
        self._departed = np.zeros(len(there))
        self._age_s = np.zeros(len(there))
        self._at = np.zeros(len(there), dtype=np.int64)
        """The last row of which everything has left."""

    def after(self, span_s: float, arriving: Floats, departing: Floats) -> Floats:
        """Shape (tasks,): the mean age of what left, when so many came and left in a span."""
        self._make_room()
        row = self._rows
        self._rows += 1
        self._times_s[row] = self._times_s[row - 1] + span_s
        self._arrived[row] = self._arrived[row - 1] + arriving
        self._departed += departing
        while True:
            ahead = self._at < row - 1
            ahead &= self._arrived[self._at + 1, self._tasks] <= self._departed
            if not ahead.any():
                break
            self._at += ahead
        since, until = self._times_s[self._at], self._times_s[self._at + 1]
        before = self._arrived[self._at, self._tasks]
        within = self._arrived[self._at + 1, self._tasks] - before
        share = np.where(within > 0, (self._departed - before) / within, 1.0)
        age_s: Floats = self._times_s[row] - since - np.clip(share, 0.0, 1.0) * (until - since)
        mean_s = (self._age_s + age_s) / 2
        self._age_s = age_s
        return mean_s

    def on(self, there: Floats, to: Ints) -> "Ages":
        """The same for other tasks, `to` being where each is then, or -1; `there` is what waits."""
        stays = to >= 0
        other = Ages(np.zeros(len(there)))
        other._rows = self._rows
        other._times_s = self._times_s.copy()
        other._arrived = np.zeros((len(self._times_s), len(there)))
        other._arrived[:, to[stays]] = self._arrived[:, stays]
        other._departed[to[stays]] = self._departed[stays]
        other._at[to[stays]] = self._at[stays]
        other._age_s[to[stays]] = self._age_s[stays]
        # What came over from others counts as having just come.
        known = other._arrived[self._rows - 1] - other._departed
        other._arrived[self._rows - 1] += np.maximum(0.0, there - known)
        return other

    def _make_room(self) -> None:
        """Forget what nobody asks about any more; take more rows if that is not enough."""
        if self._rows < len(self._times_s):
            return
        first = int(self._at.min())
        self._times_s = np.concatenate((self._times_s[first:], np.zeros(self._rows)))
        self._arrived = np.concatenate(
            (self._arrived[first:], np.zeros((self._rows, len(self._tasks))))
        )
        self._at -= first
        self._rows -= first
