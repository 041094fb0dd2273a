"""The one door to Prometheus: prometheus-api-client with time-outs, retries and limits."""

import base64
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from urllib3.util.retry import Retry

from thalweg_spark.condense.series import Floats, Series, clean_series
from thalweg_spark.errors import InvalidInput, SourceUnavailable
from thalweg_spark.pull.answers import TooMany, Unreadable, is_series, labels_of, parsed, samples_of
from thalweg_spark.pull.asking import BROKEN, MOST_SAID, BoundedSession

_CHUNK_S = 3600.0
_CLOCK_S = 3.0
_MOST_WARNINGS = 20
_UNASKED = (*BROKEN, PrometheusApiClientException, Unreadable)
_UNREADABLE = (ValueError, KeyError, TypeError, IndexError)
LEFT_OUT = "left out: "
"""How a warning begins that is about what others measure; any other is about a partial answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A Prometheus and how to reach it."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None
    """A client's certificate with its key, for mutual TLS."""
    basic_file: Path | None = None
    """A file with `user:password`; like the token it never appears in a command line or a plan."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """For Thanos and Mimir: the tenant."""
    timeout_s: float = 20.0
    """Longest wait for one answer, until its last byte and tries included."""
    run_timeout_s: float = 45.0
    """Longest wait for all answers of a run: so that whoever waits for the run hears the reason."""
    most_series: int = 200_000
    most_bytes: int = 64 * 2**20

    def document(self) -> dict[str, Any]:
        """What another process needs to know to reach it; secrets by their files."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in ((one.name, getattr(self, one.name)) for one in fields(self))
        }

    @staticmethod
    def of_document(document: Mapping[str, Any]) -> "Source":
        """The source that a document describes."""
        values: dict[str, Any] = dict(document)
        for name in (one for one in values if one.endswith("_file") and values[one]):
            values[name] = Path(values[name])
        return Source(**values)


class Prometheus:
    """Reads raw samples. Answers are checked: a partial one is remembered in `warnings`."""

    def __init__(self, source: Source) -> None:
        """Prepare a session; nothing is sent yet."""
        if not source.url.startswith(("http://", "https://")):
            raise InvalidInput(f"a source must be http:// or https://; got {source.url!r}")
        self._source = source
        self._session = _CheckedSession(source)
        url = source.url.rstrip("/")
        self._connection = PrometheusConnect(
            url=url, headers=_headers(source), session=self._session, retry=Retry(0)
        )
        # The client library has put an adapter of its own there.
        self._session.bind(url)

    def close(self) -> None:
        """Leave no connection behind."""
        self._session.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the server said about answers that may not be whole."""
        return tuple(dict.fromkeys(self._session.warnings))

    def samples(self, selector: str, *, window_s: float, at_s: float) -> list[Series]:
        """All raw samples of the series that a selector names, within the window before `at_s`."""
        pieces = list(chunks(window_s, at_s))
        if len(pieces) == 1:
            # Within one answer no two series have the same labels.
            once = (clean_series(*one) for one in self._ask(_ranged(selector, window_s), at_s))
            return [series for series in once if series is not None]
        found: dict[frozenset[tuple[str, str]], tuple[dict[str, str], list[Floats]]] = {}
        for chunk_s, end_s in pieces:
            for labels, samples in self._ask(_ranged(selector, chunk_s), end_s):
                parts = found.setdefault(frozenset(labels.items()), (labels, []))[1]
                parts.append(samples)
        cleaned = (clean_series(labels, np.concatenate(parts)) for labels, parts in found.values())
        return [series for series in cleaned if series is not None]

    def samples_if_any(self, selector: str, *, window_s: float, at_s: float) -> list[Series]:
        """The same of a series that can be done without: trouble with it is only a warning."""
        try:
            return self.samples(selector, window_s=window_s, at_s=at_s)
        except SourceUnavailable as error:
            self._session.warnings.append(f"{LEFT_OUT}{error}"[:MOST_SAID])
            return []

    def skew_s(self) -> float:
        """How far the server's clock is ahead of ours; 0 where it does not say."""
        asked_s = time.time()
        try:
            told = self._connection.custom_query("time()", timeout=_CLOCK_S)
            return float(told[1]) - (asked_s + time.time()) / 2
        except (*_UNASKED, *_UNREADABLE):
            return 0.0

    def _ask(self, query: str, at_s: float) -> list[tuple[dict[str, str], Floats]]:
        """Labels and samples of each series."""
        try:
            result = self._connection.custom_query(
                query, params={"time": f"{at_s:.3f}"}, timeout=self._source.timeout_s
            )
            if not isinstance(result, list) or not all(is_series(item) for item in result):
                raise Unreadable("the answer is not a list of series")
            if len(result) > self._source.most_series:
                raise TooMany(self._source.most_series)
            return [(labels_of(item), samples_of(item)) for item in result]
        except _UNASKED as error:
            raise SourceUnavailable(f"{query}: {error}"[:MOST_SAID]) from error
        except _UNREADABLE as error:
            said = f"{query}: the answer cannot be read: {error}"
            raise SourceUnavailable(said[:MOST_SAID]) from error


