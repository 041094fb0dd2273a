"""What our own Docker is told on each kind of machine, and what it says where it cannot be had."""

from dataclasses import replace
from pathlib import Path

import pytest

from thalweg_testbed.binaries import RUNC_FRONT
from thalweg_testbed.docker import daemon as module
from thalweg_testbed.docker.daemon import Daemon
from thalweg_testbed.docker.host import Host
from thalweg_testbed.errors import NotPossible

HOST = Host(is_linux=True, is_root=True, is_debian=True, has_sys_resource=True, has_cgroup_v2=False)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the names of the programs that were wanted; none is built."""
    names: list[str] = []

    def find(programs: list[object], **_: object) -> dict[str, Path]:
        names.extend(str(getattr(one, "name", "")) for one in programs)
        return {RUNC_FRONT.name: Path("/cache/runc-front")}

    monkeypatch.setattr(module, "find_binaries", find)
    return names


def test_with_the_capability_containers_are_runcs(tmp_path: Path, built: list[str]) -> None:
    settings = Daemon(tmp_path)._settings(HOST, print)
    assert "default-runtime" not in settings
    assert "runtimes" not in settings
    assert built == []


def test_without_it_they_are_our_fronts(tmp_path: Path, built: list[str]) -> None:
    settings = Daemon(tmp_path)._settings(replace(HOST, has_sys_resource=False), print)
    assert settings["default-runtime"] == "front"
    assert settings["runtimes"] == {"front": {"path": "/cache/runc-front"}}
    assert built == [RUNC_FRONT.name]


def test_all_of_it_is_apart_from_any_other_docker(tmp_path: Path, built: list[str]) -> None:
    settings = Daemon(tmp_path / "cache", runtime=tmp_path / "run" / "bed")._settings(HOST, print)
    assert settings["hosts"] == [f"unix://{tmp_path}/run/bed/docker.sock"]
    for name in ("exec-root", "pidfile"):
        assert str(settings[name]).startswith(f"{tmp_path}/run/bed/")
    assert settings["data-root"] == f"{tmp_path}/cache/docker/docker"
    # kind's nodes look for "docker" in their control group's name; the next start, for this one.
    assert settings["cgroup-parent"] == "/bed"
    assert settings["bridge"] == "none"
    assert "iptables" not in settings


def test_without_networks_the_packet_filter_is_left_alone(tmp_path: Path, built: list[str]) -> None:
    settings = Daemon(tmp_path, has_networks=False)._settings(HOST, print)
    assert [settings[name] for name in ("iptables", "ip-forward", "ip-masq")] == [False] * 3


@pytest.mark.parametrize("lack", ["is_linux", "is_root"])
def test_where_none_may_be_started_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lack: str
) -> None:
    monkeypatch.setattr(module, "require", lambda *_, **__: pytest.fail("nothing is installed"))
    with pytest.raises(NotPossible) as raised:
        Daemon(tmp_path).prepare(replace(HOST, **{lack: False}), print)
    assert str(raised.value) == (
        "no Docker answers: start Docker (https://docs.docker.com/engine/install),"
        " or run this as root on Debian, which installs and starts one of its own"
    )
