"""The API server's audit log as values: who wrote what, in which order."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

__all__ = ["AuditLog", "AuditRecord"]

WRITE_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One answered request. `request` and `response` are there where the policy keeps bodies."""

    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user: str
    impersonated: str
    user_agent: str
    code: int
    stage: str
    received: datetime
    completed: datetime
    dry_run: bool
    request: Mapping[str, Any] | None
    response: Mapping[str, Any] | None

    @property
    def is_write(self) -> bool:
        """Tell whether it was asked to change something; a dry run was not."""
        return self.verb in WRITE_VERBS and not self.dry_run

    @property
    def succeeded(self) -> bool:
        """Tell whether the server did what was asked."""
        return 200 <= self.code < 300

    @property
    def what(self) -> str:
        """A short form for messages and comparisons: `patch pods/status default/web-0`."""
        kind = "/".join(part for part in (self.resource, self.subresource) if part)
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.verb} {kind} {where}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLog:
    """Records in the order in which the server answered; each filter returns a smaller log."""

    records: tuple[AuditRecord, ...]

    @classmethod
    def read(cls, path: Path) -> "AuditLog":
        """Read a log that may still be written; an unfinished last line is left out."""
        return cls(records=tuple(_records(path)))

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[AuditRecord]:
        return iter(self.records)

    def by(self, user: str) -> "AuditLog":
        """Keep what `user` asked for, under its own name or by impersonation."""
        return self._keep([r for r in self.records if user == (r.impersonated or r.user)])

    def by_agent(self, start: str) -> "AuditLog":
        """Keep requests whose user agent starts so."""
        return self._keep([r for r in self.records if r.user_agent.startswith(start)])

    def writes(self) -> "AuditLog":
        """Keep what asked for a change, successful or not."""
        return self._keep([r for r in self.records if r.is_write])

    def writes_by(self, user: str) -> "AuditLog":
        """Keep the writes of one user."""
        return self.by(user).writes()

    def of(self, resource: str, *, namespace: str | None = None) -> "AuditLog":
        """Keep one resource: `pods`, or with its subresource `pods/status`."""
        kind, _, subresource = resource.partition("/")
        kept = [r for r in self.records if (r.resource, r.subresource) == (kind, subresource)]
        return self._keep([r for r in kept if namespace is None or r.namespace == namespace])

    def within(self, namespace: str) -> "AuditLog":
        """Keep one namespace."""
        return self._keep([r for r in self.records if r.namespace == namespace])

    def since(self, earlier: "AuditLog") -> "AuditLog":
        """Keep what an earlier reading of the same log did not have yet."""
        return self._keep(self.records[len(earlier.records) :])

    def lines(self) -> list[str]:
        """Return each record's short form, in order."""
        return [record.what for record in self.records]

    def _keep(self, records: Sequence[AuditRecord]) -> "AuditLog":
        return AuditLog(records=tuple(records))


def _records(path: Path) -> Iterator[AuditRecord]:
    with path.open() as lines:
        for line in lines:
            if line.endswith("\n"):
                yield _record(json.loads(line))


def _record(event: Mapping[str, Any]) -> AuditRecord:
    target = event.get("objectRef") or {}
    request = event.get("requestObject")
    _, _, query = str(event.get("requestURI", "")).partition("?")
    return AuditRecord(
        verb=event["verb"],
        group=target.get("apiGroup", ""),
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        user=event["user"].get("username", ""),
        impersonated=(event.get("impersonatedUser") or {}).get("username", ""),
        user_agent=event.get("userAgent", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        stage=event["stage"],
        received=datetime.fromisoformat(event["requestReceivedTimestamp"]),
        completed=datetime.fromisoformat(event["stageTimestamp"]),
        dry_run="dryRun=All" in query.split("&"),
        request=request,
        response=event.get("responseObject"),
    )
