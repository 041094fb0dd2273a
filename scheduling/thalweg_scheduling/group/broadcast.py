"""Broadcast: everybody gets everything."""

from collections.abc import Sequence

from thalweg_scheduling.group.receivers import NoReceiver, Receiver


class Broadcast:
    """No picker: it has targets, all of them, whatever their weights."""

    __slots__ = ("targets",)

    def __init__(self, receivers: Sequence[Receiver]) -> None:
        """Count them."""
        if not receivers:
            raise NoReceiver("there is nobody to broadcast to")
        self.targets: tuple[int, ...] = tuple(range(len(receivers)))

    def update(self, receivers: Sequence[Receiver]) -> "Broadcast":
        """Count again."""
        return Broadcast(receivers)
