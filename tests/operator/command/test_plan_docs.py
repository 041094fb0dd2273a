"""What docs/planning-offline.md shows is what the command prints."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from thalweg_commands import Thalweg

PAGE = Path(__file__).parents[3] / "docs" / "planning-offline.md"
FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One command of the page, what it prints, and its exit code if that is told."""

    command: str
    prints: str
    code: int


def examples() -> list[Example]:
    found = []
    for block in CONSOLE.findall(PAGE.read_text()):
        parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
        said = dict(zip(parts[::2], parts[1::2], strict=True))
        code = int(said.pop("echo $?", "0"))
        found += [Example(command=line, prints=text, code=code) for line, text in said.items()]
    return found


def is_like(pattern: str, text: str) -> bool:
    """Whether the text is as the page has it, `…` standing for anything."""
    parts = [re.escape(part.strip()) for part in pattern.split("…")]
    return re.fullmatch(r"\s*.*?\s*".join(parts), text.strip(), flags=re.DOTALL) is not None


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.command)
def test_an_example_prints_what_the_page_says(
    thalweg: Thalweg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Example
) -> None:
    for name, text in FILE.findall(PAGE.read_text()):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    name, *words = example.command.split()
    assert name == "thalweg"
    run = thalweg(*words)
    told = "\n".join(line.rstrip() for line in (run.out + run.err).splitlines())
    assert run.code == example.code
    assert is_like(example.prints, told), told


def test_the_page_has_examples_of_each_exit_code() -> None:
    assert {example.code for example in examples()} == {0, 2, 3}
