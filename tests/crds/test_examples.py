"""The examples are right: by the schema, by the API server, and by the operator's own eyes."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from crds.topology import STRATEGIES, topology
from thalweg_operator.api.topology import parse_topology
from thalweg_operator.api.validation import Offer, find_problems
from thalweg_testbed.cluster import Cluster

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
SCHEMA = jsonschema.Draft202012Validator(topology())
BY_FILE = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))


def manifest(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def test_there_are_some() -> None:
    assert {path.stem for path in EXAMPLES} >= {"word-count", "smallest"}


@BY_FILE
def test_an_example_fits_the_schema(path: Path) -> None:
    SCHEMA.validate(manifest(path))


@BY_FILE
def test_an_example_has_no_problems(path: Path) -> None:
    spec = parse_topology(manifest(path)["spec"])
    assert find_problems(spec, Offer(strategies=STRATEGIES)) == ()


@BY_FILE
def test_an_example_says_that_any_image_will_do(path: Path) -> None:
    assert "Any image that keeps the contract works" in " ".join(
        path.read_text().replace("#", " ").split()
    )


@pytest.mark.control_plane
@BY_FILE
def test_an_example_is_accepted(control_plane: Cluster, namespace: str, path: Path) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", str(path), "--validate=strict")
    name = manifest(path)["metadata"]["name"]
    found = control_plane.get("stopo", name, "-n", namespace)
    assert parse_topology(found["spec"]).edges == parse_topology(manifest(path)["spec"]).edges


@pytest.mark.control_plane
@BY_FILE
def test_an_examples_pods_are_accepted(control_plane: Cluster, namespace: str, path: Path) -> None:
    for vertex in parse_topology(manifest(path)["spec"]).vertices:
        spec = dict(vertex.template["spec"])
        spec["containers"] = [{"name": "worker", **one} for one in spec["containers"]]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": vertex.name, "namespace": namespace},
            "spec": spec,
        }
        control_plane.apply(pod)
        assert control_plane.get("pod", vertex.name, "-n", namespace)["kind"] == "Pod"
