"""API objects to facts; what is spoilt is left out."""

import pytest

from thalweg_runtime.simulated.parsing import cores_of, world_of
from thalweg_simulated_scenes import Scene, word_count


@pytest.mark.parametrize(
    ("quantity", "cores"),
    [("4", 4.0), ("1500m", 1.5), ("0.5", 0.5), ("2e1", 20.0), ("?", 1.0), ("xm", 1.0)],
)
def test_cores_of_a_quantity(quantity: str, cores: float) -> None:
    assert cores_of(quantity) == cores


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"vertex": "read"}', '{"vertex": "read", "edges": 3}']
)
def test_routes_that_somebody_spoilt_are_no_routes(text: str) -> None:
    scene = word_count()
    scene.route("read", "split")
    scene.routes[0]["data"]["routes.json"] = text
    topology = scene.world().topologies[0]
    assert [edge.receivers for edge in topology.edges] == [None, None]


def test_empty_routes_are_routes_without_receivers() -> None:
    scene = word_count()
    scene.route("read", "split")
    assert scene.world().topologies[0].edges[0].receivers == {}


def test_a_pod_with_spoilt_labels_is_left_out() -> None:
    scene = word_count()
    scene.pods["words-split-0-0"]["metadata"]["labels"]["thalweg.dev/task"] = "x"
    scene.pods["words-split-1-0"]["metadata"]["labels"]["thalweg.dev/vertex"] = "other"
    tasks = [pod.task for pod in scene.world().topologies[0].pods]
    assert tasks == ["read-0", "read-1", "count-0", "count-1"]


def test_annotations_that_cannot_be_read_declare_nothing() -> None:
    topology = word_count().topology()
    topology["metadata"]["annotations"] = {
        "simulated.thalweg.dev/read": "{",
        "simulated.thalweg.dev/split": '{"service_us": "x"}',
        "simulated.thalweg.dev/count": '{"service_us": 5, "other": 1}',
    }
    world = world_of(topologies=[topology], pods=[], config_maps=[], nodes=[])
    assert world.topologies[0].traits == {"read": {}, "split": {}, "count": {"service_us": 5.0}}


def test_sources_and_sinks_are_the_ends_of_the_graph() -> None:
    topology = Scene().world().topologies[0]
    assert (topology.sources, topology.sinks) == (("read",), ("count",))


def test_every_task_of_a_shared_pod_works_in_it() -> None:
    scene = word_count()
    scene.pods.clear()
    name = scene.put("read-0", "a-0", incarnation=3)
    shared = scene.pods[name]["metadata"]
    for label in ("vertex", "task"):
        del shared["labels"][f"thalweg.dev/{label}"]
    shared["labels"]["thalweg.dev/process"] = "0"
    shared["annotations"] = {"thalweg.dev/tasks": "read-0,split-0,count-0,spoilt"}
    (topology,) = scene.world().topologies
    assert [(pod.task, pod.name, pod.incarnation) for pod in topology.pods] == [
        ("read-0", name, 3),
        ("split-0", name, 3),
        ("count-0", name, 3),
    ]
    assert len({pod.uid for pod in topology.pods}) == 3, "each has counters of its own"
