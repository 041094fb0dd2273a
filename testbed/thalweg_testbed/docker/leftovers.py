"""What a Docker of ours leaves when it is killed, found by names that only we use.

A daemon of ours and its shims have the path of our runtime directory in their command lines. Its
containers' processes are in our control group. Both are ended, mounts and directories removed.
Nothing else on the machine is touched.
"""

import ctypes
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from thalweg_testbed.errors import NotInTime

__all__ = ["mounts_below", "remove_groups", "remove_mounts", "remove_processes"]

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_DETACH = 2
_END_S = 60.0


def remove_processes(runtime: Path, group: str) -> int:
    """Kill what a daemon with this runtime directory and control group left; return how many."""
    killed: set[int] = set()
    deadline = time.monotonic() + _END_S
    while pids := {*_by_path(runtime), *_by_group(group)} - {os.getpid()}:
        if time.monotonic() > deadline:
            raise NotInTime(f"processes of a killed Docker do not end: {sorted(pids)}")
        for pid in pids:
            _kill(pid)
        killed |= pids
        _thaw(group)
        time.sleep(0.1)
    return len(killed)


def remove_mounts(*directories: Path) -> None:
    """Detach every mount below some directories, the innermost first."""
    text = (_PROC / "self/mountinfo").read_text()
    library = ctypes.CDLL(None, use_errno=True)
    for path in mounts_below(text, directories):
        library.umount2(os.fsencode(path), _DETACH)


def mounts_below(mountinfo: str, directories: Iterable[Path]) -> list[Path]:
    """Return the mount points below some directories, the latest first."""
    points = [Path(_unescaped(line.split()[4])) for line in mountinfo.splitlines() if line.strip()]
    wanted = list(directories)
    return [p for p in reversed(points) if any(p.is_relative_to(top) for top in wanted)]


def remove_groups(group: str) -> None:
    """Remove the empty control groups that killed containers left."""
    for top in _group_directories(group):
        for directory, _, _ in os.walk(top, topdown=False):
            # A group that the kernel still holds is left; it costs nothing and will be reused.
            _remove_directory(Path(directory))


def remove_tree(directory: Path) -> None:
    """Remove a directory of which all mounts are gone."""
    shutil.rmtree(directory, ignore_errors=True)


def _by_path(runtime: Path) -> Iterator[int]:
    needle = os.fsencode(runtime) + b"/"
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue
        # An editor or a pager that shows one of the files has the path in its words too.
        is_daemon = name.startswith(("dockerd", "containerd"))
        if is_daemon and any(needle in word for word in words[1:]):
            yield int(entry.name)


def _by_group(group: str) -> Iterator[int]:
    for top in _group_directories(group):
        for directory, _, _ in os.walk(top):
            try:
                text = (Path(directory) / "cgroup.procs").read_text()
            except OSError:
                continue
            # 0 stands for a process of another namespace.
            yield from (int(word) for word in text.split() if word != "0")


def _group_directories(group: str) -> Iterator[Path]:
    name = group.strip("/")
    candidates = [_GROUPS / name, *(path / name for path in _GROUPS.glob("*") if path.is_dir())]
    return (path for path in candidates if path.is_dir())


def _thaw(group: str) -> None:
    """Let frozen groups go: a process that a sleeping node holds cannot die."""
    for top in _group_directories(group):
        for path in [*top.rglob("freezer.state"), *top.rglob("cgroup.freeze")]:
            value = "THAWED" if path.name == "freezer.state" else "0"
            try:
                path.write_text(value)
            except OSError:
                continue


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _remove_directory(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        return


def _unescaped(word: str) -> str:
    """Mount points are written with blanks as octal numbers."""
    return word.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
