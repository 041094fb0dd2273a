"""A wrong file is exit code 2 and one line that names the file, the line and what to do."""

from pathlib import Path

import pytest

from thalweg_commands import Thalweg, Wrong, run_with


def nodes(*lines: str) -> str:
    """A List whose items are `lines`; the first of them is line 4."""
    return "\n".join(["apiVersion: v1", "kind: List", "items:", *lines])


NODE = "- {kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 1}}}"

NODES = {
    "empty": Wrong(text="\n", line=1, says="is empty"),
    "not YAML": Wrong(text="items: {", line=1, says="is not YAML"),
    "names only": Wrong(text="node/a-0\nnode/a-1\n", line=1, says="expected kind: Node"),
    "pods": Wrong(text=nodes("- {kind: Pod}"), line=4, says="expected kind: Node, found Pod"),
    "no items": Wrong(text="kind: List\nitems: 3", line=2, says="items must be a list"),
    "a node without a name": Wrong(
        text=nodes("- kind: Node", "  metadata: {}"), line=5, says="metadata.name must be a string"
    ),
    "a node without resources": Wrong(
        text=nodes("- kind: Node", "  metadata: {name: n}"),
        line=4,
        says="node n has no status.allocatable",
    ),
    "cpu that is no quantity": Wrong(
        text=nodes(
            NODE,
            "- kind: Node",
            "  metadata: {name: m}",
            "  status:",
            "    allocatable:",
            "      memory: 1Gi",
            "      cpu: four",
        ),
        line=10,
        says="node m: status.allocatable.cpu must be a quantity such as 500m or 2Gi, not 'four'",
    ),
    "negative memory": Wrong(
        text=nodes(NODE.replace("cpu: 1", "memory: -1Gi")), line=4, says="must be a quantity"
    ),
    "a node twice": Wrong(text=nodes(NODE, NODE), line=5, says="node n is there twice"),
}

LATENCY = {
    "empty": Wrong(text="", line=1, says="its first line must be source,target,seconds"),
    "no header": Wrong(text="a,b,0.1\n", line=1, says="there is no column 'a'"),
    "a column missing": Wrong(
        text="source,target\na,b\n", line=1, says="column seconds is missing"
    ),
    "too few values": Wrong(
        text="source,target,seconds\na,b\n", line=2, says="has 2 values; 3 are wanted"
    ),
    "too many values": Wrong(
        text="source,target,seconds\na,b,1,2\n", line=2, says="has 4 values; 3 are wanted"
    ),
    "no number": Wrong(
        text="source,target,seconds\na,b,fast\n", line=2, says="seconds must be a number"
    ),
    "below zero": Wrong(
        text="source,target,seconds\n\na,b,-1\n", line=3, says="a number of at least 0, not -1"
    ),
    "not finite": Wrong(
        text="source,target,seconds\na,b,nan\n", line=2, says="a number of at least 0, not nan"
    ),
    "an unknown node": Wrong(
        text="source,target,seconds\na,a-9,1\n",
        line=2,
        says="no node or domain is called 'a-9'; did you mean a-",
    ),
    "a pair twice": Wrong(
        text="source,target,seconds\na,b,1\nb,a,1\na,b,2\n",
        line=4,
        says="a to b is already given in line 2",
    ),
    "an open quote": Wrong(text='source,target,seconds\n"a,b,1\n', line=2, says="is not CSV"),
    "not UTF-8": Wrong(
        text="source,target,seconds\n\udcff,b,1\n", line=2, says="is not text in UTF-8"
    ),
}

HEADER = "from,to,tuples_per_second,bytes_per_second"
RATES = {
    "another header": Wrong(
        text="from,to,rate\n", line=1, says="there is no column 'rate'; the first line must be"
    ),
    "a column twice": Wrong(
        text="from,to,tuples_per_second,to\n", line=1, says="a column is there twice"
    ),
    "an unknown vertex": Wrong(
        text=f"{HEADER}\nread,spilt,1,1\n",
        line=2,
        says="no vertex or task is called 'spilt'; did you mean split",
    ),
    "an unknown task": Wrong(
        text=f"{HEADER}\nread-0,split-0,1,1\nread-7,split-0,1,1\n",
        line=3,
        says="no vertex or task is called 'read-7'",
    ),
    "no such edge": Wrong(
        text=f"{HEADER}\nread,count,1,1\n", line=2, says="no edge from read to count"
    ),
    "against the stream": Wrong(
        text=f"{HEADER}\nsplit,read,1,1\n", line=2, says="no edge from split to read"
    ),
    "negative": Wrong(
        text=f"{HEADER}\nread,split,-5,1\n", line=2, says="tuples_per_second must be a number"
    ),
    "without a rate": Wrong(
        text=f"{HEADER}\nread,split,,1\n", line=2, says="tuples_per_second must be a number, not ''"
    ),
    "endless": Wrong(
        text=f"{HEADER}\nread,split,1,inf\n", line=2, says="bytes_per_second must be a number"
    ),
    "the same twice": Wrong(
        text=f"{HEADER}\nread,split,5,1\nread-0,split-2,1,1\n",
        line=3,
        says="the rate from read-0 to split-2 is already given in line 2",
    ),
}

LOADS = {
    "busier than always": Wrong(
        text="task,busy_share\nread,1.2\n", line=2, says="busy_share must be from 0 to 1"
    ),
    "an unknown column": Wrong(
        text="task,busy\nread,1\n", line=1, says="there is no column 'busy'"
    ),
}


CASES = [
    pytest.param(option, wrong, id=f"{option}: {name}")
    for option, table in (
        ("--nodes", NODES),
        ("--latency", LATENCY),
        ("--rates", RATES),
        ("--loads", LOADS),
    )
    for name, wrong in table.items()
]


@pytest.mark.parametrize(("option", "wrong"), CASES)
def test_a_wrong_file_is_told_with_its_line(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, option: str, wrong: Wrong
) -> None:
    path = tmp_path / "wrong"
    path.write_bytes(wrong.text.encode(errors="surrogateescape"))
    run = run_with(thalweg, word_count, option, path)
    assert run.code == 2
    assert run.out == ""
    assert run.err.startswith(f"thalweg: {path}:{wrong.line}: "), run.err
    assert wrong.says in run.err
    assert run.err.count("\n") == 1


@pytest.mark.parametrize("option", ["", "--nodes", "--latency", "--rates", "--loads"])
@pytest.mark.parametrize("kind", ["missing", "directory"])
def test_a_file_that_is_not_there(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, option: str, kind: str
) -> None:
    path = tmp_path / "nowhere.yaml" if kind == "missing" else tmp_path
    run = run_with(thalweg, word_count, option, path)
    assert run.code == 2
    assert str(path) in run.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--strategy", "Best"), "choose one of Auto"),
        (("--seed", "-1"), "--seed"),
        (("--seed", "x"), "--seed"),
        (("--same-node", "-0.1"), "--same-node"),
        (("--cross-domain", "inf"), "must be known"),
        (("-o", "xml"), "table"),
        (("--frobnicate",), "--frobnicate"),
    ],
)
def test_a_wrong_option(
    thalweg: Thalweg, word_count: Path, options: tuple[str, ...], says: str
) -> None:
    files = (word_count / "topology.yaml", "--nodes", word_count / "nodes.yaml")
    run = thalweg("plan", *files, *options)
    assert run.code == 2
    assert says in run.err


def test_nodes_are_required(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg("plan", word_count / "topology.yaml")
    assert run.code == 2
    assert "--nodes" in run.err
