"""Whether this replica does its work: what the probes ask."""

from collections.abc import Callable

from thalweg_operator.clock import Clock
from thalweg_operator.settings import Settings

_ATTEMPT_MARGIN_S = 30.0
"""An attempt at the Lease may wait for two time-outs; only a hung thread takes longer."""


class Health:
    """A leader lives by its passes, a standby by its attempts to take the Lease."""

    def __init__(
        self, settings: Settings, *, clock: Clock, attempt_age_s: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._attempt_age_s = attempt_age_s
        self._leading_since_s: float | None = None
        self._passed_at_s: float | None = None
        self._is_prepared = False

    def prepared(self) -> None:
        """From now on a pass could begin at once."""
        self._is_prepared = True

    def lead(self) -> None:
        """From now on the passes count."""
        self._leading_since_s = self._clock.monotonic_s()

    def passed(self) -> None:
        """A pass ended well."""
        self._passed_at_s = self._clock.monotonic_s()

    def why_not_alive(self) -> str:
        """Return what is stuck; empty when nothing is."""
        attempt_age_s = self._attempt_age_s()
        longest_s = self._settings.lease.duration_s + _ATTEMPT_MARGIN_S
        if attempt_age_s > longest_s:
            return f"no attempt at the Lease ended for {attempt_age_s:.0f} s"
        if self._leading_since_s is None:
            return ""
        age_s = self._clock.monotonic_s() - (self._passed_at_s or self._leading_since_s)
        if age_s > self._settings.stalled_after_s:
            return f"no pass ended well for {age_s:.0f} s"
        return ""

    def why_not_ready(self) -> str:
        """Return why this replica is of no use yet; empty when it leads well or stands by."""
        if not self._is_prepared:
            return "the planner is not prepared yet"
        if self._leading_since_s is not None and self._passed_at_s is None:
            return "leading, but no pass has ended well yet"
        return self.why_not_alive()
