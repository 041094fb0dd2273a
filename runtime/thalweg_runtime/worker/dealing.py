"""Who gets which tuples of a batch, by an edge's grouping. No I/O.

This is done for every tuple, so it is done for a batch at a time, by as little Python as possible.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Generic, TypeVar

from thalweg_runtime.worker.frames import Record
from thalweg_scheduling.group import Fields, GroupsOfKeys, Picker, Shuffle, joined_key, key_group
from thalweg_scheduling.model.graph import GroupingType

To = TypeVar("To")

Part = tuple[To | None, Sequence[Record], Sequence[int]]
"""A receiver, or None for nobody; the tuples for it; their key groups, if the grouping has any."""


class Dealing(Generic[To]):
    """Deals out tuples to those who can be sent to now."""

    def __init__(
        self,
        grouping: GroupingType,
        keys: Sequence[str],
        receivers: Sequence[To],
        picker: Picker | None,
    ) -> None:
        """`picker` was made from these receivers; without one, only a broadcast gets anywhere."""
        self._grouping = grouping
        self._keys = keys
        self._receivers = receivers
        self._picker = picker
        self._groups = GroupsOfKeys()
        self._owners: list[To | None] = []
        if isinstance(picker, Fields):
            self._owners = [None if place is None else receivers[place] for place in picker.owners]
        self._only = self._found_only()

    def deal(self, records: Sequence[Record]) -> Sequence[Part[To]]:
        """Each receiver's part, in order."""
        if self._grouping is GroupingType.BROADCAST and self._receivers:
            return [(one, records, ()) for one in self._receivers]
        if self._picker is None:
            return [(None, records, ())]
        groups: Sequence[int] = ()
        if self._owners:
            groups = self._groups_of(records)
        elif self._grouping is GroupingType.GLOBAL:
            groups = [0] * len(records)
        if self._only is not None:
            return [(self._only, records, groups)]
        if self._owners:
            owners = self._owners
            return parted(records, [owners[group] for group in groups], groups)
        return parted(records, self._picked(self._picker, records), groups)

    def _found_only(self) -> To | None:
        """Who gets everything, if that is certain before anything comes."""
        if self._picker is None:
            return None
        if self._grouping is GroupingType.GLOBAL:
            return self._receivers[self._picker.pick(None)]
        able = set(self._owners or self._receivers)
        return able.pop() if len(able) == 1 else None

    def _groups_of(self, records: Sequence[Record]) -> list[int]:
        if len(self._keys) == 1:
            values = map(itemgetter(self._keys[0]), records)
            # Without the field, or with a list in it, it takes a closer look.
            with suppress(KeyError, TypeError):
                return list(map(self._groups.__getitem__, values))
        return [key_group(self._key(record)) for record in records]

    def _picked(self, picker: Picker, records: Sequence[Record]) -> list[To]:
        pick, receivers = picker.pick, self._receivers
        if isinstance(picker, Shuffle):
            return [receivers[place] for place in picker.picks(len(records))]
        if not self._keys:
            return [receivers[pick(None)] for _ in records]
        return [receivers[pick(self._key(record))] for record in records]

    def _key(self, record: Record) -> bytes:
        return joined_key([record.get(key) for key in self._keys])


def parted(
    records: Sequence[Record], receivers: Sequence[To | None], groups: Sequence[int]
) -> Sequence[Part[To]]:
    """Bring together what has the same receiver; often that is everything."""
    if len(set(receivers)) == 1:
        return [(receivers[0], records, groups)]
    places: defaultdict[To | None, list[int]] = defaultdict(list)
    for place, receiver in enumerate(receivers):
        places[receiver].append(place)
    return [
        (
            receiver,
            [records[place] for place in its],
            [groups[place] for place in its] if groups else (),
        )
        for receiver, its in places.items()
    ]
