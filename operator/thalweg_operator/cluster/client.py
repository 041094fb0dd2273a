"""The one client through which the operator reads and writes.

Every write asks the guard first: the Lease, which raises NotLeader unless it is ours for long
enough. A process can still be stopped between that check and the write and be woken when another
replica leads. So a write that changes or removes something carries the uid and, where what was
read matters, the resourceVersion; a write that creates uses a name that another leader would also
have chosen. The server then refuses what comes too late.

Writes are never sent again: after a time-out nobody knows whether they happened. The next turn of
the loop reads the truth.
"""

from collections.abc import Callable, Mapping
from typing import Any

from thalweg_operator.cluster.connection import Connection
from thalweg_operator.cluster.resources import PODS, Object, Resource
from thalweg_operator.cluster.transport import READ_ATTEMPTS, READ_TIMEOUT_S, Request, Transport
from thalweg_operator.errors import NotFound, Unavailable

FIELD_MANAGER = "thalweg"
_WRITING = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"}
"""Strict: a field that the server does not know is refused rather than left out in silence."""
PAGE_ITEMS = 500
"""Objects a page of a list: bounds the server's and our memory at any cluster size."""

WRITES_AT_ONCE = 8

Objects = list[Object]
WriteCounter = Callable[[str, Resource], None]


def unguarded() -> None:
    """Allow every write: for the elector itself and for tests without a second replica."""


def _uncounted(_verb: str, _resource: Resource) -> None:
    """Count nothing."""


class Client:
    """Reads and Lease-checked writes of plain JSON objects; safe for threads."""

    writes_at_once: int = WRITES_AT_ONCE
    """How many writes may be under way together, for whoever sends several."""

    def __init__(
        self,
        connection: Connection,
        *,
        guard: Callable[[], None],
        count_write: WriteCounter = _uncounted,
        read_timeout_s: float = READ_TIMEOUT_S,
        read_attempts: int = READ_ATTEMPTS,
        writes_at_once: int = WRITES_AT_ONCE,
    ) -> None:
        self._transport = Transport(
            connection, read_timeout_s=read_timeout_s, read_attempts=read_attempts
        )
        self._guard = guard
        self._count_write = count_write
        self.writes_at_once = writes_at_once

    def server_now_s(self) -> float | None:
        """The API server's time; None before it first answered."""
        return self._transport.server_now_s()

    def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
    ) -> Objects:
        """Return all objects that match, in pages; from the start again if a page has expired."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        path = resource.path(namespace)
        try:
            items = self._pages(path, query)
        except Unavailable as error:
            if error.status != 410:
                raise
            items = self._pages(path, query)
        for item in items:
            item.setdefault("apiVersion", resource.api_version)
            item.setdefault("kind", resource.kind)
        return items

    def _pages(self, path: str, selectors: Mapping[str, str]) -> Objects:
        query = {key: value for key, value in selectors.items() if value}
        query["limit"] = str(PAGE_ITEMS)
        items: Objects = []
        while True:
            page = self._transport.read(path, query)
            items += page.get("items") or []
            token = page.get("metadata", {}).get("continue")
            if not token:
                return items
            query["continue"] = token

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """Return the object as it is now, or None."""
        try:
            return self._transport.read(resource.path(namespace, name), {})
        except NotFound:
            return None

    def create(self, resource: Resource, body: Mapping[str, Any]) -> Object:
        """Create; AlreadyExists if the name is taken."""
        return self._write(
            "create",
            resource,
            Request(
                method="POST",
                path=resource.path(_namespace(body)),
                query=_WRITING,
                body=_typed(resource, body),
            ),
        )

    def apply(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        """Apply server-side: fields in `body` become ours, fields we leave out are let go.

        With a `uid` it never creates: an object that is gone stays gone.
        """
        return self._write(
            "apply",
            resource,
            Request(
                method="PATCH",
                path=resource.path(_namespace(body), body["metadata"]["name"], subresource),
                query={**_WRITING, "force": "true"},
                body=_pinned(_typed(resource, body), uid, resource_version),
                content_type="application/apply-patch+yaml",
            ),
        )

    def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        """Merge-patch; Conflict if the object is not that uid at that resourceVersion."""
        return self._write(
            "patch",
            resource,
            Request(
                method="PATCH",
                path=resource.path(namespace, name, subresource),
                query=_WRITING,
                body=_pinned(patch, uid, resource_version),
                content_type="application/merge-patch+json",
            ),
        )

    def replace(self, resource: Resource, body: Mapping[str, Any]) -> Object:
        """Replace the whole object; Conflict unless `body` has its present resourceVersion."""
        return self._write(
            "update",
            resource,
            Request(
                method="PUT",
                path=resource.path(_namespace(body), body["metadata"]["name"]),
                query=_WRITING,
                body=_typed(resource, body),
            ),
        )

    def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str,
        resource_version: str | None = None,
        grace_s: int | None = None,
    ) -> None:
        """Delete that very object, and what it owns in the background; fine if it is gone."""
        options = _delete_options(uid, resource_version, grace_s)
        request = Request(method="DELETE", path=resource.path(namespace, name), body=options)
        try:
            self._write("delete", resource, request)
        except NotFound:
            return

    def evict(self, namespace: str, name: str, *, uid: str) -> None:
        """Evict a pod if its budget allows; Unavailable with status 429 if not, fine if gone."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": namespace, "name": name},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = PODS.path(namespace, name, "eviction")
        try:
            self._write("evict", PODS, Request(method="POST", path=path, body=body))
        except NotFound:
            return

    def _write(self, verb: str, resource: Resource, request: Request) -> Object:
        self._guard()
        self._count_write(verb, resource)
        return self._transport.send(request)


def _namespace(body: Mapping[str, Any]) -> str | None:
    namespace: str | None = body["metadata"].get("namespace")
    return namespace


def _typed(resource: Resource, body: Mapping[str, Any]) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}


def _pinned(body: Mapping[str, Any], uid: str | None, resource_version: str | None) -> Object:
    """Return the body with the preconditions in its metadata, as the server reads them."""
    pins = {"uid": uid, "resourceVersion": resource_version}
    given = {key: value for key, value in pins.items() if value is not None}
    if not given:
        return dict(body)
    return {**body, "metadata": {**body.get("metadata", {}), **given}}


def _delete_options(uid: str, resource_version: str | None, grace_s: int | None) -> Object:
    preconditions = {"uid": uid}
    if resource_version is not None:
        preconditions["resourceVersion"] = resource_version
    options: Object = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": preconditions,
        "propagationPolicy": "Background",
    }
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    return options
