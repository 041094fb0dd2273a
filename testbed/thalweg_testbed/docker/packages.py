"""Debian packages that are missing: installed as root, and said so; otherwise asked for."""

import shutil

from thalweg_testbed.binaries import Report
from thalweg_testbed.commands import call
from thalweg_testbed.docker.host import Host
from thalweg_testbed.errors import CommandFailed, NotPossible

__all__ = ["require"]

_INSTALL_S = 900.0
_APT = ("apt-get", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends")
_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive"}
# Debian puts some of these where only root's PATH leads.
_PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def require(host: Host, programs: dict[str, str], *, purpose: str, report: Report) -> None:
    """See to it that programs (each with the Debian package that has it) are there."""
    missing = {name: package for name, package in programs.items() if not _find(name)}
    if not missing:
        return
    packages = sorted(set(missing.values()))
    if not (host.is_root and host.is_debian):
        names, wanted = ", ".join(sorted(missing)), " ".join(packages)
        raise NotPossible(
            f"{names} missing, needed {purpose}: install them (Debian: sudo apt-get install"
            f" {wanted}), or run this as root on Debian, which installs them"
        )
    report(f"==> installing {', '.join(packages)} by apt-get, {purpose}")
    _install(packages)
    left = sorted(name for name in missing if not _find(name))
    if left:
        raise NotPossible(f"{', '.join(left)} still missing after installing {packages}")


def _install(packages: list[str]) -> None:
    # A run that was killed may have left packages half-configured; then nothing installs.
    call(["dpkg", "--configure", "-a"], env=_ENVIRONMENT, timeout_s=_INSTALL_S)
    install = [*_APT, "install", *packages]
    try:
        call(install, env=_ENVIRONMENT, timeout_s=_INSTALL_S)
    except CommandFailed:
        # The package lists may be missing or old.
        call([*_APT, "update"], env=_ENVIRONMENT, timeout_s=_INSTALL_S)
        call(install, env=_ENVIRONMENT, timeout_s=_INSTALL_S)


def _find(program: str) -> str | None:
    return shutil.which(program) or shutil.which(program, path=_PLACES)
