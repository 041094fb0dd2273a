"""What the tests of the API share: one client, one right topology, and how to spoil it."""

import copy
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import connect
from thalweg_testbed.cluster import Cluster

HERE = Path(__file__).parent
Manifest = dict[str, Any]


@pytest.fixture(scope="session")
def api(control_plane: Cluster) -> Client:
    """The real API server; no operator runs."""
    return Client(connect(control_plane.kubeconfig), guard=unguarded)


@pytest.fixture(scope="session")
def shared_namespace(control_plane: Cluster) -> Iterator[str]:
    """One namespace for all that is refused: nothing of it stays."""
    name = f"refusals-{secrets.token_hex(4)}"
    control_plane.create_namespace(name)
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture
def right_topology() -> Manifest:
    """A topology that is accepted, to be changed at will."""
    manifest: Manifest = yaml.safe_load((HERE / "right-topology.yaml").read_text())
    return manifest


@pytest.fixture
def spoil() -> Callable[[Manifest, Mapping[str, Any]], Manifest]:
    """Apply one case of a table: `set` and `drop` with dotted paths."""
    return _spoil


def _spoil(manifest: Manifest, case: Mapping[str, Any]) -> Manifest:
    spoilt = copy.deepcopy(manifest)
    root = case.get("below", "")
    for path, value in case.get("set", {}).items():
        holder, key = _find(spoilt, _join(root, path))
        if isinstance(holder, list) and key == len(holder):
            holder.append(value)
        else:
            holder[key] = value
    if "drop" in case:
        holder, key = _find(spoilt, _join(root, case["drop"]))
        del holder[key]
    return spoilt


def _join(root: str, path: str) -> str:
    return ".".join(part for part in (root, path) if part)


def _find(manifest: Manifest, path: str) -> tuple[Any, Any]:
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    holder: Any = manifest
    for part in way:
        holder = holder[part] if isinstance(part, int) else holder.setdefault(part, {})
    return holder, last
