"""The house keeps its shape: holders, names, sizes, and nothing of anyone's machine in it."""

import ast
import functools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOLDERS = {
    "operator": {"thalweg_operator"},
    "scheduling": {"thalweg_scheduling"},
    "spark": {"thalweg_spark"},
    "runtime": {"thalweg_runtime"},
    "testbed": {"thalweg_testbed", "go"},
}
FILE_LINES = 400
FUNCTION_LINES = 50
VAGUE = re.compile(r"(utils?|helpers?|common|base|managers?|misc)")
MACHINE_PATH = re.compile(r"(?:^|[\s\"'`=(:,]|file://)/(?:work|root)(?:/|\b)", re.MULTILINE)
INDEX_OPTION = re.compile(r"--(?:extra-)?index-url[ =]|--find-links[ =]|--trusted-host[ =]")
INDEX_VARIABLES = (
    "GOPROXY",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
)
PUBLIC_HOSTS = {"pypi.org", "files.pythonhosted.org", "proxy.golang.org", "localhost", "127.0.0.1"}


@functools.cache
def project_files() -> tuple[Path, ...]:
    """Every file that is in Git or about to be, relative to the root."""
    # In a container the checkout may belong to another user.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-c", "-o", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(listing.stdout.split("\0")) - {""})
    return tuple(Path(name) for name in names if (ROOT / name).is_file())


def python_files() -> Iterator[Path]:
    return (path for path in project_files() if path.suffix == ".py")


def texts() -> Iterator[tuple[Path, str]]:
    """Files that are text, with their text."""
    for path in project_files():
        try:
            yield path, (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_holder_holds_its_package_and_a_readme(holder: str) -> None:
    inside = {path.parts[1] for path in project_files() if path.parts[0] == holder}
    assert inside - {"README.md"} <= HOLDERS[holder]
    assert f"thalweg_{holder}" in inside


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_holder_is_no_package(holder: str) -> None:
    assert not (ROOT / holder / "__init__.py").exists()


def test_tests_are_no_packages() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_test_files_have_names_of_their_own() -> None:
    names = Counter(path.name for path in python_files() if path.parts[0] == "tests")
    assert [name for name, count in names.items() if count > 1 and name != "conftest.py"] == []


@pytest.mark.parametrize("options", [[], ["-S"]], ids=["site", "no site"])
def test_a_child_in_the_root_gets_the_standard_operator(options: list[str]) -> None:
    code = "import operator, sys; print(operator.itemgetter(0)([operator.__file__]))"
    child = subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = Path(child.stdout.strip())
    assert found.name == "operator.py"
    assert not found.is_relative_to(ROOT / "operator")


def test_files_are_short() -> None:
    long = [
        f"{path}: {count}"
        for path in python_files()
        if (count := len((ROOT / path).read_text().splitlines())) > FILE_LINES
    ]
    assert long == []


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` on, the docstring apart."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def test_length_leaves_decorators_and_docstring_out() -> None:
    tree = ast.parse('@mark\n@mark\ndef f():\n    """One.\n\n    Two.\n    """\n    return 1\n')
    assert [length_of(node) for node in tree.body if isinstance(node, ast.FunctionDef)] == [2]


def test_functions_are_short() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}: {length_of(node)}"
        for path in python_files()
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and length_of(node) > FUNCTION_LINES
    ]
    assert long == []


def test_modules_have_names_that_say_something() -> None:
    stems = {path: path.stem for path in python_files()}
    assert [path for path, stem in stems.items() if VAGUE.fullmatch(stem)] == []


def test_no_module_is_called_like_one_of_the_standard_library() -> None:
    shadowing = {
        path
        for path in python_files()
        if path.parts[0] in HOLDERS
        for name in (*path.parts[1:-1], path.stem)
        if name in sys.stdlib_module_names
    }
    assert shadowing == set()


def test_no_file_names_a_path_of_a_machine() -> None:
    assert [path for path, text in texts() if MACHINE_PATH.search(text)] == []


def test_the_guard_against_machine_paths_sees_them() -> None:
    home = "/" + "root"
    assert MACHINE_PATH.search(f"see {home}/notes")
    assert MACHINE_PATH.search(f'open("{home}")')
    assert not MACHINE_PATH.search("the net/" + "work of nodes")


def index_hosts() -> set[str]:
    """Hosts that this machine's package tools are told to use, the public ones apart."""
    words = " ".join(os.environ.get(name, "") for name in INDEX_VARIABLES)
    hosts = {urlsplit(word).hostname for word in re.split(r"[\s,|]+", words) if "://" in word}
    return {host for host in hosts if host} - PUBLIC_HOSTS


def test_no_file_names_a_package_mirror() -> None:
    hosts = index_hosts()
    named = {
        path
        for path, text in texts()
        if INDEX_OPTION.search(text) or any(host in text for host in hosts)
    }
    assert named == set()


def test_locks_have_hashes_and_no_address() -> None:
    locks = [path for path in project_files() if path.parts[0] == "locks" and path.suffix == ".txt"]
    assert locks
    for path in locks:
        text = (ROOT / path).read_text()
        assert "://" not in text, path
        pinned = re.findall(r"^\S+==\S+", text, re.MULTILINE)
        hashed = re.findall(r"^\S+==[^\n]*\\\n\s+--hash=sha256:", text, re.MULTILINE)
        assert len(pinned) == len(hashed) > 0, path
