"""The thread that keeps the Lease, and ends the process when it cannot."""

import logging
import os
import threading
from collections.abc import Callable
from typing import NoReturn

from thalweg_operator.clock import Clock
from thalweg_operator.cluster.lease import Elector
from thalweg_operator.errors import ApiError

log = logging.getLogger(__name__)
EXIT_LEASE_LOST = 1


def leave_at_once() -> NoReturn:
    """End the process without running anything more: no clean-up may write."""
    logging.shutdown()
    os._exit(EXIT_LEASE_LOST)


class LeaseKeeper:
    """Attempts in a thread of its own until released; if that ends otherwise, calls `on_lost`."""

    def __init__(
        self,
        elector: Elector,
        *,
        retry_s: float,
        clock: Clock,
        on_leading: Callable[[], None],
        on_lost: Callable[[], None] = leave_at_once,
    ) -> None:
        self.elector = elector
        self._retry_s = retry_s
        self._clock = clock
        self._on_leading = on_leading
        self._on_lost = on_lost
        self._is_announced = False
        self._released = threading.Event()
        self._attempted_at_s = clock.monotonic_s()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        """Begin to ask for the Lease."""
        self._thread.start()

    def attempt_age_s(self) -> float:
        """Return the seconds since the last attempt ended, well or not."""
        return self._clock.monotonic_s() - self._attempted_at_s

    def release(self) -> None:
        """Stop attempting and give the Lease up. Nothing is written afterwards."""
        self._released.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self.elector.release()
        except ApiError as error:
            log.warning("the Lease was not released and will run out: %s", error)

    def _run(self) -> None:
        try:
            self._keep()
        except BaseException:
            log.exception("the Lease cannot be kept")
            raise
        finally:
            if not self._released.is_set():
                self._on_lost()

    def _keep(self) -> None:
        while not self._released.is_set():
            try:
                self.elector.attempt()
            except ApiError as error:
                log.warning("the Lease could not be reached: %s", error)
            self._attempted_at_s = self._clock.monotonic_s()
            if self.elector.has_lost():
                log.error("the Lease is lost; leaving at once")
                return
            if self.elector.is_leading() and not self._is_announced:
                self._is_announced = True
                log.info("leading as %s", self.elector.identity)
                self._on_leading()
            self._released.wait(self._retry_s)
