"""Runs the command in this process, as a shell would."""

import sys
from pathlib import Path

import pytest

from thalweg_commands import Run, Thalweg
from thalweg_operator import command

FILES = Path(__file__).parent / "word-count"


@pytest.fixture
def thalweg(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Thalweg:
    """`thalweg("plan", path, ...)`; a wide terminal keeps every table on its lines."""
    monkeypatch.setenv("COLUMNS", "200")
    # Alone: planning and simulating must not lean on what other commands import.
    alone = ("thalweg_operator.command.planning", "thalweg_operator.command.simulating")
    monkeypatch.setattr(command, "COMMAND_MODULES", alone)

    def run(*words: object) -> Run:
        monkeypatch.setattr(sys, "argv", ["thalweg", *map(str, words)])
        with pytest.raises(SystemExit) as exit_:
            command.main()
        told = capsys.readouterr()
        code = exit_.value.code
        return Run(code=code if isinstance(code, int) else 0, out=told.out, err=told.err)

    return run


@pytest.fixture
def word_count() -> Path:
    """A directory with topology.yaml, nodes.yaml, latency.csv, rates.csv and loads.csv."""
    return FILES
