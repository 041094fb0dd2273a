"""Fields: a key always goes to the task that owns its key group."""

from collections.abc import Sequence
from zlib import crc32

from thalweg_scheduling.group.keys import KEY_GROUPS
from thalweg_scheduling.group.receivers import NoReceiver, Receiver

_NOBODY = -1


class Fields:
    """A table from key group to receiver. Weights do not count: state is where it is."""

    __slots__ = ("_owner",)

    def __init__(self, receivers: Sequence[Receiver]) -> None:
        """Build the table; where ranges overlap, the later receiver owns the group."""
        self._owner = [_NOBODY] * KEY_GROUPS
        for place, receiver in enumerate(receivers):
            for first, last in receiver.key_groups:
                self._owner[first : last + 1] = [place] * (last + 1 - first)

    @property
    def owners(self) -> list[int | None]:
        """The owner's place for each key group, None where nobody serves it now."""
        return [None if place == _NOBODY else place for place in self._owner]

    def pick(self, key: bytes | None) -> int:
        """Return the owner's place; NoReceiver where nobody serves the group now."""
        group = crc32(key or b"") % KEY_GROUPS
        place = self._owner[group]
        if place == _NOBODY:
            raise NoReceiver(f"nobody owns key group {group} at the moment")
        return place

    def update(self, receivers: Sequence[Receiver]) -> "Fields":
        """Build a new table; there is nothing to keep."""
        return Fields(receivers)
