"""What is remembered of each kind cluster of ours, in a directory of its own in the cache.

A cluster either belongs to a process, which will remove it, or is kept until someone does. One
whose process is gone was left by a run that was killed: it is removed before the next is made.
"""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from thalweg_testbed.background import birth_of
from thalweg_testbed.kind.shape import Shape
from thalweg_testbed.latency.links import Link, Links

__all__ = ["Record", "Records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One cluster: its Docker, its owner, and what was done to its network."""

    name: str
    docker_host: str
    owner_pid: int = 0
    """0: nobody's; it is kept."""

    owner_birth: str = ""
    shape: Shape = field(default_factory=Shape)
    links: Links = field(default_factory=Links)
    partitions: tuple[tuple[str, str], ...] = ()

    def is_abandoned(self) -> bool:
        """Tell whether it belonged to a process that is gone."""
        return self.owner_pid != 0 and birth_of(self.owner_pid) != self.owner_birth

    def owned(self) -> "Record":
        """Return the same record, owned by this process."""
        pid = os.getpid()
        return replace(self, owner_pid=pid, owner_birth=birth_of(pid) or "")

    def kept(self) -> "Record":
        """Return the same record, owned by nobody."""
        return replace(self, owner_pid=0, owner_birth="")


class Records:
    """The records of one cache directory."""

    def __init__(self, cache: Path) -> None:
        self._home = cache / "kind"

    def directory(self, name: str) -> Path:
        """Return the directory of one cluster: kubeconfig, configuration, record."""
        return self._home / name

    def kubeconfig(self, name: str) -> Path:
        """Return the cluster's kubeconfig, apart from the user's own."""
        return self.directory(name) / "kubeconfig"

    def names(self) -> list[str]:
        """Return the clusters of which there is a record."""
        return sorted(path.parent.name for path in self._home.glob("*/record.json"))

    def read(self, name: str) -> Record | None:
        """Return a cluster's record; None if there is none."""
        try:
            values = json.loads((self.directory(name) / "record.json").read_text())
        except (FileNotFoundError, ValueError):
            return None
        links = {(one["from"], one["to"]): Link(**one["link"]) for one in values.pop("links")}
        pairs = tuple((a, b) for a, b in values.pop("partitions"))
        shape = Shape(**values.pop("shape", {}))
        return Record(**values, shape=shape, links=Links(links=links), partitions=pairs)

    def write(self, record: Record) -> None:
        """Remember a cluster, in one step."""
        directory = self.directory(record.name)
        directory.mkdir(parents=True, exist_ok=True)
        partial = directory / "record.partial"
        partial.write_text(json.dumps(_as_json(record)))
        partial.rename(directory / "record.json")

    def forget(self, name: str) -> None:
        """Remove all that is remembered of a cluster."""
        shutil.rmtree(self.directory(name), ignore_errors=True)

    def of_docker(self, host: str) -> Sequence[Record]:
        """Return the records of the clusters that one Docker has or had."""
        records = [self.read(name) for name in self.names()]
        return [record for record in records if record and record.docker_host == host]


def _as_json(record: Record) -> dict[str, object]:
    links = [
        {"from": source, "to": target, "link": asdict(link)}
        for (source, target), link in record.links.links.items()
    ]
    return {
        "name": record.name,
        "docker_host": record.docker_host,
        "owner_pid": record.owner_pid,
        "owner_birth": record.owner_birth,
        "shape": asdict(record.shape),
        "links": links,
        "partitions": record.partitions,
    }
