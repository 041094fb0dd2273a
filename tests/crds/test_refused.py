"""What is wrong is refused by the API server itself, with a message that says what to do.

No operator runs. Each manifest is wrong in one way.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import STREAM_TOPOLOGIES
from thalweg_operator.errors import Refused

pytestmark = pytest.mark.control_plane

HERE = Path(__file__).parent
Manifest = dict[str, Any]
Spoil = Callable[[Manifest, Mapping[str, Any]], Manifest]


def table() -> list[Mapping[str, Any]]:
    topologies: list[Mapping[str, Any]] = yaml.safe_load(
        (HERE / "refused-topologies.yaml").read_text()
    )
    templates = yaml.safe_load((HERE / "refused-templates.yaml").read_text())
    return topologies + [{**case, "below": "spec.vertices.0.template"} for case in templates]


@pytest.mark.parametrize("case", table(), ids=lambda case: str(case["is"]))
def test_refused(
    api: Client,
    shared_namespace: str,
    right_topology: Manifest,
    spoil: Spoil,
    case: Mapping[str, Any],
) -> None:
    wrong = spoil(right_topology, case)
    wrong["metadata"]["namespace"] = shared_namespace
    with pytest.raises(Refused) as refusal:
        api.create(STREAM_TOPOLOGIES, wrong)
    assert case["says"] in str(refusal.value)


def test_one_vertex_too_many(api: Client, shared_namespace: str, right_topology: Manifest) -> None:
    vertex = right_topology["spec"]["vertices"][1]
    spec = {"vertices": [{**vertex, "name": f"v{number}"} for number in range(65)]}
    wrong = {"metadata": {"name": "large", "namespace": shared_namespace}, "spec": spec}
    with pytest.raises(Refused, match="must have at most 64 items"):
        api.create(STREAM_TOPOLOGIES, wrong)


def test_one_edge_too_many(api: Client, shared_namespace: str, right_topology: Manifest) -> None:
    vertex = right_topology["spec"]["vertices"][1]
    names = [f"v{number}" for number in range(64)]
    pairs = [(a, b) for position, a in enumerate(names) for b in names[position + 1 :]]
    spec = {
        "vertices": [{**vertex, "name": name} for name in names],
        "edges": [{"from": a, "to": b} for a, b in pairs[:257]],
    }
    wrong = {"metadata": {"name": "large", "namespace": shared_namespace}, "spec": spec}
    with pytest.raises(Refused, match="must have at most 256 items"):
        api.create(STREAM_TOPOLOGIES, wrong)


@pytest.mark.parametrize(
    ("field", "items", "most"),
    [
        ("containers", [{"name": f"c{n}", "image": "a"} for n in range(17)], 16),
        ("volumes", [{"name": f"v{n}", "emptyDir": {}} for n in range(65)], 64),
        ("tolerations", [{"key": f"k{n}", "operator": "Exists"} for n in range(65)], 64),
    ],
)
def test_too_many_in_a_template(
    api: Client,
    shared_namespace: str,
    right_topology: Manifest,
    *,
    field: str,
    items: list[Manifest],
    most: int,
) -> None:
    right_topology["metadata"]["namespace"] = shared_namespace
    right_topology["spec"]["vertices"][0]["template"]["spec"][field] = items
    with pytest.raises(Refused, match=f"must have at most {most} items"):
        api.create(STREAM_TOPOLOGIES, right_topology)
