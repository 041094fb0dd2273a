"""That tasks do not fit is an answer: exit code 3 and what is missing."""

from pathlib import Path

import pytest

from thalweg_commands import Run, Thalweg


def plan(thalweg: Thalweg, where: Path, nodes: Path | None = None, *more: object) -> Run:
    nodes = nodes or where / "nodes.yaml"
    return thalweg("plan", where / "topology.yaml", "--nodes", nodes, "-o", "json", *more)


def edited(word_count: Path, directory: Path, old: str, new: str) -> Path:
    text = (word_count / "nodes.yaml").read_text()
    assert old in text
    path = directory / "nodes.yaml"
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('cpu: "2"', 'cpu: "0.6"', "cpu"),
        ("memory: 4Gi", "memory: 300Mi", "memory"),
        ('pods: "110"', 'pods: "1"', "pods"),
        ('status: "True"', 'status: "False"', "not ready"),
        ("  status:\n    alloc", "  spec: {unschedulable: true}\n  status:\n    alloc", "cordoned"),
        ("topology.kubernetes.io/zone", "example.com/rack", "no label topology.kubernetes.io/zone"),
        (
            "  status:\n    alloc",
            "  spec: {taints: [{key: gpu, effect: NoSchedule}]}\n  status:\n    alloc",
            "taint gpu:NoSchedule",
        ),
    ],
)
def test_what_is_missing_is_named(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, *, old: str, new: str, word: str
) -> None:
    run = plan(thalweg, word_count, edited(word_count, tmp_path, old, new))
    assert run.code == 3
    assert word in run.err
    assert run.json["missing"]
    assert run.json["overloaded"] == []


@pytest.mark.parametrize("strategy", ["Auto", "Even", "ResourceAware"])
def test_every_strategy_says_so(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, strategy: str
) -> None:
    nodes = edited(word_count, tmp_path, 'cpu: "2"', 'cpu: "0.6"')
    run = plan(thalweg, word_count, nodes, "--strategy", strategy)
    assert run.code == 3
    assert "cpu" in run.err


def test_no_nodes_at_all(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("apiVersion: v1\nkind: List\nitems: []\n")
    run = plan(thalweg, word_count, nodes)
    assert run.code == 3
    assert "there is none" in run.err


def test_an_extended_resource_that_no_node_has(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    topology = tmp_path / "topology.yaml"
    text = (word_count / "topology.yaml").read_text()
    topology.write_text(text.replace("cpu: 500m", "cpu: 500m, example.com/gpu: 1"))
    run = thalweg("plan", topology, "--nodes", word_count / "nodes.yaml")
    assert run.code == 3
    assert "example.com/gpu" in run.err


def test_what_a_hand_written_node_leaves_out(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(
        "kind: Node\nmetadata: {name: n, labels: {topology.kubernetes.io/zone: z}}\n"
        "status: {allocatable: {cpu: 16, memory: 16Gi}}\n"
    )
    run = plan(thalweg, word_count, nodes)
    assert run.code == 0, run.err
    assert set(run.json["assignments"].values()) == {"n"}
