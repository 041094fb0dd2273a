"""Kopf's handlers: they only wake the loop.

All are `on.event`, so Kopf writes no annotation and no finalizer and remembers nothing between
runs. Kopf can miss a deletion after its watch was cut, so nothing is decided from what is seen
here: a missed event costs one pass interval. Pods of others are not watched at all: what they leave
free is read anew in every pass.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import kopf

from thalweg_operator.cluster.connection import Connection
from thalweg_operator.cluster.resources import (
    NODES,
    PODS,
    STREAM_PLANS,
    STREAM_TOPOLOGIES,
    STREAM_VERTICES,
    Resource,
)
from thalweg_operator.naming import MANAGED
from thalweg_operator.settings import Settings
from thalweg_operator.wake import Wake

log = logging.getLogger(__name__)
RESTART_S = 5.0
STOP_S = 8.0

# It would warn at every start that signals are not Kopf's: they are ours, on purpose.
logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)


class Watch:
    """Kopf in a thread and an event loop of its own: when it stops it cancels all in its loop."""

    def __init__(
        self,
        settings: Settings,
        *,
        connection: Connection,
        wake: Wake,
        restart_s: float = RESTART_S,
    ) -> None:
        self._namespaces = settings.namespaces
        self._registry = registry_of(connection, wake)
        self._restart_s = restart_s
        self._is_stopping = threading.Event()
        self._end: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; a watch that does not end in time ends with the process."""
        self._is_stopping.set()
        with contextlib.suppress(RuntimeError):  # its event loop has just ended by itself
            self._end()
        if self._thread.is_alive():
            self._thread.join(STOP_S)

    def _run(self) -> None:
        """Watch until stopped. Without Kopf the loop still turns, only later: so start it again."""
        while not self._is_stopping.is_set():
            try:
                asyncio.run(self._operate())
            except Exception:
                log.exception("the watch ended")
            if not self._is_stopping.wait(self._restart_s):
                log.warning("watching again")

    async def _operate(self) -> None:
        # A flag of the event loop. Kopf would wait for one of threading in an executor's thread,
        # and asyncio.run for that thread, if Kopf ended for any other reason: for ever.
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        self._end = lambda: loop.call_soon_threadsafe(stop.set)
        try:
            if not self._is_stopping.is_set():
                await kopf.operator(
                    registry=self._registry,
                    settings=kopf_settings(),
                    standalone=True,
                    clusterwide=not self._namespaces,
                    namespaces=self._namespaces,
                    stop_flag=stop,
                )
        finally:
            self._end = lambda: None


def kopf_settings() -> kopf.OperatorSettings:
    """Return Kopf's settings: each against a watch that is cut, blind or too big."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.scanning.disabled = True  # CRDs are there before; needs no right to list them
    settings.posting.enabled = False
    settings.process.ultimate_exiting_timeout = None  # the process's end is not Kopf's business
    settings.watching.server_timeout = 600  # whole seconds, or the API server refuses it
    settings.watching.client_timeout = 660
    settings.watching.connect_timeout = 10
    settings.watching.inactivity_timeout = 70  # bookmarks come every 60 s
    settings.watching.chunk_size = 500
    settings.watching.label_selectors["pods"] = MANAGED
    settings.networking.connect_timeout = 10
    settings.networking.request_timeout = 60
    settings.queueing.worker_limit = 32
    return settings


def registry_of(connection: Connection, wake: Wake) -> kopf.OperatorRegistry:
    """Return the handlers, in a registry of their own: no process-wide state."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_: object) -> kopf.ConnectionInfo:
        return connection_info(connection)

    for resource, signature in SIGNATURES.items():
        _register(registry, resource, Changes(resource.kind, signature, wake))
    return registry


def connection_info(connection: Connection) -> kopf.ConnectionInfo:
    """Return the same server and credentials in Kopf's words; a token is read anew each time."""
    configuration = connection.configuration
    scheme, _, token = connection.headers().get("Authorization", "").partition(" ")
    return kopf.ConnectionInfo(
        server=connection.url,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        scheme=scheme or None,
        token=token or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
        proxy_url=connection.proxy_url,
    )


Signature = Callable[[Mapping[str, Any]], Hashable]


class Changes:
    """Wakes the loop when an object changes in something that a pass would look at.

    Heartbeats of nodes and our own writes of status would otherwise keep the loop turning.
    """

    def __init__(self, kind: str, signature: Signature, wake: Wake) -> None:
        self._kind = kind
        self._signature = signature
        self._wake = wake
        self._seen: dict[str, Hashable] = {}

    def see(self, event: Mapping[str, Any]) -> None:
        """Compare with what was seen of the object before."""
        body = event["object"]
        uid = body["metadata"]["uid"]
        signature = self._signature(body)
        if event["type"] == "DELETED":
            self._seen.pop(uid, None)
        elif self._seen.get(uid) == signature:
            return
        else:
            self._seen[uid] = signature
        self._wake.wake(self._kind)


def _register(registry: kopf.OperatorRegistry, resource: Resource, changes: Changes) -> None:
    @kopf.on.event(resource.group, resource.version, resource.plural, registry=registry)
    async def on_event(event: Mapping[str, Any], **_: object) -> None:
        changes.see(event)


def _spec_signature(body: Mapping[str, Any]) -> Hashable:
    metadata = body["metadata"]
    return metadata.get("generation"), "deletionTimestamp" in metadata


def _pod_signature(body: Mapping[str, Any]) -> Hashable:
    metadata, status = body["metadata"], body.get("status", {})
    return (
        "deletionTimestamp" in metadata,
        tuple(sorted(metadata.get("labels", {}).items())),
        body.get("spec", {}).get("nodeName"),
        status.get("phase"),
        status.get("podIP"),
        _conditions(status, "Ready", "PodScheduled"),
    )


def _node_signature(body: Mapping[str, Any]) -> Hashable:
    metadata, spec, status = body["metadata"], body.get("spec", {}), body.get("status", {})
    return (
        "deletionTimestamp" in metadata,
        tuple(sorted(metadata.get("labels", {}).items())),
        bool(spec.get("unschedulable")),
        tuple(
            (taint["key"], taint.get("value"), taint["effect"]) for taint in spec.get("taints", ())
        ),
        tuple(sorted(status.get("allocatable", {}).items())),
        _conditions(status, "Ready"),
    )


def _conditions(status: Mapping[str, Any], *types: str) -> Hashable:
    conditions = status.get("conditions") or ()
    return tuple(
        (condition["type"], condition["status"])
        for condition in conditions
        if condition["type"] in types
    )


SIGNATURES: Mapping[Resource, Signature] = {
    STREAM_TOPOLOGIES: _spec_signature,
    STREAM_VERTICES: _spec_signature,
    STREAM_PLANS: _spec_signature,
    PODS: _pod_signature,
    NODES: _node_signature,
}
