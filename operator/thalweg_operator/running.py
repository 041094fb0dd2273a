"""The process: serve probes, take the Lease, watch, turn the loop, leave.

Threads: the loop has the main one; the Lease, Kopf and the probes have one each. The loop is the
only one that writes to anything but the Lease.
"""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from thalweg_operator.clock import Clock, SystemClock
from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import Connection
from thalweg_operator.cluster.keeping import LeaseKeeper, leave_at_once
from thalweg_operator.cluster.lease import Elector
from thalweg_operator.cluster.resources import STREAM_PLANS, STREAM_TOPOLOGIES, STREAM_VERTICES
from thalweg_operator.errors import ApiError, NotFound, NotLeader, Stopping
from thalweg_operator.health import Health
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.serving import Answer, Server
from thalweg_operator.settings import LeaseSettings, Settings
from thalweg_operator.wake import Wake
from thalweg_operator.watch import Watch

log = logging.getLogger(__name__)
_LONGEST_BACKOFF_S = 60.0
_STANDBY_WAIT_S = 30.0
_CRD_RETRY_S = 3.0
OUR_KINDS = (STREAM_TOPOLOGIES, STREAM_VERTICES, STREAM_PLANS)


class Turning(Protocol):
    """The loop, as the process sees it."""

    def prepare(self) -> None:
        """Do beforehand what would make the first pass slow."""
        ...

    def turn(self) -> None:
        """Do one pass over the cluster."""
        ...

    def close(self) -> None:
        """End what the passes have started."""
        ...


LoopMaker = Callable[[Client, Metrics, Clock], Turning]


class Replica:
    """One process of the operator."""

    def __init__(
        self,
        settings: Settings,
        *,
        connection: Connection,
        identity: str,
        make_loop: LoopMaker,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._wake = Wake()
        self._metrics = Metrics()
        elector = _elector(settings.lease, connection, identity, self._clock)
        self._keeper = LeaseKeeper(
            elector,
            retry_s=settings.lease.retry_s,
            clock=self._clock,
            on_leading=lambda: self._wake.wake("lease"),
        )
        self._metrics.leader.set_function(lambda: float(elector.is_leading()))
        self._health = Health(settings, clock=self._clock, attempt_age_s=self._keeper.attempt_age_s)
        self._client = Client(
            connection,
            guard=self._guard,
            count_write=self._metrics.count_write,
            writes_at_once=settings.writes_at_once,
        )
        self._loop = make_loop(self._client, self._metrics, self._clock)
        self._watch = Watch(settings, connection=connection, wake=self._wake)

    def run(self) -> int:
        """Run until a signal ends it; return the exit code. A lost Lease ends the process."""
        pages = {"/healthz": self._healthz, "/readyz": self._readyz, "/metrics": self._metrics_page}
        with Server(self._settings.serving, pages), _signals(self._wake):
            self._keeper.start()
            # In this thread, beside the Lease's: whoever waits for it waits for nothing else.
            self._loop.prepare()
            self._health.prepared()
            self._stand_by()
            if not self._wake.is_stopping():
                self._lead()
            self._keeper.release()
            self._watch.stop()
        log.info("ended as asked")
        return 0

    def _guard(self) -> None:
        """Stand before every write."""
        if self._wake.is_stopping():
            raise Stopping("the operator is asked to end; nothing was written")
        self._keeper.elector.check()

    def _stand_by(self) -> None:
        log.info("standing by as %s", self._keeper.elector.identity)
        while not (self._wake.is_stopping() or self._keeper.elector.is_leading()):
            self._wake.wait(_STANDBY_WAIT_S)

    def _lead(self) -> None:
        self._health.lead()
        if self._wait_for_crds():
            self._watch.start()
            self._turn_until_stopped()
            self._loop.close()

    def _wait_for_crds(self) -> bool:
        """Wait until the API knows our kinds, so that Kopf finds them; False when asked to end."""
        namespace = next(iter(self._settings.namespaces), None)
        while not self._wake.is_stopping():
            try:
                for resource in OUR_KINDS:
                    self._client.list(resource, namespace=namespace)
            except NotFound:
                log.warning("the CRDs are not installed: kubectl apply --server-side -f crds/")
            except ApiError as error:
                log.warning("the CRDs cannot be read: %s", error)
            else:
                return True
            self._wake.wait(_CRD_RETRY_S)
        return False

    def _turn_until_stopped(self) -> None:
        failures = 0
        while not self._wake.is_stopping():
            failures = 0 if self._turn() else failures + 1
            if failures:
                self._pause(backoff_s(failures))
            else:
                self._wake.wait(
                    self._settings.pass_interval_s, debounce_s=self._settings.debounce_s
                )

    def _turn(self) -> bool:
        """One pass; whatever goes wrong in it is reported and tried again."""
        try:
            self._loop.turn()
        except Stopping:
            return True
        except NotLeader as error:
            log.warning("%s; leaving at once", error)
            leave_at_once()
        except Exception as error:
            log.exception("the pass failed")
            self._metrics.count_error(error)
            self._metrics.passes.labels("error").inc()
            return False
        self._health.passed()
        self._metrics.passes.labels("ok").inc()
        return True

    def _pause(self, pause_s: float) -> None:
        until_s = self._clock.monotonic_s() + pause_s
        while not self._wake.is_stopping() and self._clock.monotonic_s() < until_s:
            self._wake.wait(until_s - self._clock.monotonic_s())

    def _healthz(self) -> Answer:
        return _probe(self._health.why_not_alive())

    def _readyz(self) -> Answer:
        return _probe(self._health.why_not_ready())

    def _metrics_page(self) -> Answer:
        return Answer(body=self._metrics.text())


def backoff_s(failures: int) -> float:
    """Return the pause after so many failures in a row."""
    return float(min(_LONGEST_BACKOFF_S, 2 ** min(failures - 1, 10)))


def _probe(problem: str) -> Answer:
    return Answer(is_ok=not problem, body=f"{problem or 'ok'}\n".encode())


def _elector(lease: LeaseSettings, connection: Connection, identity: str, clock: Clock) -> Elector:
    client = Client(
        connection,
        guard=unguarded,
        read_timeout_s=lease.renew_deadline_s / 2,  # so that a second attempt fits
        read_attempts=1,
    )
    return Elector(client, lease, identity=identity, clock=clock)


@contextmanager
def _signals(wake: Wake) -> Iterator[None]:
    """Let SIGTERM and SIGINT stop the loop; put the handlers back afterwards."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: wake.stop()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
