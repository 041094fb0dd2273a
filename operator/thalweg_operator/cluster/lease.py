"""Who leads: one `coordination.k8s.io/Lease`, taken and renewed by compare-and-swap.

The promise: at most one replica gets past `check`, whatever the clocks of the machines say.

- Only our own steady clock is read for decisions. The wall clock's time is written for people.
- A renewal counts from the moment its attempt began. We stop `renew_deadline_s` after that; others
  start no sooner than `duration_s` after they saw the Lease change, which was later.
- Another's Lease is taken after we ourselves saw it unchanged for its duration and ours.
- Where there is no Lease we make one, but lead only after a former leader, whose Lease somebody
  deleted, must have stopped.
- What is lost is never taken again by the same process: it leaves, and starts with no memory.

The process can be stopped between `check` and the write that follows. See client.py for the rest.
"""

import math
import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from thalweg_operator.clock import Clock
from thalweg_operator.cluster.resources import LEASES, Object, Resource
from thalweg_operator.errors import AlreadyExists, Conflict, NotLeader
from thalweg_operator.settings import LeaseSettings

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_NEVER = -math.inf


def new_identity() -> str:
    """Return a name that no other process, nor a later one of the same pod, will have."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"


def lease_namespace(settings: LeaseSettings) -> str:
    """Return the namespace set, else our own pod's, else `default`."""
    if settings.namespace:
        return settings.namespace
    try:
        return _NAMESPACE_FILE.read_text().strip() or "default"
    except OSError:
        return "default"


class LeaseClient(Protocol):
    """What of the client the elector uses; its guard must let everything through."""

    def get(self, resource: Resource, namespace: str | None, name: str, /) -> Object | None: ...

    def create(self, resource: Resource, body: Mapping[str, Any], /) -> Object: ...

    def replace(self, resource: Resource, body: Mapping[str, Any], /) -> Object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sighting:
    """A state of another's Lease and since when we have seen it, by our own clock."""

    resource_version: str
    since_s: float


class Elector:
    """Takes and renews the Lease, one `attempt` at a time. `check` may be asked by any thread."""

    def __init__(
        self, client: LeaseClient, settings: LeaseSettings, *, identity: str, clock: Clock
    ) -> None:
        self.identity = identity
        self._client = client
        self._settings = settings
        self._namespace = lease_namespace(settings)
        self._clock = clock
        self._held_from_s = math.inf
        self._held_until_s = _NEVER
        self._sighting: _Sighting | None = None
        self._renewed_at = datetime.min.replace(tzinfo=UTC)
        self._has_lost = False

    def check(self) -> None:
        """Raise NotLeader unless the Lease is ours for at least the margin from now."""
        now_s = self._clock.monotonic_s()
        if self._has_lost or not (
            self._held_from_s <= now_s < self._held_until_s - self._settings.margin_s
        ):
            raise NotLeader(f"{self.identity} does not hold the Lease; nothing was written")

    def is_leading(self) -> bool:
        """Tell whether a write would be let through now."""
        try:
            self.check()
        except NotLeader:
            return False
        return True

    def has_lost(self) -> bool:
        """Tell whether the Lease was ours and is not any more. There is no way back."""
        if self._is_held and self._clock.monotonic_s() >= self._held_until_s:
            self._has_lost = True
        return self._has_lost

    def attempt(self) -> None:
        """Take the Lease if we may, renew it if it is ours. ApiError if that is not known."""
        start_s = self._clock.monotonic_s()
        if self.has_lost():
            return
        lease = self._client.get(LEASES, self._namespace, self._settings.name)
        try:
            if lease is None:
                self._make(start_s)
            elif _holder(lease) == self.identity:
                self._renew(lease, start_s)
            elif self._is_held:
                self._has_lost = True
            elif self._may_take(lease, start_s):
                self._client.replace(LEASES, self._claimed(lease))
                self._hold(start_s, from_s=start_s)
        except (AlreadyExists, Conflict):
            return  # somebody was faster; the next attempt sees who

    def release(self) -> None:
        """Give the Lease up, so that another need not wait. We write nothing afterwards."""
        was_held = self._is_held and not self.has_lost()
        self._has_lost = True
        if not was_held:
            return
        lease = self._client.get(LEASES, self._namespace, self._settings.name)
        if lease is not None and _holder(lease) == self.identity:
            spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
            self._client.replace(LEASES, {**lease, "spec": spec})

    @property
    def _is_held(self) -> bool:
        """Whether it was ever ours."""
        return self._held_until_s != _NEVER

    def _make(self, start_s: float) -> None:
        if self._is_held:
            self._has_lost = True
            return
        name = {"namespace": self._namespace, "name": self._settings.name}
        self._client.create(LEASES, self._claimed({"metadata": name}))
        self._hold(start_s, from_s=start_s + self._settings.renew_deadline_s)

    def _renew(self, lease: Object, start_s: float) -> None:
        self._client.replace(LEASES, self._claimed(lease))
        # Ours, but never held: we made or took it without hearing the answer. Which of the two is
        # not known, so wait as if we had made it.
        unsure_from_s = start_s + self._settings.renew_deadline_s
        self._hold(start_s, from_s=self._held_from_s if self._is_held else unsure_from_s)

    def _hold(self, start_s: float, *, from_s: float) -> None:
        self._held_from_s = from_s
        self._held_until_s = start_s + self._settings.renew_deadline_s

    def _may_take(self, lease: Object, now_s: float) -> bool:
        if not _holder(lease):
            return True
        version = lease["metadata"]["resourceVersion"]
        if self._sighting is None or self._sighting.resource_version != version:
            self._sighting = _Sighting(resource_version=version, since_s=now_s)
        theirs_s = float(lease["spec"].get("leaseDurationSeconds") or 0)
        wait_s = max(theirs_s, self._settings.duration_s)
        return now_s - self._sighting.since_s >= wait_s

    def _claimed(self, lease: Object) -> Object:
        """Return the Lease as ours. Each claim differs from the one before.

        An unchanged update is no update to the API server: with a wall clock that stands still,
        renewals would be invisible to the others. So the time written always moves on.
        """
        now = datetime.fromtimestamp(self._clock.now_s(), UTC)
        self._renewed_at = max(now, self._renewed_at + timedelta(microseconds=1))
        written = self._renewed_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._settings.duration_s),
            "renewTime": written,
        }
        if _holder(lease) != self.identity:
            spec["acquireTime"] = written
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + 1
        return {**lease, "spec": spec}


def _holder(lease: Object) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
