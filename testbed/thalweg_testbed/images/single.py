"""Images of one directory, imported into Docker as one layer."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from thalweg_testbed.commands import call
from thalweg_testbed.docker.engine import Engine

__all__ = ["copy_with_libraries", "import_directory", "place"]

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def import_directory(
    engine: Engine, name: str, directory: Path, *, changes: Sequence[str] = ()
) -> None:
    """Make an image of a directory's content, with Dockerfile instructions for its settings."""
    words = [word for one in (f"ENV {_PATH}", *changes) for word in ("--change", one)]
    engine.pipe_into(["tar", "-C", directory, "-c", "."], "import", *words, "-", name)


def place(source: Path, target: Path) -> None:
    """Put a program where it belongs."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)


def copy_with_libraries(root: Path, target: Path, files: Sequence[str]) -> None:
    """Copy programs and libraries out of a root file system, with all libraries they need."""
    for file in (*files, *_libraries(root, files)):
        inside = target / file.lstrip("/")
        inside.parent.mkdir(parents=True, exist_ok=True)
        # The target of a link in a root file system lies in it, not where the link says.
        source = call(["chroot", root, "readlink", "-f", f"/{file.lstrip('/')}"]).strip()
        shutil.copy(root / source.lstrip("/"), inside)


def _libraries(root: Path, files: Sequence[str]) -> list[str]:
    """Return what ldd names for some files, the loader included."""
    answer = call(["chroot", root, "ldd", *(f"/{file}" for file in files)])
    # A line that ends with a colon only says whose libraries follow.
    lines = (line for line in answer.splitlines() if not line.endswith(":"))
    words = (word for line in lines for word in line.split())
    return sorted({word for word in words if word.startswith("/")})
