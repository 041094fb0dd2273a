"""Who no longer hears whom."""

from ipaddress import IPv4Network

import pytest

from thalweg_testbed.kind.partitions import partition_script, silence_script, voice_script
from thalweg_testbed.latency.endpoints import Node

NODES = tuple(
    Node(
        name=f"{domain}0",
        domain=domain,
        address=f"172.18.0.{number}",
        pods=IPv4Network(f"10.244.{number}.0/24"),
    )
    for number, domain in enumerate(["a", "b", "c", "control-plane"], start=1)
)


def dropped(node: Node, partitions: list[tuple[str, str]]) -> list[str]:
    script = partition_script(node, NODES, partitions)
    lines = [line.split() for line in script.splitlines() if line.startswith("-A")]
    return [words[words.index("-s") + 1] for words in lines]


@pytest.mark.parametrize(
    ("index", "partitions", "expected"),
    [
        (0, [], []),
        (0, [("a", "b")], ["10.244.2.0/24", "172.18.0.2/32"]),
        (1, [("a", "b")], ["10.244.1.0/24", "172.18.0.1/32"]),
        (2, [("a", "b")], []),
        (3, [("a", "control-plane")], ["10.244.1.0/24", "172.18.0.1/32"]),
        (0, [("a", "b"), ("a", "c")], [f"{net}" for net in ("10.244.2.0/24", "172.18.0.2/32")]
         + ["10.244.3.0/24", "172.18.0.3/32"]),
    ],
)  # fmt: skip
def test_each_side_drops_what_comes_from_the_other(
    index: int, partitions: list[tuple[str, str]], expected: list[str]
) -> None:
    assert dropped(NODES[index], partitions) == expected


def test_healing_empties_the_chain_in_one_step() -> None:
    lines = partition_script(NODES[0], NODES, []).splitlines()
    start = lines.index("*raw")
    assert lines[start : start + 3] == ["*raw", ":THALWEG-PARTITION - [0:0]", "COMMIT"]


def test_a_voice_undoes_a_silence_rule_by_rule() -> None:
    silence = [line.split(" -I ")[1] for line in silence_script().splitlines()]
    voice = [
        line.split(" -D ")[1].split(" 2>")[0]
        for line in voice_script().splitlines()
    ]  # fmt: skip
    assert voice == silence
    assert [rule.split()[0] for rule in silence] == ["PREROUTING", "OUTPUT"]
