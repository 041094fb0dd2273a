"""An outlet: one out-edge of a task, with its grouping and a link to each receiver."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from thalweg_runtime.worker.absent import Absent
from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.counters import Counters
from thalweg_runtime.worker.dealing import Dealing
from thalweg_runtime.worker.frames import Doc, Peer, Position, Record
from thalweg_runtime.worker.link import FULL_TUPLES, Link, Parcel
from thalweg_runtime.worker.routes import EdgeRoutes, Target
from thalweg_runtime.worker.settings import Limits
from thalweg_runtime.worker.ways import Ways
from thalweg_scheduling.group import (
    KEY_GROUPS,
    LoadAwareLocal,
    NoReceiver,
    Origin,
    Picker,
    Receiver,
    Senders,
    picker_for,
)
from thalweg_scheduling.model.graph import GroupingType

_AGAIN_S = 0.2
"""After so long, tuples that nobody wanted are offered again."""
_MOST_FORMER = 256
_COMES_BACK_S = 60.0
"""After its death was noticed, a receiver of a broadcast has so long to come back."""
_KEYED = (GroupingType.FIELDS, GroupingType.GLOBAL)
"""Groupings by which a tuple has one owner, who has the state of its key group."""

_log = logging.getLogger(__name__)


class Outlet:
    """Sends what the task emits along one edge."""

    def __init__(
        self,
        edge: EdgeRoutes,
        counters: Counters,
        *,
        ways: Ways,
        limits: Limits,
        origin: Origin,
        room: asyncio.Event,
    ) -> None:
        """`route` makes the links."""
        self.to = edge.to
        self.full: set[Link] = set()
        self.doc: Doc | None = None
        self.position = 0
        """The furthest that a receiver knows of the source that this is."""
        self.repeats = 0
        """Tuples in hand that have been sent, and counted, before."""
        self.is_shared = False
        """Whether another edge gets the same records too."""
        self.links: dict[tuple[str, int], Link] = {}
        self._has_ended = False
        self._absent = Absent(
            patience_s=limits.dead_after_s + _COMES_BACK_S, full_tuples=FULL_TUPLES
        )
        self._retired: set[Link] = set()
        self._grouping = edge.grouping
        self._keys = edge.keys
        self._senders = edge.senders
        self._counters = counters
        self._ways = ways
        self._limits = limits
        self._origin = origin
        self._room = room
        self._places: list[Link] = []
        self._picker: Picker | None = None
        self._dealing = self._dealt()
        self._held: list[tuple[Record, float, Cause]] = []
        self._again: asyncio.TimerHandle | None = None
        self._former: dict[tuple[str, int], Peer] = {}
        self._running: set[asyncio.Task[None]] = set()

    @property
    def is_full(self) -> bool:
        """Whether the task should wait before it makes more."""
        return bool(self.full) or len(self._held) >= FULL_TUPLES or self._absent.is_full

    @property
    def is_over(self) -> bool:
        """Whether an edge that is no more is also done with."""
        return not self.links and not self._retired

    @property
    def is_empty(self) -> bool:
        """Whether everything has been answered."""
        links = (*self.links.values(), *self._retired)
        is_holding = self._held or not self._absent.is_empty
        return not is_holding and all(link.is_empty for link in links)

    def route(self, edge: EdgeRoutes, version: int) -> None:
        """Send by these routes from now on; what is not sent yet is dealt out anew."""
        unsent = {link: link.take_unsent() for link in self.links.values()}
        if edge.grouping != self._grouping or edge.senders != self._senders:
            self._picker = None
        self._senders = edge.senders
        self._keys, self._grouping = edge.keys, edge.grouping
        before = self._relinked(edge.targets)
        self._tell(version, before)
        self._regroup()
        self._look_for_absent(before.values())
        for link, parcels in unsent.items():
            self._put_again(link, parcels)
        for key, link in before.items():
            self._former[key] = link.target.peer
            self._retired.add(link)
            link.flush()
            link.retire()
        while len(self._former) > _MOST_FORMER:
            self._former.pop(next(iter(self._former)))
        self._offer_again()

    def put(self, records: Sequence[Record], born: float, cause: Cause) -> None:
        """Send tuples to whom the grouping says."""
        for link, part, groups in self._dealing.deal(records):
            if link is not None:
                link.put(part, groups, born, cause)
            elif not self._absent:
                self._hold(part, born, cause)
        if self._absent:
            self._absent.put_all(records, born, cause)

    def flush(self) -> None:
        """Send what waits for company."""
        for link in self._places:
            link.flush()

    def tell(self, position: Position) -> None:
        """Let every receiver keep how far the source has come."""
        for link in self.links.values():
            link.tell(position)

    def balance(self) -> None:
        """Let a grouping that follows the load see how much each receiver has to do."""
        if isinstance(self._picker, LoadAwareLocal):
            self._picker = self._picker.observed([link.load for link in self._places])
            self._dealing = self._dealt()

    def came_up(self, link: Link) -> None:
        """A receiver is there, or is there again."""
        if not link.is_retired:
            self._regroup()
            self._offer_again()

    def went_down(self, link: Link, parcels: list[Parcel]) -> None:
        """A receiver is gone or leaves: others get what it has not answered."""
        if not link.is_retired:
            self._regroup()
        self._put_again(link, parcels)
        self._offer_again()

    def refused(self, link: Link, parcel: Parcel) -> None:
        """A receiver does not own these groups, or leaves."""
        if link.is_leaving and self._grouping not in _KEYED:
            self.went_down(link, [parcel])
            return
        # By the same routes it would be refused again: wait a little, or for new ones.
        self._repeat(parcel)
        for records, born, cause in parcel.entries():
            self._hold(records, born, cause)
        parcel.release()
        self._schedule()

    def has_room(self) -> None:
        """A link that was full is not any more."""
        if not self.is_full:
            self._room.set()

    def ended(self, link: Link) -> None:
        """A link that was retired is closed."""
        self._retired.discard(link)

    def end(self) -> None:
        """The edge is no more: what has been sent is finished, the rest goes nowhere."""
        self._has_ended = True
        if self._again is not None:
            self._again.cancel()
        for link in self.links.values():
            for parcel in link.take_unsent():
                parcel.release()
            self._retired.add(link)
            link.retire()
        self.links, self._places, self._picker = {}, [], None
        self._dealing = self._dealt()
        self._absent.clear()
        held, self._held = self._held, []
        for _, _, cause in held:
            cause.release()

    async def close(self) -> None:
        """Let go of everybody."""
        if self._again is not None:
            self._again.cancel()
        for link in (*self.links.values(), *self._retired):
            link.close()
        for task in tuple(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _relinked(self, targets: Sequence[Target]) -> dict[tuple[str, int], Link]:
        """Have a link to each of these; return those that there were to others."""
        before, self.links = self.links, {}
        for target in targets:
            known = before.pop(target.key, None)
            if known is None or known.target.address != target.address:
                if known is not None:
                    before[target.key] = known
                known = self._linked(target)
            known.target = target
            self.links[target.key] = known
        several = self._grouping is GroupingType.BROADCAST and len(self.links) > 1
        for link in self.links.values():
            # A step may change what it gets; within a process others would see that.
            link.copies = link.is_inside and (self.is_shared or several)
        return before

    def _look_for_absent(self, left_out: Iterable[Link]) -> None:
        """Of a broadcast: give those what is theirs that are back, and miss those that died."""
        if self._grouping is not GroupingType.BROADCAST:
            self._absent.clear()
            return
        for link in self._places:
            if link.name in self._absent:
                for records, born, cause in self._absent.back(link.name):
                    link.put(records, (), born, cause)
                    cause.release()
        now_s = asyncio.get_running_loop().time()
        for link in left_out:
            if not link.is_well and self._heir(link) is None:
                self._absent.miss(link.name, now_s)

    def _linked(self, target: Target) -> Link:
        traffic = self._counters.to(self.to, target.receiver.name)
        link = Link(target, self, traffic, ways=self._ways, limits=self._limits)
        task = asyncio.get_running_loop().create_task(link.run())
        self._running.add(task)
        self._ways.failure.watch(task)
        task.add_done_callback(self._running.discard)
        return link

    def _hold(self, records: Sequence[Record], born: float, cause: Cause) -> None:
        if self._has_ended:
            return
        cause.pending += len(records)
        self._held += [(record, born, cause) for record in records]

    def _regroup(self) -> None:
        """Ask the grouping again with those that can be sent to now."""
        links = list(self.links.values())
        if self._grouping not in _KEYED and self._grouping is not GroupingType.BROADCAST:
            # An owner that is away is waited for; anybody else can be replaced.
            links = [one for one in links if not one.was_down and not one.is_leaving] or links
        self._places = links
        self._picker = self._picker_of([self._receiver(link) for link in links])
        self._dealing = self._dealt()

    def _dealt(self) -> Dealing[Link]:
        return Dealing(self._grouping, self._keys, self._places, self._picker)

    def _picker_of(self, receivers: Sequence[Receiver]) -> Picker | None:
        if self._grouping is GroupingType.BROADCAST:
            return None
        try:
            if self._picker is not None:
                return self._picker.update(receivers)
            origin = self._whereabouts(receivers)
            senders = self._senders_around(origin)
            return picker_for(
                self._grouping, receivers, origin, senders=senders, seed=self._ways.seed
            )
        except NoReceiver:
            return None

    def _receiver(self, link: Link) -> Receiver:
        """The receiver, as near as it is: nothing is nearer than the same process."""
        if link.target.key not in self._ways.neighbours:
            return link.target.receiver
        return replace(link.target.receiver, process=self._origin.process)

    def _whereabouts(self, receivers: Sequence[Receiver]) -> Origin:
        """The sender's own place; whoever else is on the same node tells the domain."""
        if self._origin.domain:
            return self._origin
        others: list[Origin | Receiver] = [*self._senders, *receivers]
        domains = (one.domain for one in others if one.node == self._origin.node)
        return replace(self._origin, domain=next(domains, ""))

    def _senders_around(self, origin: Origin) -> Senders:
        """Where all senders are; routes know nodes, and this process knows who shares it."""
        here = replace(origin, process="")
        if here not in self._senders:
            return self._senders
        beside = self._senders[here] - self._ways.siblings
        return {**self._senders, here: max(0, beside), origin: self._ways.siblings}

    def _tell(self, version: int, leaving: dict[tuple[str, int], Link]) -> None:
        """Tell receivers, and those that were, who owns what."""
        if self._grouping not in _KEYED:
            self.doc = None
            return
        for key in self.links:
            self._former.pop(key, None)
        former = {**self._former, **{key: link.target.peer for key, link in leaving.items()}}
        self.doc = Doc(
            edge=self._ways.vertex,
            version=version,
            peers=self._owners(),
            former=tuple(former.values()),
        )
        for link in (*self.links.values(), *leaving.values()):
            link.tell(self.doc)

    def _owners(self) -> tuple[Peer, ...]:
        peers = [link.target.peer for link in self.links.values()]
        if self._grouping is GroupingType.GLOBAL:
            receivers = [link.target.receiver for link in self.links.values()]
            try:
                chosen = picker_for(GroupingType.GLOBAL, receivers).pick(None)
            except NoReceiver:
                chosen = -1
            whole = ((0, KEY_GROUPS - 1),)
            peers = [
                Peer(one.name, one.incarnation, one.address, whole if place == chosen else ())
                for place, one in enumerate(peers)
            ]
        return tuple(peers)

    def _put_again(self, link: Link, parcels: Sequence[Parcel]) -> None:
        """Deal out anew what a link had; of a broadcast, only the same task is without its copy."""
        is_for_one = self._grouping is GroupingType.BROADCAST
        for parcel in parcels:
            if is_for_one:
                self._put_to_same(link, parcel)
            else:
                if parcel.was_sent:
                    self._repeat(parcel)
                for records, born, cause in parcel.entries():
                    self.put(records, born, cause)
            parcel.release()

    def _put_to_same(self, link: Link, parcel: Parcel) -> None:
        """Leave it to the same task, in whichever pod; nowhere if that was scaled away."""
        if self._has_ended:
            return
        heir = self._heir(link) or (link if link.is_well else None)
        if heir is None and link.name not in self._absent:
            if link.is_retired and link.is_leaving:
                return
            self._absent.miss(link.name, asyncio.get_running_loop().time())
        if parcel.was_sent:
            self._repeat(parcel)
        for records, born, cause in parcel.entries():
            if heir is not None:
                heir.put(records, (), born, cause)
            else:
                self._absent.put(link.name, records, born, cause)

    def _repeat(self, parcel: Parcel) -> None:
        self._counters.resent += parcel.count
        self.repeats += parcel.count

    def _heir(self, link: Link) -> Link | None:
        """The link to the same task, perhaps in a later pod; None if there is no such task now."""
        return next((one for one in self._places if one.name == link.name), None)

    def _offer_again(self) -> None:
        """Try what was held back; what nobody wants now is held back again."""
        held, self._held = self._held, []
        for record, born, cause in held:
            self.put([record], born, cause)
            cause.release()
        self.flush()
        if self._held or self._absent:
            self._schedule()
        self.has_room()

    def _schedule(self) -> None:
        if self._again is None:
            loop = asyncio.get_running_loop()
            self._again = loop.call_later(_AGAIN_S, self._retry)

    def _retry(self) -> None:
        self._again = None
        if self._places:
            for task, count in self._absent.give_up(asyncio.get_running_loop().time()).items():
                _log.warning("%s has not come back: %d tuples for it are lost", task, count)
        self._offer_again()
