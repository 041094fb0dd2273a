"""Root file systems made of Debian packages, for machines that reach no image registry.

Each is kept as one tar file in the cache, under a key of the packages and the suite.
"""

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from thalweg_testbed.binaries import Report
from thalweg_testbed.commands import call
from thalweg_testbed.docker import leftovers
from thalweg_testbed.docker.host import Host
from thalweg_testbed.docker.packages import require
from thalweg_testbed.errors import CommandFailed, NotPossible

__all__ = ["debian_tar", "scratch_directory", "unpacked"]

SUITE = "bookworm"
_MIRROR = "http://deb.debian.org/debian"
_BOOTSTRAP_S = 1200.0
_RECIPE = "1"
"""Raised when what is done below changes."""

_UNNEEDED = (
    "var/cache/apt/archives/*.deb",
    "var/lib/apt/lists/*",
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
)


def debian_tar(packages: Sequence[str], *, cache: Path, host: Host, report: Report) -> Path:
    """Return a tar file with a minimal Debian and these packages."""
    words = "\0".join([_RECIPE, SUITE, platform.machine(), *sorted(packages)])
    target = cache / "images" / f"debian-{hashlib.sha256(words.encode()).hexdigest()[:12]}.tar"
    if target.exists():
        return target
    if not host.is_root:
        raise NotPossible(
            "making images from Debian packages, where none can be pulled, needs root:"
            " run this as root, or let Docker reach a registry (for nodes alone:"
            " set THALWEG_NODE_IMAGE to an image that it has)"
        )
    purpose = "to make images from packages"
    require(host, {"debootstrap": "debootstrap"}, purpose=purpose, report=report)
    target.parent.mkdir(parents=True, exist_ok=True)
    report(f"==> making a root file system of {len(packages)} Debian packages (about a minute)")
    with scratch_directory(target.parent) as directory:
        root = directory / "root"
        _bootstrap(root, packages, directory / "log")
        partial = directory / "tar"
        call(["tar", "-C", root, "-cf", partial, "."], timeout_s=_BOOTSTRAP_S)
        partial.rename(target)
    return target


@contextmanager
def unpacked(tar: Path) -> Iterator[Path]:
    """Give a directory with the content of a root file system, removed afterwards."""
    with scratch_directory(tar.parent) as directory:
        call(["tar", "-C", directory, "-xf", tar], timeout_s=_BOOTSTRAP_S)
        yield directory


@contextmanager
def scratch_directory(parent: Path) -> Iterator[Path]:
    """Give a directory that is removed afterwards, with all that was mounted in it.

    A run that was killed leaves its directory: those of processes that are gone are removed too.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for old in parent.glob("scratch-*"):
        if not Path(f"/proc/{old.name.split('-')[1]}").exists():
            leftovers.remove_mounts(old)
            shutil.rmtree(old, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=f"scratch-{os.getpid()}-", dir=parent))
    # A root file system's own directory is open to all.
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        leftovers.remove_mounts(directory)
        shutil.rmtree(directory, ignore_errors=True)


def _bootstrap(root: Path, packages: Sequence[str], log: Path) -> None:
    include = ",".join(sorted(packages))
    command = ["debootstrap", "--variant=minbase", f"--include={include}"]
    # The tool's own paths: a caller's PATH may lack those of the system.
    environment = {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}
    try:
        output = call([*command, SUITE, root, _mirror()], env=environment, timeout_s=_BOOTSTRAP_S)
    except CommandFailed as error:
        detail = root / "debootstrap/debootstrap.log"
        tail = detail.read_text().splitlines()[-8:] if detail.exists() else []
        raise CommandFailed("\n".join([str(error), *tail])) from None
    log.write_text(output)
    leftovers.remove_mounts(root)
    for pattern in _UNNEEDED:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _mirror() -> str:
    """Return the archive that this machine's apt-get uses for the suite, else Debian's own."""
    try:
        answer = call(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)"])
    except CommandFailed:
        return _MIRROR
    for line in answer.splitlines():
        suite, _, address = line.partition(" ")
        if suite == SUITE and address:
            return address
    return _MIRROR
