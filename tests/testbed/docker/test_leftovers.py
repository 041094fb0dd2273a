"""What a killed Docker left in control groups, of version 1 and 2."""

import os
from pathlib import Path

import pytest

from thalweg_testbed.docker import leftovers

GROUP = "/thalweg-docker"
TREES = {
    # One tree for each controller, and freezing is one of them.
    "v1": {"memory": "cgroup.procs", "freezer": "freezer.state", "unified": "cgroup.procs"},
    "v2": {"": "cgroup.freeze"},
}
FROZEN = {"freezer.state": "FROZEN", "cgroup.freeze": "1"}
THAWED = {"freezer.state": "THAWED", "cgroup.freeze": "0"}


class FakeGroups:
    """Control groups of one version in a directory."""

    def __init__(self, home: Path, version: str) -> None:
        self.tops = [home / tree / GROUP.strip("/") for tree in TREES[version]]
        self.switches = []
        for top, tree in zip(self.tops, TREES[version], strict=True):
            container = top / "node" / "kubelet"
            container.mkdir(parents=True)
            (top / "cgroup.procs").write_text("")
            (top / "node" / "cgroup.procs").write_text("101\n0\n")
            (container / "cgroup.procs").write_text("102\n")
            name = TREES[version][tree]
            if name in FROZEN:
                (top / "node" / name).write_text(FROZEN[name])
                self.switches.append(top / "node" / name)
        # Somebody else's containers.
        for tree in TREES[version]:
            other = home / tree / "docker" / "other"
            other.mkdir(parents=True)
            (other / "cgroup.procs").write_text("201\n")
            for name, value in FROZEN.items():
                (other / name).write_text(value)
        self.others = [home / tree / "docker" / "other" for tree in TREES[version]]


@pytest.fixture(params=["v1", "v2"])
def groups(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> FakeGroups:
    monkeypatch.setattr(leftovers, "_GROUPS", tmp_path)
    return FakeGroups(tmp_path, request.param)


def test_our_groups_are_found_in_every_tree(groups: FakeGroups) -> None:
    assert set(leftovers._group_directories(GROUP)) == set(groups.tops)


def test_processes_of_ours_are_found_at_any_depth(groups: FakeGroups) -> None:
    assert set(leftovers._by_group(GROUP)) == {101, 102}


def test_what_is_frozen_is_let_go_and_nobody_elses(groups: FakeGroups) -> None:
    assert len(groups.switches) == 1
    leftovers._thaw(GROUP)
    (switch,) = groups.switches
    assert switch.read_text() == THAWED[switch.name]
    for other in groups.others:
        assert {name: (other / name).read_text() for name in FROZEN} == FROZEN


def test_empty_groups_are_removed_and_others_stay(groups: FakeGroups) -> None:
    # The kernel's files in a group do not keep it from being removed; here they would.
    for top in groups.tops:
        for file in [path for path in top.rglob("*") if path.is_file()]:
            file.unlink()
    leftovers.remove_groups(GROUP)
    assert not any(top.exists() for top in groups.tops)
    assert all(other.exists() for other in groups.others)


def test_a_group_that_is_in_use_is_left(groups: FakeGroups) -> None:
    leftovers.remove_groups(GROUP)
    assert all(top.exists() for top in groups.tops)


def test_they_are_killed_until_none_is_left(
    groups: FakeGroups, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(leftovers, "_PROC", tmp_path / "proc")
    (tmp_path / "proc").mkdir()
    killed: list[int] = []

    def kill(pid: int) -> None:
        """As the kernel: what is frozen dies only when it is let go."""
        assert pid != os.getpid()
        killed.append(pid)
        if all(file.read_text() == THAWED[file.name] for file in groups.switches):
            for top in groups.tops:
                for file in top.rglob("cgroup.procs"):
                    file.write_text(file.read_text().replace(f"{pid}\n", ""))

    monkeypatch.setattr(leftovers, "_kill", kill)
    assert leftovers.remove_processes(tmp_path / "run", GROUP) == 2
    assert sorted(set(killed)) == [101, 102]
    assert len(killed) > 2, "once was not enough: they were frozen"
