"""Images that others publish: pulled where a registry answers, asked for once where none does."""

from pathlib import Path

from thalweg_testbed.binaries import Report
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.errors import CommandFailed

__all__ = ["has_published"]

_PULL_S = 600.0


def has_published(engine: Engine, name: str, *, cache: Path, report: Report) -> bool:
    """Tell whether Docker has a published image, pulling it where a registry answers."""
    if engine.has_image(name):
        return True
    # Where a pull was refused before, asking again would cost a time-out each time.
    refused = cache / "images" / "no-registry"
    if refused.exists():
        return False
    report(f"==> pulling {name}")
    try:
        engine.run("pull", "--quiet", name, timeout_s=_PULL_S)
    except CommandFailed as error:
        reason = str(error).splitlines()[-1]
        report(f"    NOT RUN: {name} cannot be pulled here ({reason}); made from packages instead")
        refused.parent.mkdir(parents=True, exist_ok=True)
        refused.write_text(f"{name}: {reason}\n")
        return False
    return True
