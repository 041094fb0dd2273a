"""What is installed by apt-get, when, and what is said where it may not be."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from thalweg_testbed.docker import packages
from thalweg_testbed.docker.host import Host
from thalweg_testbed.errors import CommandFailed, NotPossible

ROOT = Host(is_linux=True, is_root=True, is_debian=True, has_sys_resource=True, has_cgroup_v2=True)
WANTED = {"dockerd": "docker.io", "docker": "docker.io", "containerd": "containerd"}


class FakeDebian:
    """Packages that can be installed, and the programs that they bring."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.present: set[str] = set()
        self.offered = {"docker.io", "containerd"}
        self.has_lists = True
        self.done: list[str] = []
        monkeypatch.setattr(packages, "_find", lambda name: name if name in self.present else None)
        monkeypatch.setattr(packages, "call", self.call)

    def call(self, command: Sequence[str], **_: object) -> str:
        """Stand in for apt-get and dpkg."""
        verb = next(word for word in command if word in {"--configure", "install", "update"})
        chosen = command[command.index("install") + 1 :] if verb == "install" else []
        self.done.append(" ".join([verb.strip("-"), *chosen]))
        if verb == "update":
            self.has_lists = True
        if verb == "install" and not self.has_lists:
            raise CommandFailed("E: Unable to locate package docker.io")
        self.present |= {n for n, p in WANTED.items() if p in chosen and p in self.offered}
        return ""


@pytest.fixture
def debian(monkeypatch: pytest.MonkeyPatch) -> FakeDebian:
    return FakeDebian(monkeypatch)


def require(host: Host, lines: list[str]) -> None:
    packages.require(host, WANTED, purpose="to start a Docker daemon", report=lines.append)


def test_what_is_there_is_not_installed(debian: FakeDebian) -> None:
    debian.present = set(WANTED)
    lines: list[str] = []
    require(replace(ROOT, is_root=False), lines)
    assert (debian.done, lines) == ([], [])


def test_root_on_debian_gets_what_is_missing_and_is_told(debian: FakeDebian) -> None:
    debian.present = {"docker"}
    lines: list[str] = []
    require(ROOT, lines)
    assert debian.done == ["configure", "install containerd docker.io"]
    assert lines == [
        "==> installing containerd, docker.io by apt-get, to start a Docker daemon",
    ]
    assert debian.present == set(WANTED)


def test_old_lists_of_packages_are_brought_up_to_date_once(debian: FakeDebian) -> None:
    debian.has_lists = False
    require(ROOT, [])
    install = "install containerd docker.io"
    assert debian.done == ["configure", install, "update", install]


def test_packages_that_do_not_bring_it_are_an_error(debian: FakeDebian) -> None:
    debian.offered = {"docker.io"}
    with pytest.raises(NotPossible, match="containerd still missing after installing"):
        require(ROOT, [])


@pytest.mark.parametrize("lack", ["is_root", "is_debian"])
def test_nobody_else_gets_anything_installed(debian: FakeDebian, lack: str) -> None:
    lines: list[str] = []
    with pytest.raises(NotPossible) as raised:
        require(replace(ROOT, **{lack: False}), lines)
    assert str(raised.value) == (
        "containerd, docker, dockerd missing, needed to start a Docker daemon: install them"
        " (Debian: sudo apt-get install containerd docker.io), or run this as root on Debian,"
        " which installs them"
    )
    assert (debian.done, lines) == ([], [])
