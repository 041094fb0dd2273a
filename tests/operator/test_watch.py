"""Which events wake the loop, and what Kopf is told."""

import asyncio
import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kopf
import pytest
import yaml

from thalweg_operator.cluster.connection import Connection, connect
from thalweg_operator.cluster.resources import NODES, PODS, STREAM_TOPOLOGIES, Resource
from thalweg_operator.settings import Settings
from thalweg_operator.wake import Wake
from thalweg_operator.watch import (
    SIGNATURES,
    Changes,
    Watch,
    connection_info,
    kopf_settings,
    registry_of,
)

POD: dict[str, Any] = {
    "metadata": {"uid": "u", "labels": {"a": "b"}, "annotations": {}, "resourceVersion": "1"},
    "spec": {"nodeName": "a-0"},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
NODE: dict[str, Any] = {
    "metadata": {"uid": "n", "labels": {"zone": "a"}},
    "spec": {},
    "status": {
        "allocatable": {"cpu": "4"},
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}],
    },
}
TOPOLOGY: dict[str, Any] = {"metadata": {"uid": "t", "generation": 1}, "status": {}}


def wakes(resource: Resource, before: dict[str, Any], change: Callable[[Any], object]) -> bool:
    wake = Wake()
    changes = Changes("x", SIGNATURES[resource], wake)
    changes.see({"type": None, "object": before})
    assert wake.wait(0.0) == {"x"}
    after = copy.deepcopy(before)
    change(after)
    changes.see({"type": "MODIFIED", "object": after})
    return bool(wake.wait(0.0))


@pytest.mark.parametrize(
    ("resource", "before", "change"),
    [
        (PODS, POD, lambda pod: pod["metadata"].update(deletionTimestamp="now")),
        (PODS, POD, lambda pod: pod["metadata"]["labels"].update(a="c")),
        (PODS, POD, lambda pod: pod["spec"].update(nodeName="b-0")),
        (PODS, POD, lambda pod: pod["status"].update(phase="Failed")),
        (PODS, POD, lambda pod: pod["status"]["conditions"][0].update(status="False")),
        (NODES, NODE, lambda node: node["spec"].update(unschedulable=True)),
        (NODES, NODE, lambda node: node["spec"].update(taints=[{"key": "k", "effect": "e"}])),
        (NODES, NODE, lambda node: node["status"]["allocatable"].update(cpu="2")),
        (NODES, NODE, lambda node: node["status"]["conditions"][0].update(status="Unknown")),
        (NODES, NODE, lambda node: node["metadata"]["labels"].update(zone="b")),
        (STREAM_TOPOLOGIES, TOPOLOGY, lambda topology: topology["metadata"].update(generation=2)),
    ],
)
def test_a_change_that_matters_wakes(
    resource: Resource, before: dict[str, Any], change: Callable[[Any], object]
) -> None:
    assert wakes(resource, before, change)


@pytest.mark.parametrize(
    ("resource", "before", "change"),
    [
        (PODS, POD, lambda pod: pod["metadata"].update(resourceVersion="2")),
        (PODS, POD, lambda pod: pod["metadata"]["annotations"].update(routes="2")),
        (
            NODES,
            NODE,
            lambda node: node["status"]["conditions"][0].update(lastHeartbeatTime="y"),
        ),
        (STREAM_TOPOLOGIES, TOPOLOGY, lambda topology: topology["status"].update(tasks={})),
    ],
)
def test_heartbeats_and_our_own_status_do_not_wake(
    resource: Resource, before: dict[str, Any], change: Callable[[Any], object]
) -> None:
    assert not wakes(resource, before, change)


def test_a_deletion_wakes_and_is_forgotten() -> None:
    wake = Wake()
    changes = Changes("Pod", SIGNATURES[PODS], wake)
    for kind in ("ADDED", "DELETED", "ADDED"):
        changes.see({"type": kind, "object": POD})
        assert wake.wait(0.0) == {"Pod"}


@pytest.mark.parametrize("resource", list(SIGNATURES), ids=lambda resource: resource.kind)
def test_an_object_with_nothing_in_it_is_no_error(resource: Resource) -> None:
    wake = Wake()
    changes = Changes("x", SIGNATURES[resource], wake)
    changes.see({"type": "ADDED", "object": {"metadata": {"uid": "u"}}})
    assert wake.wait(0.0) == {"x"}


def test_kopf_is_told_to_keep_out() -> None:
    settings = kopf_settings()
    assert settings.peering.standalone
    assert settings.scanning.disabled
    assert not settings.posting.enabled
    assert str(settings.watching.server_timeout) == "600"  # "600.0" would be refused
    assert settings.watching.chunk_size == 500


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": "secret"}}],
            }
        )
    )
    return connect(kubeconfig)


def test_only_event_handlers_are_registered(connection: Connection) -> None:
    registry = registry_of(connection, Wake())
    assert len(list(registry._watching.get_all_handlers())) == len(SIGNATURES)
    for other in (registry._changing, registry._spawning, registry._indexing, registry._webhooks):
        assert list(other.get_all_handlers()) == []
    info = connection_info(connection)
    assert (info.server, info.scheme, info.token) == ("http://127.0.0.1:1", "Bearer", "secret")


def test_a_watch_that_ends_is_started_again_until_it_is_stopped(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = threading.Semaphore(0)
    endings = [RuntimeError("no credentials"), None]

    async def pretended(*, stop_flag: asyncio.Event, **_: object) -> None:
        runs.release()
        if not endings:
            await stop_flag.wait()
        elif (error := endings.pop(0)) is not None:
            raise error

    monkeypatch.setattr(kopf, "operator", pretended)
    watch = Watch(Settings(), connection=connection, wake=Wake(), restart_s=0.0)
    watch.start()
    for _ in range(3):
        assert runs.acquire(timeout=60)
    watch.stop()
    assert not watch._thread.is_alive()


def test_a_watch_that_never_began_can_be_stopped(connection: Connection) -> None:
    watch = Watch(Settings(), connection=connection, wake=Wake())
    watch.stop()
    assert not watch._thread.is_alive()
