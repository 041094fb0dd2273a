"""When tuples come from outside."""

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints

_BLOCK = 64


class Outside:
    """A stream of arrivals for each slot; with a variation of 1 it is Poisson.

    Otherwise it is a renewal process in a time that runs as fast as the rate: a change of the rate
    brings what is on its way sooner or later.
    """

    def __init__(self, rng: np.random.Generator, cv2: float) -> None:
        self._rng = rng
        self._cv2 = cv2
        self._gap: dict[int, float] = {}

    def arrivals(self, rates_per_s: Floats, begin_s: float, end_s: float) -> tuple[Floats, Ints]:
        """When and where something comes between two times, at constant rates."""
        if self._cv2 == 1.0:
            return self._poisson(rates_per_s, begin_s, end_s)
        slots = np.flatnonzero(rates_per_s > 0)
        times = [
            begin_s
            + self._renewals(int(slot), rates_per_s[slot] * (end_s - begin_s)) / rates_per_s[slot]
            for slot in slots
        ]
        source = np.repeat(slots, [len(each) for each in times]).astype(np.int64)
        at_s = np.concatenate([np.zeros(0), *times])
        order = np.argsort(at_s, kind="stable")
        return at_s[order], source[order]

    def _poisson(self, rates_per_s: Floats, begin_s: float, end_s: float) -> tuple[Floats, Ints]:
        counts = self._rng.poisson(rates_per_s * (end_s - begin_s))
        source = np.repeat(np.arange(len(rates_per_s)), counts).astype(np.int64)
        at_s = begin_s + (end_s - begin_s) * self._rng.random(len(source))
        order = np.argsort(at_s, kind="stable")
        return at_s[order], source[order]

    def _renewals(self, slot: int, length: float) -> Floats:
        """The renewals within a length of time in which one is expected in each unit."""
        gap = self._gap.get(slot)
        if gap is None:
            # The first gap begins before the clock does: else all sources would start as one.
            gap = float(self._rng.random()) * float(self._draw(1)[0])
        times = np.array([gap])
        while times[-1] <= length:
            more = self._draw(max(_BLOCK, int(1.2 * (length - times[-1]))))
            times = np.concatenate((times, times[-1] + np.cumsum(more)))
        within = times[times <= length]
        self._gap[slot] = float(times[len(within)] - length)
        return within

    def _draw(self, count: int) -> Floats:
        if self._cv2 == 0.0:
            return np.ones(count)
        return self._rng.standard_gamma(1 / self._cv2, count) * self._cv2
