"""The one door to Prometheus: prometheus-api-client with time-outs, retries and limits."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from urllib3.util.retry import Retry

from thalweg_spark.condense.series import Floats, Series, clean_series
from thalweg_spark.errors import InvalidInput, SourceUnavailable

_CONNECT_S = 3.05
_RETRIES = 3
_CHUNK_S = 3600.0
_LABEL_LIMIT = 1024
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
    most_series: int = 200_000
    most_bytes: int = 256 * 2**20

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
        self._connection = PrometheusConnect(
            url=source.url.rstrip("/"),
            headers=_headers(source),
            session=self._session,
            retry=Retry(
                total=_RETRIES,
                backoff_factor=0.1,
                backoff_jitter=0.1,
                status_forcelist=(408, 429, 500, 502, 503, 504),
                allowed_methods=("GET",),
                raise_on_status=False,
            ),
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the server said about answers that may not be whole."""
        return tuple(dict.fromkeys(self._session.warnings))

    def samples(self, selector: str, *, window_s: float, at_s: float) -> list[Series]:
        """All raw samples of the series that a selector names, within the window before `at_s`."""
        found: dict[frozenset[tuple[str, str]], tuple[dict[str, str], list[Floats]]] = {}
        for chunk_s, end_s in chunks(window_s, at_s):
            for item in self._ask(f"{selector}[{max(1, round(chunk_s))}s]", end_s):
                labels = _labels(item)
                parts = found.setdefault(frozenset(labels.items()), (labels, []))[1]
                parts.append(_samples(selector, item))
            if len(found) > self._source.most_series:
                raise SourceUnavailable(
                    f"{selector} has more than {self._source.most_series} series; narrow the preset"
                )
        cleaned = (clean_series(labels, np.concatenate(parts)) for labels, parts in found.values())
        return [series for series in cleaned if series is not None]

    def samples_if_any(self, selector: str, *, window_s: float, at_s: float) -> list[Series]:
        """The same of a series that can be done without: trouble with it is only a warning."""
        try:
            return self.samples(selector, window_s=window_s, at_s=at_s)
        except SourceUnavailable as error:
            self._session.warnings.append(f"{LEFT_OUT}{error}"[:_LABEL_LIMIT])
            return []

    def _ask(self, query: str, at_s: float) -> list[dict[str, Any]]:
        moment = datetime.fromtimestamp(at_s, UTC)
        try:
            result = self._connection.custom_query(
                query,
                params={"time": f"{moment.timestamp():.3f}"},
                timeout=(_CONNECT_S, self._source.timeout_s),
            )
        except (requests.RequestException, PrometheusApiClientException) as error:
            raise SourceUnavailable(f"{query}: {error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise SourceUnavailable(f"{query}: the answer cannot be read: {error}") from error
        if not isinstance(result, list) or not all(_is_series(item) for item in result):
            raise SourceUnavailable(f"{query}: the answer is not a list of series")
        return result


class _CheckedSession(requests.Session):
    """Sees every answer before the client library drops its warnings."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.warnings: list[str] = []
        self._most_bytes = source.most_bytes
        self._token_file = source.token_file
        self._basic_file = source.basic_file
        if source.ca_file is not None:
            self.verify = str(source.ca_file)
        if source.certificate_file is not None:
            self.cert = str(source.certificate_file)

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:  # noqa: ANN401
        """Send it; refuse an answer that is too large before it is parsed."""
        kwargs["headers"] = {**(kwargs.get("headers") or {}), **self._authorization()}
        kwargs["stream"] = True
        response = super().request(*args, **kwargs)
        body = bytearray()
        for piece in response.iter_content(2**16):
            body += piece
            if len(body) > self._most_bytes:
                response.close()
                raise requests.RequestException(f"the answer is larger than {self._most_bytes} B")
        response._content = bytes(body)  # noqa: SLF001
        if response.status_code == requests.codes.ok:
            document = _parsed(response)
            self._check(document)
            # The client asks for it once more, and parsing is most of what a pull costs.
            response.json = lambda **_: document  # type: ignore[method-assign]
        return response

    def _check(self, document: object) -> None:
        """Refuse an error that came with status 200; remember what the answer may lack."""
        if not isinstance(document, dict):
            raise requests.RequestException("the answer cannot be read: it is no JSON object")
        if document.get("status", "success") != "success":
            said = str(document.get("error") or "it does not say why")[:_LABEL_LIMIT]
            raise requests.RequestException(f"the server could not answer: {said}")
        self.warnings += [str(text)[:_LABEL_LIMIT] for text in document.get("warnings") or ()]

    def _authorization(self) -> dict[str, str]:
        """Read anew each time: tokens are renewed while we run."""
        if self._token_file is not None:
            return {"Authorization": f"Bearer {_secret(self._token_file)}"}
        if self._basic_file is not None:
            coded = base64.b64encode(_secret(self._basic_file).encode()).decode()
            return {"Authorization": f"Basic {coded}"}
        return {}


def _parsed(response: requests.Response) -> object:
    try:
        return response.json()
    except ValueError as error:
        raise requests.RequestException(f"the answer cannot be read: {error}") from error


def _secret(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError as error:
        raise requests.RequestException(f"cannot read {file}: {error.strerror}") from error


def _headers(source: Source) -> dict[str, str]:
    return {"User-Agent": "thalweg", **source.headers}


def chunks(window_s: float, at_s: float) -> Iterator[tuple[float, float]]:
    """Pieces of the window, oldest first: (length, end)."""
    begin = at_s - window_s
    while begin < at_s:
        length = min(_CHUNK_S, at_s - begin)
        begin += length
        yield length, begin


def _labels(item: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(name): str(value)[:_LABEL_LIMIT]
        for name, value in item["metric"].items()
        if name != "__name__"
    }


def _is_series(item: object) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("metric"), dict)
        and isinstance(item.get("values"), list)
    )


def _samples(selector: str, item: Mapping[str, Any]) -> Floats:
    """Shape (samples, 2): times and values."""
    try:
        pairs = [(float(at), value) for at, value in item["values"]]
        times_s, values = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array([times_s, _numbers(values)], dtype=np.float64).T
    except (TypeError, ValueError) as error:
        raise SourceUnavailable(f"{selector}: a sample cannot be read: {error}") from error


def _numbers(values: Sequence[Any]) -> list[float]:
    """All at once where each is a text that says a number, as it should be."""
    try:
        return list(map(float, values)) if set(map(type, values)) <= {str} else _each(values)
    except ValueError:
        return _each(values)


def _each(values: Sequence[object]) -> list[float]:
    return [_number(value) for value in values]


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