class _CheckedSession(BoundedSession):
    """Sees every answer before the client library drops its warnings."""

    def __init__(self, source: Source) -> None:
        super().__init__(
            timeout_s=source.timeout_s,
            run_timeout_s=source.run_timeout_s,
            most_bytes=source.most_bytes,
        )
        self.warnings: list[str] = []
        self._most_series = source.most_series
        self._token_file = source.token_file
        self._basic_file = source.basic_file
        if source.ca_file is not None:
            self.verify = str(source.ca_file)
        if source.certificate_file is not None:
            self.cert = str(source.certificate_file)

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401
        """Send it; the answer is parsed here and once, and its text is not kept."""
        if authorization := self._authorization():
            # As a header alone it would give way to what a .netrc says of that host.
            kwargs["auth"] = lambda asked: _with_header(asked, "Authorization", authorization)
        response, body = self.read(*args, **kwargs)
        response._content = b""  # noqa: SLF001
        if response.status_code != requests.codes.ok:
            response._content = bytes(body)  # noqa: SLF001
            return response
        document = parsed(body, most_series=self._most_series)
        self._check(document)
        response.json = lambda **_: document  # type: ignore[method-assign]
        return response

    def _check(self, document: object) -> None:
        """Refuse an error that came with status 200; remember what the answer may lack."""
        if not isinstance(document, dict):
            raise Unreadable("the answer cannot be read: it is no JSON object")
        if document.get("status", "success") != "success":
            said = str(document.get("error") or "it does not say why")
            raise Unreadable(f"the server could not answer: {said}")
        told = document.get("warnings") or ()
        self.warnings += [str(text)[:MOST_SAID] for text in islice(told, _MOST_WARNINGS)]

    def _authorization(self) -> str:
        """Read anew each time: tokens are renewed while we run."""
        if self._token_file is not None:
            return f"Bearer {_secret(self._token_file)}"
        if self._basic_file is not None:
            coded = base64.b64encode(_secret(self._basic_file).encode()).decode()
            return f"Basic {coded}"
        return ""


def _with_header(
    asked: requests.PreparedRequest, name: str, value: str
) -> requests.PreparedRequest:
    asked.headers[name] = value
    return asked


def _secret(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError as error:
        raise requests.RequestException(f"cannot read {file}: {error.strerror}") from error


def _headers(source: Source) -> dict[str, str]:
    return {"User-Agent": "thalweg", **source.headers}


def _ranged(selector: str, length_s: float) -> str:
    return f"{selector}[{max(1, round(length_s))}s]"


def chunks(window_s: float, at_s: float) -> Iterator[tuple[float, float]]:
    """Pieces of the window, oldest first: (length, end)."""
    begin = at_s - window_s
    while begin < at_s:
        length = min(_CHUNK_S, at_s - begin)
        begin += length
        yield length, begin
