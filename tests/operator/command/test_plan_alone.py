"""Planning needs the base installation only, and `--help` not even numpy."""

import subprocess
import sys
from pathlib import Path

import pytest

EXTRAS = ("kopf", "kubernetes", "pyspark", "pyarrow", "prometheus_client", "aiohttp")
SCRIPT = """
import sys
class Closed:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Closed())
from thalweg_operator.command import main
sys.argv = ["thalweg", *{words!r}]
main()
"""


def run_without(forbidden: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command where some packages are not installed."""
    code = SCRIPT.format(forbidden=forbidden, words=words)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["plan", "compare"])
def test_no_extra_is_needed(word_count: Path, command: str) -> None:
    files = (str(word_count / "topology.yaml"), "--nodes", str(word_count / "nodes.yaml"))
    run = run_without(EXTRAS, command, *files)
    assert run.returncode == 0, run.stderr
    assert "Auto" in run.stdout


def test_help_imports_nothing_that_takes_long() -> None:
    run = run_without((*EXTRAS, "numpy", "scipy", "networkx", "numba"), "plan", "--help")
    assert run.returncode == 0, run.stderr
    assert "--latency" in run.stdout
