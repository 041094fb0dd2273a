"""Who can receive, where the sender is, and the shape that every grouping has.

A picker is asked for every tuple, so it is plain Python and takes constant or logarithmic time. It
keeps what it has learnt by itself (whose turn it is, how much went to whom) and nothing else: new
receivers or new weights make a new picker by `update`, which takes over what must not be lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Protocol, TypeAlias

from thalweg_scheduling.model.errors import SchedulingError


class NoReceiver(SchedulingError):
    """Nobody may be sent to at the moment: hold the tuple back until routes change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """A task that can be sent to, as routes describe it."""

    name: str
    node: str = ""
    domain: str = ""
    process: str = ""
    """The pod; empty where each task has its own."""
    weight: float = 1.0
    """Its part of the stream in proportion to the others; with 0 it gets nothing new."""
    key_groups: tuple[tuple[int, int], ...] = ()
    """The key groups it owns, as ranges with both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the sender runs."""

    node: str = ""
    domain: str = ""
    process: str = ""


NOWHERE = Origin()

Senders: TypeAlias = Mapping[Origin, int]
"""How many senders an edge has in each place."""
NOBODY: Senders = MappingProxyType({})
"""Nobody said where they are."""


class Nearness(IntEnum):
    """How near a receiver is; the nearest first."""

    PROCESS = 0
    NODE = 1
    DOMAIN = 2
    ELSEWHERE = 3


class Picker(Protocol):
    """Chooses the receiver of one tuple."""

    def pick(self, key: bytes | None) -> int:
        """Return the receiver's place in the sequence that the picker was made from."""

    def update(self, receivers: Sequence[Receiver]) -> "Picker":
        """Return a picker for these receivers that goes on where this one is."""


def serving(receivers: Sequence[Receiver]) -> list[int]:
    """The places of those that get anything; NoReceiver if there are none."""
    places = [place for place, receiver in enumerate(receivers) if receiver.weight > 0]
    if not places:
        raise NoReceiver(f"none of {len(receivers)} receivers has a weight")
    return places


def nearness(origin: Origin, receiver: Receiver) -> Nearness:
    """How near a receiver is to the sender; an empty name is near nobody."""
    if origin.process and origin.process == receiver.process:
        return Nearness.PROCESS
    if origin.node and origin.node == receiver.node:
        return Nearness.NODE
    if origin.domain and origin.domain == receiver.domain:
        return Nearness.DOMAIN
    return Nearness.ELSEWHERE
