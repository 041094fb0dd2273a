"""The state of key groups as bytes, in pieces that fit into frames."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from thalweg_runtime.worker.errors import Garbage, Unsendable
from thalweg_runtime.worker.frames import UNDECODABLE, UNENCODABLE, State

PIECE_BYTES = 4 * 1024 * 1024
LARGEST_STATE_BYTES = 1024 * 1024 * 1024
"""Nobody takes more for one key group."""
_TOGETHER = 64
"""Groups in one frame, unless their state is too large for that."""

_DECODER = msgspec.msgpack.Decoder(dict[Any, Any])


def pieces(edge: str, states: Mapping[int, Mapping[Any, Any]]) -> Iterator[State]:
    """Pack states, one after the other; Unsendable names the group that cannot be."""
    together: dict[int, bytes] = {}
    size = 0
    for group, state in states.items():
        data = _packed(group, state)
        if together and (size + len(data) > PIECE_BYTES or len(together) == _TOGETHER):
            yield State(edge, together, goes_on=False)
            together, size = {}, 0
        last = (len(data) - 1) // PIECE_BYTES * PIECE_BYTES
        for first in range(0, last, PIECE_BYTES):
            yield State(edge, {group: data[first : first + PIECE_BYTES]}, goes_on=True)
        together[group] = data[last:]
        size += len(data) - last
    if together:
        yield State(edge, together, goes_on=False)


class Unpacking:
    """Puts together what one peer gives."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._begun: dict[int, bytearray] = {}

    def feed(self, frame: State) -> dict[int, dict[Any, Any]]:
        """Return the states that are whole now; Garbage for what can be none."""
        for group, piece in frame.groups.items():
            begun = self._begun.setdefault(group, bytearray())
            begun += piece
            if len(begun) > LARGEST_STATE_BYTES:
                raise Garbage(f"the state of key group {group} is too large")
        if frame.goes_on:
            return {}
        return {group: _unpacked(group, self._begun.pop(group)) for group in frame.groups}


def _packed(group: int, state: Mapping[Any, Any]) -> bytes:
    try:
        return msgspec.msgpack.encode(state)
    except UNENCODABLE as error:
        raise Unsendable(
            f"the state of key group {group} cannot be handed over: {error}"
        ) from error


def _unpacked(group: int, data: bytearray) -> dict[Any, Any]:
    try:
        return _DECODER.decode(data)
    except UNDECODABLE as error:
        raise Garbage(f"the state of key group {group} cannot be read: {error}") from error
