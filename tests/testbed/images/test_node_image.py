"""Which node image is taken: the user's, the published one, the one made before, a new one."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.host import Host
from thalweg_testbed.docker.packages import require
from thalweg_testbed.errors import CommandFailed, NotPossible
from thalweg_testbed.images import node
from thalweg_testbed.images.builtin import program_of
from thalweg_testbed.images.debian import debian_tar, scratch_directory

FAKE = """\
#!/bin/sh
# Stands in for docker: writes down what it is asked, and answers from files.
echo "$*" >>"{home}/asked"
case "$1" in
image) [ -e "{home}/has-$4" ] || [ -e "{home}/has" ] && echo sha256:1; exit 0 ;;
pull) [ -e "{home}/registry" ] || {{ echo "no such host" >&2; exit 1; }} ;;
esac
"""
HOST = Host(is_linux=True, is_root=False, is_debian=True, has_sys_resource=True, has_cgroup_v2=True)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "docker"
    home.mkdir()
    program = home / "docker"
    program.write_text(FAKE.format(home=home))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    monkeypatch.delenv("THALWEG_NODE_IMAGE", raising=False)
    return home


def find(cache: Path, lines: list[str], host: Host = HOST) -> str:
    return node.find_node_image(Engine(), cache=cache, host=host, report=lines.append)


def asked(docker: Path) -> list[str]:
    log = docker / "asked"
    return log.read_text().splitlines() if log.exists() else []


def test_the_users_own_image_comes_first(
    docker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THALWEG_NODE_IMAGE", "mine:1")
    assert find(tmp_path, []) == "mine:1"
    assert asked(docker) == []


def test_the_published_image_is_not_pulled_again(docker: Path, tmp_path: Path) -> None:
    (docker / "has").touch()
    assert find(tmp_path, []) == node.PUBLISHED
    assert not any(line.startswith("pull") for line in asked(docker))


def test_where_a_registry_answers_the_image_is_pulled(docker: Path, tmp_path: Path) -> None:
    (docker / "registry").touch()
    assert find(tmp_path, []) == node.PUBLISHED


def test_where_none_answers_it_is_said_and_one_is_made(
    docker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "_make", lambda *_, **__: "made:1")
    lines: list[str] = []
    assert find(tmp_path, lines) == "made:1"
    assert any("NOT RUN: kindest/node:v1.34.0 cannot be pulled here" in line for line in lines)
    # The next time the registry is not asked again.
    (docker / "asked").unlink()
    assert find(tmp_path, []) == "made:1"
    assert not any(line.startswith("pull") for line in asked(docker))


@pytest.mark.parametrize("state", ["has", "registry"])
def test_without_the_capability_the_published_image_is_not_taken(
    docker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    (docker / state).touch()
    reasons: list[str] = []

    def make(*_: object, why: str, **__: object) -> str:
        reasons.append(why)
        return "made:1"

    monkeypatch.setattr(node, "_make", make)
    assert find(tmp_path, [], replace(HOST, has_sys_resource=False)) == "made:1"
    assert reasons == ["kindest/node:v1.34.0 needs CAP_SYS_RESOURCE, which is not here"]
    # Nothing is learnt about a registry, which pods' images may be pulled from.
    assert not (tmp_path / "images" / "no-registry").exists()


def test_why_an_image_is_made_is_said_when_it_is(
    docker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {"kubelet": tmp_path / "nodes-0123" / "kubelet"}
    monkeypatch.setattr(node, "find_binaries", lambda *_, **__: programs)
    lines: list[str] = []
    with pytest.raises(NotPossible):
        find(tmp_path, lines, replace(HOST, has_sys_resource=False))
    (line,) = lines
    assert "needs CAP_SYS_RESOURCE, which is not here: making a node image" in line
    (docker / "has").touch()
    lines.clear()
    assert find(tmp_path, lines, replace(HOST, has_sys_resource=False)).startswith("thalweg-node:")
    assert lines == []


def test_making_one_needs_root(tmp_path: Path) -> None:
    with pytest.raises(NotPossible, match=r"needs root: .* set THALWEG_NODE_IMAGE"):
        debian_tar(["systemd"], cache=tmp_path, host=HOST, report=print)


def test_what_is_missing_is_named_with_its_package() -> None:
    wanted = {"no-such-program": "its-package", "sh": "dash"}
    with pytest.raises(NotPossible) as raised:
        require(HOST, wanted, purpose="to show it", report=print)
    assert str(raised.value) == (
        "no-such-program missing, needed to show it: install them (Debian: sudo apt-get install"
        " its-package), or run this as root on Debian, which installs them"
    )


@pytest.mark.parametrize(
    ("image", "program"),
    [
        ("registry.k8s.io/kube-apiserver:v1.34.2", "kube-apiserver"),
        ("registry.k8s.io/coredns/coredns:v1.12.1", "coredns"),
        ("registry.k8s.io/pause:3.10", "pause"),
        ("localhost:5000/etcd:3", "etcd"),
    ],
)
def test_an_image_is_named_after_its_program(image: str, program: str) -> None:
    assert program_of(image) == program


def test_directories_of_killed_builds_are_removed(tmp_path: Path) -> None:
    # No process can have this id.
    old = tmp_path / f"scratch-{2**22 + 1}-x"
    (old / "root").mkdir(parents=True)
    own = tmp_path / f"scratch-{os.getpid()}-y"
    own.mkdir()
    with scratch_directory(tmp_path) as directory:
        assert directory.is_dir()
        assert not old.exists()
        assert own.exists()
    assert not directory.exists()


def test_a_failing_docker_is_told_in_its_own_words(docker: Path) -> None:
    with pytest.raises(CommandFailed, match="no such host"):
        Engine().run("pull", "x")


def test_only_our_own_daemon_gets_a_host() -> None:
    assert "DOCKER_HOST" not in Engine().environment
    ours = Engine(host="unix:///x.sock")
    assert ours.is_ours
    assert ours.environment["DOCKER_HOST"] == "unix:///x.sock"
