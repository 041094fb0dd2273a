"""What the bed finds out about the machine that it is on."""

from pathlib import Path

import pytest

from thalweg_testbed.docker.host import (
    SYS_RESOURCE,
    has_capability,
    has_unified_groups,
    raise_limits,
)
from thalweg_testbed.docker.leftovers import mounts_below


@pytest.mark.parametrize(
    ("bounding", "expected"),
    [("000001ffffffffff", True), ("000001fffeffffff", False), ("0000000001000000", True)],
)
def test_a_capability_is_a_bit_of_the_bounding_set(bounding: str, *, expected: bool) -> None:
    status = f"Name:\tx\nCapEff:\t0000000000000000\nCapBnd:\t{bounding}\n"
    assert has_capability(status, SYS_RESOURCE) is expected


def test_no_status_is_no_capability() -> None:
    assert not has_capability("", SYS_RESOURCE)


def test_control_groups_of_version_two_list_their_controllers(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    assert not has_unified_groups(tmp_path)
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    assert has_unified_groups(tmp_path)


def write_limits(directory: Path, instances: int, watches: int) -> None:
    (directory / "max_user_instances").write_text(f"{instances}\n")
    (directory / "max_user_watches").write_text(f"{watches}\n")


def test_low_limits_are_raised_and_high_ones_left(tmp_path: Path) -> None:
    write_limits(tmp_path, 128, 2_000_000)
    assert raise_limits(tmp_path) == []
    assert (tmp_path / "max_user_instances").read_text() == "8192\n"
    assert (tmp_path / "max_user_watches").read_text() == "2000000\n"


def test_a_limit_that_cannot_be_raised_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_limits(tmp_path, 128, 2_000_000)

    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refuse)
    (complaint,) = raise_limits(tmp_path)
    assert "fs.inotify.max_user_instances is 128" in complaint
    assert "sudo sysctl -w fs.inotify.max_user_instances=8192" in complaint


def test_a_machine_without_such_limits_is_fine(tmp_path: Path) -> None:
    assert raise_limits(tmp_path / "none") == []


def test_only_mounts_of_ours_are_detached_the_innermost_first() -> None:
    text = (
        "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "30 22 0:25 / /run rw - tmpfs tmpfs rw\n"
        "40 30 0:40 / /run/thalweg-docker/a rw - tmpfs x rw\n"
        "41 40 0:41 / /run/thalweg-docker/a/b\\040c rw - overlay overlay rw\n"
        "42 30 0:42 / /run/thalweg-docker-other rw - tmpfs x rw\n"
    )
    assert mounts_below(text, [Path("/run/thalweg-docker")]) == [
        Path("/run/thalweg-docker/a/b c"),
        Path("/run/thalweg-docker/a"),
    ]
