"""The `thalweg` command itself: help, version, errors, and what it imports."""

import os
import subprocess
import sys

import pytest

from thalweg_operator.command.operating import parse_overrides
from thalweg_operator.errors import InvalidSettings


def thalweg(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    program = f"{code}\nfrom thalweg_operator.command import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


def test_help_names_the_commands() -> None:
    done = thalweg("--help")
    assert done.returncode == 0
    assert "operator" in done.stdout
    assert "version" in done.stdout


def test_version() -> None:
    assert thalweg("version").stdout.startswith("thalweg 0.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "nothing"), "--set nothing: expected NAME=VALUE"),
        (("--set", "leese.name=x"), "leese is no setting; did you mean lease?"),
        (("--settings", "/nowhere.yaml"), "cannot read the settings file /nowhere.yaml"),
        (("--kubeconfig", "/nowhere"), "cannot connect to a cluster by /nowhere"),
    ],
)
def test_wrong_input_is_one_line_and_code_two(arguments: tuple[str, ...], said: str) -> None:
    done = thalweg("operator", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("thalweg: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {'kopf', 'kubernetes', 'urllib3', 'prometheus_client'}:
            raise ModuleNotFoundError(f'No module named {name}', name=name)
sys.meta_path.insert(0, Block())
"""


def test_the_base_installation_answers_without_the_operators_extra() -> None:
    assert thalweg("--help", code=BLOCK).returncode == 0
    assert thalweg("version", code=BLOCK).returncode == 0


def test_the_missing_extra_is_named() -> None:
    done = thalweg("operator", code=BLOCK)
    assert done.returncode == 2
    assert "pip install 'thalweg[operator]'" in done.stderr


def test_overrides() -> None:
    assert parse_overrides(["a.b=1", "c=x=y", "a.b=2"]) == {"a.b": "2", "c": "x=y"}
    with pytest.raises(InvalidSettings):
        parse_overrides(["=1"])
