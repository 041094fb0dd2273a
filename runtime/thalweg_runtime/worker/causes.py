"""What tuples stem from: acknowledged once everything that it caused is."""

from collections.abc import Callable


class Cause:
    """A batch that came in, or one that a source made.

    `pending` counts whatever still keeps it open: being processed, and each batch on its way that
    has something of it.
    """

    __slots__ = ("_finished", "pending")

    def __init__(self, finished: Callable[[], None]) -> None:
        """Open, since it is about to be processed."""
        self.pending = 1
        self._finished = finished

    def release(self) -> None:
        """One thing less; after the last, it is finished."""
        self.pending -= 1
        if not self.pending:
            self._finished()
