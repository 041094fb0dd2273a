"""The key groups that a task holds for one in-edge, with their state.

Who owns a group is said by the routes of the senders (Doc). Who *holds* it is the one process that
has its state. When the two differ, the holder gives the group to its owner; an owner that gets
tuples of a group it does not hold first asks everybody who might (see `handover`). A batch is only
touched if all of its groups are owned and held, so nothing is ever applied in two places.
"""

from collections.abc import Iterable
from typing import Any

from thalweg_runtime.worker.frames import Doc, Peer
from thalweg_scheduling.group import KEY_GROUPS

State = dict[Any, Any]

_MOST_FORMER = 256


class Holding:
    """What is owned and what is held. No I/O."""

    def __init__(self, edge: str, task: str, incarnation: int) -> None:
        """Nothing is known yet."""
        self.edge = edge
        self.doc = Doc(edge, 0, (), ())
        self.held: dict[int, State] = {}
        self.ready: dict[int, State] = {}
        """The states of groups whose tuples can be applied."""
        self.own: set[int] = set()
        self._me = (task, incarnation)
        self._owners: dict[int, Peer] = {}
        self._former: dict[tuple[str, int], Peer] = {}
        self._gone: dict[tuple[str, int], None] = {}
        """Those that were asked in vain; others may not have heard of it."""
        self._leaving: set[int] = set()

    @property
    def missing(self) -> set[int]:
        """Groups that are owned and not held."""
        return self.own - self.ready.keys()

    @property
    def foreign(self) -> set[int]:
        """Groups that are held for somebody else."""
        return {group for group in self.held if group not in self.own}

    @property
    def is_owing(self) -> bool:
        """Whether anything is held whose owner is known."""
        return any(group in self._owners for group in self.foreign)

    def learn(self, doc: Doc) -> bool:
        """Take in who owns what, if it is news."""
        self._remember(doc.former)
        if doc.version <= self.doc.version:
            return False
        self._remember(self.doc.peers)
        self.doc = doc
        self._owners = {
            group: peer
            for peer in doc.peers
            for first, last in peer.key_groups
            for group in range(max(0, first), min(last, KEY_GROUPS - 1) + 1)
        }
        for peer in doc.peers:
            self._former.pop((peer.name, peer.incarnation), None)
            self._gone.pop((peer.name, peer.incarnation), None)
        self.own = {group for group, peer in self._owners.items() if self._is_me(peer)}
        self._settle()
        return True

    def forget(self, peer: Peer) -> None:
        """One that has answered nothing has nothing, unless the routes still name it."""
        key = peer.name, peer.incarnation
        if self._former.pop(key, None) is not None:
            self._gone[key] = None
        while len(self._gone) > _MOST_FORMER:
            self._gone.pop(next(iter(self._gone)))

    def others(self) -> list[Peer]:
        """Everybody who might hold a group."""
        known = {(peer.name, peer.incarnation): peer for peer in self.doc.peers}
        return [peer for peer in (self._former | known).values() if not self._is_me(peer)]

    def told(self) -> Doc:
        """What is known of owners, to be passed on."""
        return Doc(self.edge, self.doc.version, self.doc.peers, tuple(self._former.values()))

    def begin(self, groups: Iterable[int]) -> None:
        """Nobody had these: they begin empty."""
        for group in groups:
            if group in self.own:
                self.held.setdefault(group, {})
        self._settle()

    def to_give(self) -> dict[tuple[str, int], tuple[Peer, list[int]]]:
        """Groups that somebody else owns and that are not on their way yet, by owner."""
        found: dict[tuple[str, int], tuple[Peer, list[int]]] = {}
        for group in sorted(self.foreign - self._leaving):
            peer = self._owners.get(group)
            if peer is not None:
                key = peer.name, peer.incarnation
                found.setdefault(key, (peer, []))[1].append(group)
        return found

    def sending(self, groups: Iterable[int]) -> None:
        """These are on their way to somebody: not to be used, even if they become ours again."""
        self._leaving.update(groups)
        self._settle()

    def sent(self, groups: Iterable[int], got: Iterable[int]) -> None:
        """Of the groups that were on their way, these have arrived; the others are still here."""
        for group in set(got) & self._leaving:
            self.held.pop(group, None)
        self._leaving.difference_update(groups)
        self._settle()

    def take(self, states: dict[int, State]) -> list[int]:
        """Hold these from now on; return those that are ours.

        A group that is already held here was begun anew because its holder did not answer; what
        comes later is dropped.
        """
        taken = [group for group in states if group in self.own]
        for group in taken:
            if group not in self.held or group in self._leaving:
                self.held[group] = states[group]
                self._leaving.discard(group)
        self._settle()
        return taken

    def _remember(self, peers: Iterable[Peer]) -> None:
        for peer in peers:
            if (peer.name, peer.incarnation) not in self._gone:
                self._former[peer.name, peer.incarnation] = peer
        while len(self._former) > _MOST_FORMER:
            self._former.pop(next(iter(self._former)))

    def _settle(self) -> None:
        ready = (self.own & self.held.keys()) - self._leaving
        self.ready = {group: self.held[group] for group in ready}

    def _is_me(self, peer: Peer) -> bool:
        return (peer.name, peer.incarnation) == self._me
