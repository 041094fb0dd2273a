"""Hearing what the API server answers, from a moment on."""

import tempfile
from pathlib import Path

from thalweg_testbed import AuditLog, Cluster


class Ear:
    """Hears what the API server writes into its audit log from now on.

    After a long session the log is large: whoever asks again and again must not read all of it.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._log = cluster.audit_log
        self._start = len(self._read(0).rpartition(b"\n")[0])

    def heard(self) -> AuditLog:
        """All that was answered since."""
        with tempfile.NamedTemporaryFile() as copy:
            Path(copy.name).write_bytes(self._read(self._start).removeprefix(b"\n"))
            return AuditLog.read(Path(copy.name))

    def _read(self, start: int) -> bytes:
        with self._log.open("rb") as log:
            log.seek(start)
            return log.read()
