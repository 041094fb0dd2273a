"""Reading the API server with nothing but the standard library: four lists, no writes."""

import base64
import http.client
import json
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from thalweg_runtime.simulated.errors import InvalidOption, Unreachable
from thalweg_runtime.simulated.facts import World
from thalweg_runtime.simulated.parsing import world_of

_TIMEOUT_S = 10.0
_PAGE = 500
_MANAGED = {"labelSelector": "app.kubernetes.io/managed-by=thalweg"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An API server and how it knows us."""

    url: str
    context: ssl.SSLContext | None
    token: str | None = None


def server_of(kubeconfig: Path) -> Server:
    """The server of a kubeconfig's current context; certificates and tokens, no plugins."""
    try:
        document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = _named(document["contexts"], document["current-context"])["context"]
        cluster = _named(document["clusters"], context["cluster"])["cluster"]
        user = _named(document["users"], context["user"])["user"]
        url = str(cluster["server"])
        secure = _context(cluster, user, kubeconfig.parent) if url.startswith("https") else None
        return Server(url=url, context=secure, token=_token(user, kubeconfig.parent))
    except (OSError, KeyError, TypeError, StopIteration, ValueError, yaml.YAMLError) as error:
        raise InvalidOption(f"the kubeconfig {kubeconfig} cannot be used: {error!r}") from error


def _named(entries: list[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _context(cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority = _material(cluster, "certificate-authority", folder)
    if authority is not None:
        context.load_verify_locations(cadata=authority.decode())
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = _material(user, "client-certificate", folder)
    key = _material(user, "client-key", folder)
    if certificate is not None and key is not None:
        _load_chain(context, certificate + b"\n" + key)
    return context


def _load_chain(context: ssl.SSLContext, chain: bytes) -> None:
    """The ssl module takes certificates only from files; ours is gone at once."""
    descriptor, name = tempfile.mkstemp(prefix="thalweg-simulated-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(chain)
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def _material(entry: Mapping[str, Any], name: str, folder: Path) -> bytes | None:
    if entry.get(f"{name}-data"):
        return base64.b64decode(entry[f"{name}-data"])
    return (folder / entry[name]).read_bytes() if entry.get(name) else None


def _token(user: Mapping[str, Any], folder: Path) -> str | None:
    if user.get("tokenFile"):
        return (folder / str(user["tokenFile"])).read_text(encoding="utf-8").strip()
    token = user.get("token")
    return str(token) if token else None


class Reader:
    """Lists what a world is made of over one connection that is kept open."""

    def __init__(self, server: Server, *, namespace: str | None, topology: str | None) -> None:
        self._server = server
        self._namespace = namespace
        self._topology = topology
        self._connection: http.client.HTTPConnection | None = None

    def read(self) -> World:
        """The world now."""
        inside = f"/namespaces/{self._namespace}" if self._namespace else ""
        named = {"fieldSelector": f"metadata.name={self._topology}"} if self._topology else {}
        return world_of(
            topologies=self._list(f"/apis/thalweg.dev/v1alpha1{inside}/streamtopologies", named),
            pods=self._list(f"/api/v1{inside}/pods", _MANAGED),
            config_maps=self._list(f"/api/v1{inside}/configmaps", _MANAGED),
            nodes=self._list("/api/v1/nodes", {}),
        )

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _list(self, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        following = ""
        while True:
            page = {**query, "limit": str(_PAGE), **({"continue": following} if following else {})}
            document = self._get(f"{path}?{urlencode(page)}")
            items += document.get("items") or ()
            following = (document.get("metadata") or {}).get("continue") or ""
            if not following:
                return items

    def _get(self, target: str) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if self._server.token:
            headers["Authorization"] = f"Bearer {self._server.token}"
        try:
            if self._connection is None:
                self._connection = self._connect()
            base = urlsplit(self._server.url).path.rstrip("/")
            self._connection.request("GET", base + target, headers=headers)
            response = self._connection.getresponse()
            content = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise Unreachable(f"GET {target}: {error}") from error
        if response.status != 200 or not isinstance(content, dict):
            raise Unreachable(f"GET {target}: HTTP {response.status}")
        return content

    def _connect(self) -> http.client.HTTPConnection:
        place = urlsplit(self._server.url).netloc
        if self._server.context is None:
            return http.client.HTTPConnection(place, timeout=_TIMEOUT_S)
        return http.client.HTTPSConnection(place, timeout=_TIMEOUT_S, context=self._server.context)
