"""What this machine is: read from /proc and /sys, parsed by pure functions."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Host", "has_capability", "has_unified_groups", "raise_limits", "read_host"]

SYS_RESOURCE = 24
"""CAP_SYS_RESOURCE: without it a privileged container cannot be started by an unchanged runc."""

_INOTIFY = {"max_user_instances": 8192, "max_user_watches": 1048576}
"""Every kubelet, containerd and systemd watches files; the usual limits are for one machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What decides how a Docker and its nodes are brought up here."""

    is_linux: bool
    is_root: bool
    is_debian: bool
    """Whether packages come by apt-get."""

    has_sys_resource: bool
    has_cgroup_v2: bool


def read_host() -> Host:
    """Look at this machine."""
    status = _read(Path("/proc/self/status"))
    return Host(
        is_linux=os.uname().sysname == "Linux",
        is_root=os.geteuid() == 0,
        is_debian=shutil.which("apt-get") is not None,
        has_sys_resource=has_capability(status, SYS_RESOURCE),
        has_cgroup_v2=has_unified_groups(),
    )


def has_unified_groups(directory: Path = Path("/sys/fs/cgroup")) -> bool:
    """Tell whether control groups are of version 2: only those have this file at their root."""
    return (directory / "cgroup.controllers").exists()


def has_capability(status: str, number: int) -> bool:
    """Tell from the text of /proc/<pid>/status whether a capability can be had at all."""
    for line in status.splitlines():
        if line.startswith("CapBnd:"):
            return bool(int(line.split()[1], 16) >> number & 1)
    return False


def raise_limits(directory: Path = Path("/proc/sys/fs/inotify")) -> list[str]:
    """Raise the limits on file watches; return one line for each that could not be raised."""
    complaints = []
    for name, wanted in _INOTIFY.items():
        path = directory / name
        try:
            present = int(path.read_text())
        except (OSError, ValueError):
            continue
        if present >= wanted:
            continue
        try:
            path.write_text(f"{wanted}\n")
        except OSError:
            complaints.append(
                f"fs.inotify.{name} is {present} and could not be raised: with more than about 8"
                f" nodes, kubelets may die; run `sudo sysctl -w fs.inotify.{name}={wanted}`"
            )
    return complaints


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
