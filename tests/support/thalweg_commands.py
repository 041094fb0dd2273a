"""What a shell sees of the `thalweg` command, for tests that run it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a shell would see of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output, read as JSON."""
        return json.loads(self.out)


Thalweg: TypeAlias = Callable[..., Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """One wrong file, the line that is told, and a part of what is said."""

    text: str
    line: int
    says: str


def run_with(thalweg: Thalweg, directory: Path, option: str, path: Path) -> Run:
    """The command on right files, one of them replaced by the wrong one."""
    files: dict[str, Path] = {
        "": directory / "topology.yaml",
        "--nodes": directory / "nodes.yaml",
        "--latency": directory / "latency.csv",
        "--rates": directory / "rates.csv",
        "--loads": directory / "loads.csv",
    }
    files[option] = path
    words = [word for pair in files.items() for word in pair if word]
    return thalweg("plan", *words)
