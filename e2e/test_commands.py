"""docs/testbed.md followed word for word: its commands, on the session's cluster."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from thalweg_testbed.kind import KindCluster
from thalweg_testbed.latency import Link, Links

DOCUMENT = Path(__file__).parents[1] / "docs" / "testbed.md"
MODULE = "thalweg_testbed.kind"


def shown_lines() -> Iterator[str]:
    """The lines to type of the kind tier's first block, without their comments."""
    tier = DOCUMENT.read_text().partition("\n## The kind tier\n")[2]
    block = re.search(r"^```console\n(.*?)^```$", tier, re.MULTILINE | re.DOTALL)
    assert block is not None
    for line in block[1].splitlines():
        if line.startswith("$ "):
            yield line.removeprefix("$ ").partition("  #")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a line has led to."""

    said: str
    kind: KindCluster

    def runs(self, name: str) -> bool:
        return self.kind.engine.state_of(self.kind.node(name).name) == "running"

    def measured_all(self) -> bool:
        rows = {tuple(line.split()[:2]) for line in self.said.splitlines()}
        is_whole = set(permutations(self.kind.domains, 2)) <= rows
        return is_whole and f"==> by {self.kind.means}" in self.said

    def has(self, links: dict[tuple[str, str], Link]) -> bool:
        return self.kind.links == Links(links=links)


NEAR, FAR = Link(latency_s=0.01), Link(latency_s=0.025)
THERE = Link(latency_s=0.005, jitter_s=0.001, loss=0.005)
BACK = Link(latency_s=0.04, jitter_s=0.001, loss=0.005)
FIRST = {("a", "b"): NEAR, ("b", "a"): NEAR}
CHECKS: dict[str, Callable[[Seen], bool]] = {
    "bed latency a b 10ms": lambda it: it.has(FIRST) and it.measured_all(),
    "bed latency a c 5ms --back 40ms --jitter 1ms --loss 0.5": lambda it: it.has(
        {**FIRST, ("a", "c"): THERE, ("c", "a"): BACK}
    ),
    'echo "a,d,0.025" >links.csv': lambda it: it.said == "",
    "bed latency links.csv": lambda it: it.has({("a", "d"): FAR}),
    "bed latency": lambda it: it.measured_all(),
    "bed latency off": lambda it: it.has({}) and it.measured_all(),
    "bed partition a b; bed heal": lambda it: it.kind.partitions == (),
    "bed sleep b-0; bed wake b-0": lambda it: it.runs("b-0"),
    "bed crash b-1; bed start b-1": lambda it: it.runs("b-1"),
    "bed status": lambda it: all(node.name in it.said for node in it.kind.nodes),
}
"""What each line leads to. A line that the document gains or loses is one here too."""


def test_what_the_document_shows_does_what_it_says(whole: KindCluster, tmp_path: Path) -> None:
    first, *lines, last = shown_lines()
    activate, bed, *verbs = lines
    assert (first, activate, last) == ("make kind", ". .venv/bin/activate", "make kind-down")
    assert bed.count(MODULE) == 1
    # Word for word, but on this cluster.
    bed = bed.replace(MODULE, f"{MODULE} --name {whole.name}")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    assert verbs == list(CHECKS)
    for line in verbs:
        done = subprocess.run(
            ["bash", "-euc", f"{bed}\n{line}"],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert CHECKS[line](Seen(said=done.stdout, kind=whole)), f"{line}: {done.stdout}"
