"""Shuffle: one after the other, whoever it is."""

from collections.abc import Sequence
from itertools import cycle, islice

from thalweg_scheduling.group.receivers import Receiver, serving


class Shuffle:
    """Round robin over the receivers that have a weight."""

    __slots__ = ("_places", "_turn")

    def __init__(self, receivers: Sequence[Receiver], *, seed: int = 0) -> None:
        """Senders with different seeds begin at different receivers."""
        self._places = serving(receivers)
        self._turn = seed % len(self._places)

    def pick(self, key: bytes | None = None) -> int:  # noqa: ARG002
        """Return the next one's place."""
        turn = self._turn
        self._turn = turn + 1 if turn + 1 < len(self._places) else 0
        return self._places[turn]

    def picks(self, count: int) -> list[int]:
        """Return the places of the next so many."""
        turn, size = self._turn, len(self._places)
        self._turn = (turn + count) % size
        return list(islice(cycle(self._places[turn:] + self._places[:turn]), count))

    def update(self, receivers: Sequence[Receiver]) -> "Shuffle":
        """Go on with the turn that it is."""
        return Shuffle(receivers, seed=self._turn)
