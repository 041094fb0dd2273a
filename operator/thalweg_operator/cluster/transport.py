"""One request to the API server, one answer or one error of our own tree."""

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import urllib3

from thalweg_operator.cluster.connection import Connection
from thalweg_operator.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
    Refused,
    Unavailable,
)

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0
READ_ATTEMPTS = 4
"""A rolling API server behind a load balancer drops connections for a moment; a loop that gives up
at once would only ask the same again from the start."""
_LONGEST_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    content_type: str = "application/json"

    def __str__(self) -> str:
        """Name it in errors, without what it carries."""
        return f"{self.method} {self.path}"


class Transport:
    """Sends requests over one pool, each with time-outs; only reads are sent again."""

    def __init__(
        self,
        connection: Connection,
        *,
        read_timeout_s: float = READ_TIMEOUT_S,
        read_attempts: int = READ_ATTEMPTS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connection = connection
        self._read_attempts = read_attempts
        self._timeout = urllib3.Timeout(
            connect=min(CONNECT_TIMEOUT_S, read_timeout_s), read=read_timeout_s
        )
        self._pause = pause
        self._dated: tuple[float, float] | None = None

    def server_now_s(self) -> float | None:
        """The API server's time, by the newest answer that told it; whole seconds."""
        if self._dated is None:
            return None
        date_s, heard_s = self._dated
        return date_s + time.monotonic() - heard_s

    def read(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """GET, again after a pause if the server is unavailable, a bounded number of times."""
        request = Request(method="GET", path=path, query=query)
        for attempt in range(1, self._read_attempts):
            try:
                return self.send(request)
            except Unavailable as error:
                if error.status == 410:
                    raise
                self._pause(_pause_s(attempt))
        return self.send(request)

    def send(self, request: Request) -> dict[str, Any]:
        """Send once. Whoever calls this for a write has checked the Lease just before."""
        headers = dict(self._connection.headers())
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        query = f"?{urlencode(request.query)}" if request.query else ""
        try:
            response = self._connection.pool.request(
                request.method,
                self._connection.url + request.path + query,
                headers=headers,
                body=None if request.body is None else json.dumps(request.body).encode(),
                timeout=self._timeout,
                retries=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"{request}: {error}") from error
        self._hear(response.headers.get("Date", ""))
        content = _parse(response.data)
        if response.status >= 300 or content is None:
            raise error_of(response.status, content or {}, str(request))
        return content

    def _hear(self, date: str) -> None:
        try:
            self._dated = parsedate_to_datetime(date).timestamp(), time.monotonic()
        except ValueError:
            return  # An answer without a date, from something in between.


def error_of(status: int, content: Mapping[str, Any], what: str) -> ApiError:
    """Turn a `Status` object, or an answer that is none, into an error."""
    reason = str(content.get("reason", ""))
    message = f"{what}: {content.get('message') or f'HTTP {status}'}"
    kind: type[ApiError] = Unavailable
    if status == 404:
        kind = NotFound
    elif status == 409:
        kind = AlreadyExists if reason == "AlreadyExists" else Conflict
    elif status == 422 and _is_other_object(content):
        kind = Conflict
    elif 400 <= status < 500 and status not in {401, 408, 410, 429}:
        kind = Refused
    return kind(message, status=status, reason=reason)


def _is_other_object(content: Mapping[str, Any]) -> bool:
    """Tell whether a patch met another uid: the server calls that an attempt to change it."""
    causes = (content.get("details") or {}).get("causes") or ()
    return any(cause.get("field") == "metadata.uid" for cause in causes)


def _parse(data: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(data)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _pause_s(attempt: int) -> float:
    """Twice as long each time, of which half is chance, so that replicas do not march in step."""
    longest = min(_LONGEST_PAUSE_S, 0.25 * 2.0**attempt)
    return longest * (0.5 + secrets.randbelow(1000) / 2000)
