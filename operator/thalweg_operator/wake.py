"""What wakes the loop: changes in the cluster, the Lease, the end."""

import queue
import time

_STOP = "stop"


class Wake:
    """Gathers the kinds of what happened until the loop asks.

    A SimpleQueue may be used from a signal handler at any moment; an Event or a Condition may not.
    """

    def __init__(self) -> None:
        self._happened: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._is_stopping = False

    def wake(self, kind: str) -> None:
        """Tell that something of this kind changed."""
        self._happened.put(kind)

    def stop(self) -> None:
        """Tell that the process is to end."""
        self._is_stopping = True
        self._happened.put(_STOP)

    def is_stopping(self) -> bool:
        """Tell whether `stop` was called."""
        return self._is_stopping

    def wait(self, timeout_s: float, *, debounce_s: float = 0.0) -> frozenset[str]:
        """Return the kinds that happened, or none after the time-out.

        The first one starts the debounce: what follows within it is part of the same answer.
        """
        kinds: set[str] = set()
        until_s = time.monotonic() + timeout_s
        while not self._is_stopping:
            try:
                left_s = until_s - time.monotonic()
                kind = self._happened.get(block=left_s > 0, timeout=max(left_s, 0))
            except queue.Empty:
                break
            if not kinds:
                until_s = min(until_s, time.monotonic() + debounce_s)
            kinds.add(kind)
        return frozenset(kinds - {_STOP})
