"""The commands that a node is given, for both means. Only one of them can run on each kernel."""

import json
import os
import subprocess
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.links import Link, Links
from thalweg_testbed.latency.means import Means, classes_for, detection_script, latency_script


def node(name: str, domain: str, number: int) -> Node:
    return Node(
        name=name,
        domain=domain,
        address=f"172.18.0.{number}",
        pods=IPv4Network(f"10.244.{number}.0/24"),
    )


NODES = (
    node("n1", "a", 1),
    node("n2", "a", 2),
    node("n3", "b", 3),
    node("n4", "b", 4),
    node("n5", "c", 5),
    node("n6", "control-plane", 6),
)
LINKS = Links(
    links={
        ("a", "b"): Link(latency_s=0.01, jitter_s=0.001, loss=0.005),
        ("b", "a"): Link(latency_s=0.02),
        ("a", "c"): Link(latency_s=0.0305),
    }
)


def test_a_node_holds_back_what_goes_to_pods_and_nodes_of_other_domains() -> None:
    to_b, to_c = classes_for(NODES[0], NODES, LINKS)
    assert (to_b.domain, to_c.domain) == ("b", "c")
    assert to_b.destinations == (
        "10.244.3.0/24",
        "172.18.0.3/32",
        "10.244.4.0/24",
        "172.18.0.4/32",
    )
    assert to_c.link == Link(latency_s=0.0305)


def test_each_direction_has_its_own_latency() -> None:
    (to_a,) = classes_for(NODES[2], NODES, LINKS)
    assert to_a.link == Link(latency_s=0.02)
    assert classes_for(NODES[4], NODES, LINKS) == ()


def test_a_class_keeps_its_number_when_another_goes() -> None:
    before = {one.domain: one.number for one in classes_for(NODES[0], NODES, LINKS)}
    fewer = LINKS.changed({("a", "b"): Link()})
    after = {one.domain: one.number for one in classes_for(NODES[0], NODES, fewer)}
    assert after == {"c": before["c"]}


def rules(script: str) -> list[str]:
    return [line for line in script.splitlines() if line.startswith("-A THALWEG-LATENCY")]


def test_queues_are_numbered_by_class() -> None:
    script = latency_script(classes_for(NODES[0], NODES, LINKS), Means.QUEUE)
    assert rules(script) == [
        "-A THALWEG-LATENCY -d 10.244.3.0/24 -j NFQUEUE --queue-num 1 --queue-bypass",
        "-A THALWEG-LATENCY -d 172.18.0.3/32 -j NFQUEUE --queue-num 1 --queue-bypass",
        "-A THALWEG-LATENCY -d 10.244.4.0/24 -j NFQUEUE --queue-num 1 --queue-bypass",
        "-A THALWEG-LATENCY -d 172.18.0.4/32 -j NFQUEUE --queue-num 1 --queue-bypass",
        "-A THALWEG-LATENCY -d 10.244.5.0/24 -j NFQUEUE --queue-num 2 --queue-bypass",
        "-A THALWEG-LATENCY -d 172.18.0.5/32 -j NFQUEUE --queue-num 2 --queue-bypass",
    ]
    assert "tc " not in script


def settings(script: str) -> dict[str, object]:
    (line,) = (one for one in script.splitlines() if one.startswith('{"address"'))
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


def test_the_program_is_told_microseconds() -> None:
    script = latency_script(classes_for(NODES[0], NODES, LINKS), Means.QUEUE)
    assert settings(script)["queues"] == [
        {"number": 1, "delay_us": 10000, "jitter_us": 1000, "loss": 0.005},
        {"number": 2, "delay_us": 30500, "jitter_us": 0, "loss": 0},
    ]


def test_netem_gets_a_queue_of_the_kernel_for_each_class() -> None:
    script = latency_script(classes_for(NODES[0], NODES, LINKS), Means.NETEM)
    traffic = [line for line in script.splitlines() if line.startswith("tc ")]
    assert traffic == [
        "tc qdisc show dev eth0 | grep -q 'qdisc htb 1:' || "
        "tc qdisc add dev eth0 root handle 1: htb",
        "tc class replace dev eth0 parent 1: classid 1:1 htb rate 100gbit",
        "tc qdisc replace dev eth0 parent 1:1 handle 11: netem"
        " delay 10000us 1000us loss 0.5% limit 100000",
        "tc class replace dev eth0 parent 1: classid 1:2 htb rate 100gbit",
        "tc qdisc replace dev eth0 parent 1:2 handle 12: netem delay 30500us limit 100000",
    ]
    assert "CLASSIFY --set-class 1:2" in rules(script)[-1]
    assert settings(script)["queues"] == []


@pytest.mark.parametrize("means", Means)
def test_without_classes_the_chain_is_emptied_at_once(means: Means) -> None:
    lines = latency_script((), means).splitlines()
    start = lines.index("*mangle")
    assert lines[start : start + 3] == ["*mangle", ":THALWEG-LATENCY - [0:0]", "COMMIT"]


def detected(tmp_path: Path, *, answer: str, code: int) -> subprocess.CompletedProcess[str]:
    """Run the script that looks for netem where a `tc` of this kind is."""
    tc = tmp_path / "tc"
    tc.write_text(
        f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n'
        f"[ $2 = del ] && exit 2\n[ {code} = 0 ] || echo '{answer}' >&2\nexit {code}\n"
    )
    tc.chmod(0o755)
    # As a node runs it.
    return subprocess.run(
        ["sh", "-eu"],
        input=detection_script(),
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_kernel_with_netem_is_left_as_it_was(tmp_path: Path) -> None:
    done = detected(tmp_path, answer="", code=0)
    assert Means(done.stdout.strip()) is Means.NETEM
    assert done.returncode == 0
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[1] for line in asked] == ["replace", "del"]


@pytest.mark.parametrize(
    "answer",
    [
        "Error: Specified qdisc kind is unknown.",
        "Error: Specified qdisc not found.",
        "RTNETLINK answers: No such file or directory",
        "RTNETLINK answers: Operation not supported",
    ],
)
def test_only_the_kernel_may_say_that_it_has_no_netem(tmp_path: Path, answer: str) -> None:
    done = detected(tmp_path, answer=answer, code=2)
    assert Means(done.stdout.strip()) is Means.QUEUE
    assert done.returncode == 0


@pytest.mark.parametrize(
    "answer",
    [
        'Cannot find device "lo"',
        "RTNETLINK answers: Operation not permitted",
        "Error: Exclusivity flag on, cannot modify.",
        "Cannot open netlink socket: Too many open files",
    ],
)
def test_any_other_failure_is_one(tmp_path: Path, answer: str) -> None:
    done = detected(tmp_path, answer=answer, code=1)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"{answer}\n"


def test_a_node_without_tc_is_a_failure(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-eu"],
        input=detection_script(),
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "tc" in done.stderr
