"""A wrong topology is exit code 2 and one line that names the file, the line and what to do."""

from pathlib import Path

import pytest

from thalweg_commands import Thalweg, Wrong, run_with

VERTEX = "- {name: read, template: {spec: {containers: [{image: i}]}}}"
SECOND = "- {name: split, template: {spec: {containers: [{image: i}]}}}"


def topology(*lines: str) -> str:
    """A topology whose spec is `lines`; the first of them is line 4."""
    head = ["apiVersion: thalweg.dev/v1alpha1", "kind: StreamTopology", "metadata: {name: t}"]
    return "\n".join([*head, "spec:", *(f"  {line}" for line in lines)])


TOPOLOGIES = {
    "empty": Wrong(text="", line=1, says="is empty"),
    "only comments": Wrong(text="# nothing\n---\n", line=1, says="is empty"),
    "not YAML": Wrong(text="kind: [\n", line=1, says="is not YAML"),
    "a tab": Wrong(text="kind: x\n\tname: y", line=2, says="is not YAML"),
    "a list": Wrong(text="- a", line=1, says="expected kind: StreamTopology"),
    "a word": Wrong(text="hello", line=1, says="expected kind: StreamTopology"),
    "another kind": Wrong(
        text="apiVersion: v1\nkind: Pod", line=2, says="expected kind: StreamTopology, found Pod"
    ),
    "another version": Wrong(
        text="kind: StreamTopology\napiVersion: thalweg.dev/v2",
        line=2,
        says="expected apiVersion: thalweg.dev/v1alpha1",
    ),
    "no name": Wrong(
        text=topology("vertices:", VERTEX).replace("name: t", "labels: {}"),
        line=3,
        says="metadata.name must be a string",
    ),
    "a long name": Wrong(
        text=topology("vertices:", VERTEX).replace("name: t", f"name: {31 * 't'}"),
        line=3,
        says="metadata.name must have 1 to 30 characters",
    ),
    "two topologies": Wrong(
        text="\n---\n".join([topology("vertices:", VERTEX)] * 2), line=8, says="a second"
    ),
    "no spec": Wrong(
        text="apiVersion: thalweg.dev/v1alpha1\nkind: StreamTopology\nmetadata: {name: t}",
        line=1,
        says="spec must be an object",
    ),
    "no vertices": Wrong(text=topology("edges: []"), line=4, says="add at least one vertex"),
    "empty vertices": Wrong(text=topology("vertices: []"), line=5, says="has 0 items"),
    "vertices as a word": Wrong(
        text=topology("vertices: read"), line=5, says="spec.vertices must be a list"
    ),
    "a vertex without a name": Wrong(
        text=topology("vertices:", VERTEX, "- {template: {}}"),
        line=7,
        says="spec.vertices[1].name must be a string",
    ),
    "a vertex without a template": Wrong(
        text=topology("vertices:", VERTEX, "- name: split"),
        line=7,
        says="spec.vertices[1].template must be an object",
    ),
    "a vertex without an image": Wrong(
        text=topology("vertices:", VERTEX, "- name: split", "  template: {spec: {}}"),
        line=7,
        says="containers[0].image",
    ),
    "two vertices of a name": Wrong(
        text=topology("vertices:", VERTEX, SECOND, VERTEX), line=8, says="two vertices are named"
    ),
    "a capital letter": Wrong(
        text=topology("vertices:", VERTEX.replace("read", "Read")),
        line=6,
        says="must start with a lower-case letter",
    ),
    "min over max": Wrong(
        text=topology(
            "vertices:", VERTEX, SECOND.replace(", temp", ", replicas: {min: 3, max: 2}, temp")
        ),
        line=7,
        says="must be 1 ≤ min ≤ initial ≤ max",
    ),
    "half a task": Wrong(
        text=topology("vertices:", VERTEX.replace(", temp", ", replicas: {initial: 1.5}, temp")),
        line=6,
        says="initial must be a whole number",
    ),
    "too many tasks": Wrong(
        text=topology("vertices:", VERTEX.replace(", temp", ", replicas: {initial: 5000}, temp")),
        line=6,
        says="must be from 1 to 1024, not 5000",
    ),
    "an edge to nowhere": Wrong(
        text=topology("vertices:", VERTEX, "edges:", "- {from: read, to: spilt}"),
        line=8,
        says="no vertex is named spilt",
    ),
    "an edge twice": Wrong(
        text=topology("vertices:", VERTEX, SECOND, "edges:", *2 * ["- {from: read, to: split}"]),
        line=10,
        says="is there twice",
    ),
    "a cycle": Wrong(
        text=topology(
            "vertices:",
            VERTEX,
            SECOND,
            "edges:",
            "- {from: read, to: split}",
            "- {from: split, to: read}",
        ),
        line=10,
        says="cycle: read → split → read",
    ),
    "a loop": Wrong(
        text=topology("vertices:", VERTEX, "edges:", "- {from: read, to: read}"),
        line=8,
        says="cycle",
    ),
    "keys without need": Wrong(
        text=topology(
            "vertices:",
            VERTEX,
            SECOND,
            "edges:",
            "- from: read",
            "  to: split",
            "  grouping: {keys: [k]}",
        ),
        line=9,
        says="takes no keys",
    ),
    "no keys where they are needed": Wrong(
        text=topology(
            "vertices:",
            VERTEX,
            SECOND,
            "edges:",
            "- from: read",
            "  to: split",
            "  grouping: {type: WChoices}",
        ),
        line=9,
        says="grouping WChoices needs keys",
    ),
    "a grouping that is none": Wrong(
        text=topology(
            "vertices:",
            VERTEX,
            SECOND,
            "edges:",
            "- from: read",
            "  to: split",
            "  grouping: {type: Shufle}",
        ),
        line=11,
        says="must be one of Shuffle",
    ),
    "a strategy that is none": Wrong(
        text=topology("vertices:", VERTEX, "strategy: Best"), line=7, says="choose one of Auto"
    ),
    "a field that is none": Wrong(
        text=topology("vertices:", VERTEX.replace(", temp", ", replica: {initial: 2}, temp")),
        line=6,
        says="spec.vertices[0] has no field replica; did you mean replicas?",
    ),
    "a key twice": Wrong(
        text=topology("vertices:", VERTEX, "vertices:", SECOND),
        line=7,
        says="vertices is already given in line 5",
    ),
    "a share out of bounds": Wrong(
        text=topology("vertices:", VERTEX, "placement:", "  maxSharePercent: 0"),
        line=8,
        says="must be from 1 to 100, not 0",
    ),
    "a request that is no quantity": Wrong(
        text=topology(
            "vertices:",
            "- name: read",
            "  template:",
            "    spec:",
            "      containers:",
            "      - image: i",
            "        resources:",
            "          requests:",
            "            cpu: lots",
        ),
        line=13,
        says="vertex read: resources.requests.cpu must be a quantity",
    ),
    "Off without quotes": Wrong(
        text=topology("mode: Off", "vertices:", VERTEX), line=5, says='write "Off" in quotes'
    ),
}


@pytest.mark.parametrize("wrong", TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_a_wrong_topology_is_told_with_its_line(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, wrong: Wrong
) -> None:
    path = tmp_path / "wrong"
    path.write_text(wrong.text)
    run = run_with(thalweg, word_count, "", path)
    assert run.code == 2
    assert run.out == ""
    assert run.err.startswith(f"thalweg: {path}:{wrong.line}: "), run.err
    assert wrong.says in run.err
    assert run.err.count("\n") == 1


def test_a_name_that_is_both_a_vertex_and_a_task(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    path = tmp_path / "topology.yaml"
    vertices = [VERTEX, VERTEX.replace("read", "read-0")]
    path.write_text(topology("vertices:", *vertices, "edges:", "- {from: read, to: read-0}"))
    rates = tmp_path / "rates.csv"
    rates.write_text("from,to,tuples_per_second\nread,read-0,1\n")
    run = thalweg("plan", path, "--nodes", word_count / "nodes.yaml", "--rates", rates)
    assert run.code == 2
    assert f"{rates}:2: 'read-0' is a vertex and also a task" in run.err
