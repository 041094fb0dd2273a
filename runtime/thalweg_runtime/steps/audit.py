"""WordCount whose last step keeps account of every tuple: read → split → count → audit.

`thalweg_audit_distinct_total` are the tuples that came, `thalweg_audit_repeated_total` those that
came again. At the end of a run with `--last N` the first must be N · words a line · sources: then
nothing was lost.
"""

from prometheus_client import Counter

from thalweg_runtime.steps.word_count import WORDS_A_LINE, Record, count, read, split

__all__ = ["audit", "count", "read", "split"]

_BITS = 8


class Seen:
    """Which numbers have come, a bit for each."""

    def __init__(self) -> None:
        """None has."""
        self._bits: dict[int, bytearray] = {}

    def add(self, source: int, number: int) -> bool:
        """Note it; return whether it is new."""
        bits = self._bits.setdefault(source, bytearray())
        place, bit = number // _BITS, 1 << number % _BITS
        if place >= len(bits):
            bits.extend(bytes(max(4096, place + 1 - len(bits))))
        is_new = not bits[place] & bit
        bits[place] |= bit
        return is_new


class Audit:
    """Counts what comes, once and again."""

    def __init__(self) -> None:
        """Make the two series; a process has one auditor."""
        self._seen = Seen()
        self._distinct = Counter("thalweg_audit_distinct", "Tuples that came.")
        self._repeated = Counter("thalweg_audit_repeated", "Tuples that came again.")

    def __call__(self, record: Record) -> None:
        """Take note of a tuple."""
        number = record["id"] * WORDS_A_LINE + record["part"]
        is_new = self._seen.add(record["source"], number)
        (self._distinct if is_new else self._repeated).inc()


audit = Audit
