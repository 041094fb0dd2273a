"""The cache of built programs: what makes a build new, and what never counts as one."""

import subprocess
import sys
from pathlib import Path

import pytest

from thalweg_testbed.binaries import PROGRAMS, Program, Toolchain, build_key, find_binaries
from thalweg_testbed.errors import BuildFailed
from thalweg_testbed.waiting import eventually

FAKE_GO = str(Path(__file__).with_name("fake_go"))
TOOLCHAIN = Toolchain(go="go", identity="go1.26.1 linux/amd64")
TWO = (
    Program(name="one", module="kubernetes", package="example.org/one"),
    Program(name="two", module="kubernetes", package="example.org/two"),
)


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    module = tmp_path / "go" / "kubernetes"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module example.org/m\n\ngo 1.25.0\n")
    (module / "go.sum").write_text("example.org/one v1.0.0 h1:abc=\n")
    (module / "main.go").write_text("package main\n")
    return tmp_path / "go"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file in which the fake Go counts its builds."""
    path = tmp_path / "calls"
    path.touch()
    monkeypatch.setenv("FAKE_GO_CALLS", str(path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return path


def _find(modules: Path, **kwargs: object) -> dict[str, Path]:
    lines: list[str] = []
    options = {"cache": modules.parent / "cache", "go": FAKE_GO, "report": lines.append, **kwargs}
    return dict(find_binaries(TWO, modules=modules, **options))  # type: ignore[arg-type]


def test_builds_each_program_once(modules: Path, calls: Path) -> None:
    first = _find(modules)
    second = _find(modules)
    assert first == second
    assert calls.read_text().split() == ["example.org/one", "example.org/two"]
    assert first["two"].read_text() == "whole example.org/two\n"


def test_shows_progress(modules: Path, calls: Path) -> None:
    lines: list[str] = []
    _find(modules, report=lines.append)
    assert [line.split(" into ")[0] for line in lines if line.startswith("==>")] == [
        "==> building one (1 of 2)",
        "==> building two (2 of 2)",
    ]


@pytest.mark.parametrize("changed", ["go.mod", "go.sum", "main.go"])
def test_a_changed_file_changes_the_key(modules: Path, changed: str) -> None:
    module = modules / "kubernetes"
    before = build_key(module, TOOLCHAIN)
    path = module / changed
    path.write_text(path.read_text() + "\n")
    assert build_key(module, TOOLCHAIN) != before


def test_another_go_changes_the_key(modules: Path) -> None:
    other = Toolchain(go="go", identity="go1.26.2 linux/amd64")
    module = modules / "kubernetes"
    assert build_key(module, TOOLCHAIN) != build_key(module, other)


def test_where_go_is_does_not_change_the_key(modules: Path) -> None:
    elsewhere = Toolchain(go="/opt/go/bin/go", identity=TOOLCHAIN.identity)
    module = modules / "kubernetes"
    assert build_key(module, TOOLCHAIN) == build_key(module, elsewhere)


def test_other_files_beside_do_not_change_the_key(modules: Path) -> None:
    module = modules / "kubernetes"
    before = build_key(module, TOOLCHAIN)
    (module / "README.md").write_text("nothing that Go reads")
    assert build_key(module, TOOLCHAIN) == before


def test_a_new_version_is_built_beside_the_old_one(modules: Path, calls: Path) -> None:
    old = _find(modules)
    (modules / "kubernetes" / "go.sum").write_text("example.org/one v1.0.1 h1:def=\n")
    new = _find(modules)
    assert new["one"] != old["one"]
    assert old["one"].exists()
    assert len(calls.read_text().split()) == 4


def test_a_failed_build_leaves_nothing_that_counts(
    modules: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAIL", "1")
    with pytest.raises(BuildFailed, match="this does not compile"):
        _find(modules)
    monkeypatch.delenv("FAKE_GO_FAIL")
    assert _find(modules)["one"].read_text() == "whole example.org/one\n"


def test_a_build_that_was_killed_half_way_does_not_count(
    modules: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = modules.parent / "hanging"
    monkeypatch.setenv("FAKE_GO_HANG", str(hanging))
    script = (
        "from pathlib import Path; from thalweg_testbed.binaries import *; "
        "find_binaries([Program(name='one', module='kubernetes', package='example.org/one')], "
        f"cache=Path({str(modules.parent / 'cache')!r}), go={FAKE_GO!r}, "
        f"modules=Path({str(modules)!r}))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as builder:
        eventually(hanging.exists, what="the build half done")
        builder.kill()
    (partial,) = (modules.parent / "cache").glob("bin/*/.partial-one")
    assert partial.read_text() == "half"
    monkeypatch.delenv("FAKE_GO_HANG")
    assert _find(modules)["one"].read_text() == "whole example.org/one\n"
    assert not partial.exists()


def test_two_builders_do_not_build_twice(modules: Path, calls: Path) -> None:
    script = (
        "from pathlib import Path; from thalweg_testbed.binaries import *; "
        "find_binaries([Program(name='one', module='kubernetes', package='example.org/one')], "
        f"cache=Path({str(modules.parent / 'cache')!r}), go={FAKE_GO!r}, "
        f"modules=Path({str(modules)!r}))"
    )
    builders = [
        subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [builder.wait(60) for builder in builders] == [0, 0]
    assert calls.read_text().split() == ["example.org/one"]


def test_without_go_says_so_in_one_line(modules: Path, calls: Path) -> None:
    with pytest.raises(BuildFailed) as caught:
        _find(modules, go="no-such-go")
    assert str(caught.value) == (
        "no `no-such-go` on the PATH: the test bed is built with Go 1.25.0 or later "
        "(https://go.dev/dl)"
    )


@pytest.mark.parametrize("version", ["go1.24.9", "go1.9", "go1.21rc2"])
def test_an_old_go_is_named(
    modules: Path, calls: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", version)
    with pytest.raises(BuildFailed, match=rf"is {version}: .* 1\.25\.0 or later"):
        _find(modules)


@pytest.mark.parametrize("version", ["go1.25.0", "go1.25rc1", "go1.26.1 X:nodwarf5", "go2.0"])
def test_a_recent_go_will_do(
    modules: Path, calls: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", version)
    assert set(_find(modules)) == {"one", "two"}


def test_a_go_that_refuses_the_module_is_quoted(
    modules: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_REFUSES", "1")
    with pytest.raises(BuildFailed, match=r"go\.mod requires go >= 1\.25\.0 .*go\.dev/dl"):
        _find(modules)


def test_the_users_assets_come_first_and_the_rest_is_built(
    modules: Path, calls: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kube-apiserver"):
        (assets / name).touch(mode=0o755)
    (assets / "kubectl").touch(mode=0o644)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    programs = [program for program in PROGRAMS if program.module == "kubernetes"]
    found = find_binaries(
        programs, cache=tmp_path / "cache", go=FAKE_GO, modules=modules, report=lambda _: None
    )
    assert {name for name, path in found.items() if path.parent == assets} == {
        "etcd",
        "kube-apiserver",
    }
    assert calls.read_text().split() == [
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
        "k8s.io/kubernetes/cmd/kubectl",
    ]
