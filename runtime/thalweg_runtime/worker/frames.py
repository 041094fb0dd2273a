"""What two workers say to each other: frames of MessagePack, each with its length before it.

A sender opens with Hello and gets Welcome with its credit. Then Batch after Batch, each answered by
Ack when all that it caused is done, or by Refuse, which leaves it in the sender's hands. Doc, Want,
State and Got are how the tasks of a vertex hand key groups over (see `holding`). A source lets its
receivers keep how far it has come (Position); whoever is the source next hears it in Welcome.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from thalweg_runtime.worker.errors import Garbage, TooLarge, Unsendable

PROTOCOL = 2
LARGEST_FRAME_BYTES = 16 * 1024 * 1024
UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)
"""What the encoder raises, by what is wrong with a value."""
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_PREFIX_BYTES = 4

Record = dict[Any, Any]

Born = tuple[int, float]
"""So many tuples, and when what they stem from was made."""


class Frame(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The root of what is sent."""


class Hello(Frame, tag=0, frozen=True):
    """Who sends, and to whom; `vertex` is empty between tasks of one vertex."""

    protocol: int
    namespace: str
    """Addresses come again: without it, one could be taken for a namesake elsewhere."""
    topology: str
    vertex: str
    task: str
    incarnation: int
    to_task: str
    to_incarnation: int
    is_leaving: bool
    """It only finishes what it has in hand."""
    is_source: bool


class Welcome(Frame, tag=1, frozen=True):
    """The receiver takes so many unacknowledged tuples.

    `position` is the furthest that a source of this name has told, or 0. A source whose pod before
    is still there is told to wait by a credit of 0; when that one is gone, it is welcomed again.
    """

    credit_tuples: int
    position: int


class Batch(Frame, tag=2, frozen=True):
    """Tuples. `born` says of each run of them when the source made what they stem from.

    `groups` has their key groups, or nothing where the grouping has none.
    """

    number: int
    born: list[Born]
    groups: list[int]
    records: list[Record]


class Ack(Frame, tag=3, frozen=True):
    """These batches are done, with all that they caused."""

    numbers: list[int]


class Refuse(Frame, tag=4, frozen=True):
    """A batch that was not touched: send it to somebody else, or by newer routes."""

    number: int
    is_leaving: bool


class Peer(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A task as it stands in routes."""

    name: str
    incarnation: int
    address: str
    key_groups: tuple[tuple[int, int], ...]


class Doc(Frame, tag=5, frozen=True):
    """Who owns which key groups of an edge, by a version of the sender's routes."""

    edge: str
    version: int
    peers: tuple[Peer, ...]
    former: tuple[Peer, ...]
    """Tasks and incarnations that were there before: they may still have the state."""


class Want(Frame, tag=6, frozen=True):
    """Give away what is not yours by the Doc before this, then say Done."""

    edge: str


class Done(Frame, tag=7, frozen=True):
    """The answer to Want.

    `kept` has the groups of others that it still has: these must not begin anew anywhere.
    """

    kept: list[int]


class State(Frame, tag=8, frozen=True):
    """The state of some key groups, for their new owner; each is packed by itself (`packing`)."""

    edge: str
    groups: dict[int, bytes]
    goes_on: bool
    """The next frame has more of it."""


class Got(Frame, tag=9, frozen=True):
    """The answer to State: the new owner has these now; the others are not its own.

    `trouble` says why a state cannot be read; usually it is empty.
    """

    groups: list[int]
    trouble: str


class Ping(Frame, tag=10, frozen=True):
    """Are you there?"""


class Pong(Frame, tag=11, frozen=True):
    """Yes."""


class Leave(Frame, tag=12, frozen=True):
    """The receiver takes nothing more: it drains, or it is not who was asked for."""


class Position(Frame, tag=13, frozen=True):
    """All that a source made before this number is done."""

    acknowledged: int


_Opening = Hello | Welcome | Leave | Ping | Pong
_Flowing = Batch | Ack | Refuse | Position
_HandingOver = Doc | Want | Done | State | Got
_Any = _Opening | _Flowing | _HandingOver
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Any)
_ANYTHING = msgspec.msgpack.Decoder()


def encoded(frame: Frame) -> bytes:
    """A frame as it goes over the wire; Unsendable if no receiver could take it."""
    try:
        body = _ENCODER.encode(frame)
    except UNENCODABLE as error:
        raise Unsendable(f"what a step makes must be what MessagePack knows: {error}") from error
    if len(body) > LARGEST_FRAME_BYTES:
        most = LARGEST_FRAME_BYTES
        raise TooLarge(f"{len(body)} bytes are too large for a frame of {most}")
    return len(body).to_bytes(_PREFIX_BYTES, "big") + body


def copied(records: Sequence[Record]) -> list[Record]:
    """Records that share nothing with these, as a wire would have brought them."""
    try:
        whole: list[Record] = _ANYTHING.decode(_ENCODER.encode(records))
    except UNENCODABLE as error:
        raise Unsendable(f"what a step makes must be what MessagePack knows: {error}") from error
    return whole


def records_of(data: bytes) -> list[Record]:
    """The records of a batch that was encoded here, as its receiver has them."""
    records: list[Record] = _ANYTHING.decode(memoryview(data)[_PREFIX_BYTES:])[-1]
    return records


class Splitter:
    """Cuts a stream of bytes into frames."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that are whole now; Garbage for what can be none."""
        self._rest += data
        start, end, frames = 0, len(self._rest), []
        with memoryview(self._rest) as rest:
            while end - start >= _PREFIX_BYTES:
                body = start + _PREFIX_BYTES
                length = int.from_bytes(rest[start:body], "big")
                if length > LARGEST_FRAME_BYTES:
                    raise Garbage(f"a frame of {length} bytes is too large")
                if end - body < length:
                    break
                start = body + length
                frames.append(_decoded(rest[body:start]))
        del self._rest[:start]
        return frames


def _decoded(body: memoryview) -> Frame:
    try:
        frame: Frame = _DECODER.decode(body)
    except UNDECODABLE as error:
        raise Garbage(f"no frame: {error}") from error
    return frame
