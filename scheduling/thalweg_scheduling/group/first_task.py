"""Global: everything goes to one task, the first of the vertex."""

from collections.abc import Sequence

from thalweg_scheduling.group.receivers import Receiver, serving


class Global:
    """All senders pick the same one, since all see the receivers in the same order."""

    __slots__ = ("_place",)

    def __init__(self, receivers: Sequence[Receiver]) -> None:
        """Take the first that has a weight."""
        self._place = serving(receivers)[0]

    def pick(self, key: bytes | None = None) -> int:  # noqa: ARG002
        """Return its place."""
        return self._place

    def update(self, receivers: Sequence[Receiver]) -> "Global":
        """Take the first again."""
        return Global(receivers)
