"""Which of the bed's ways this machine cannot take, so that a green run does not speak for them."""

from collections.abc import Iterator
from dataclasses import dataclass

from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.host import Host
from thalweg_testbed.images.node import PUBLISHED, REPOSITORY
from thalweg_testbed.images.pods import PUBLISHED_PROMETHEUS, PUBLISHED_PYTHON
from thalweg_testbed.latency.means import Means

__all__ = ["Ways", "not_run", "read_ways"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The ways that a cluster went in which another machine may go another."""

    host: Host
    means: Means
    has_own_docker: bool
    """Whether the bed had to start one."""

    node_image: str
    published: frozenset[str]
    """Which of the pods' published images Docker has."""


def read_ways(engine: Engine, host: Host, means: Means, *, node: str) -> Ways:
    """Look at what there is at the end of a run."""
    images = (PUBLISHED_PYTHON, PUBLISHED_PROMETHEUS)
    return Ways(
        host=host,
        means=means,
        has_own_docker=engine.is_ours,
        node_image=engine.run("inspect", "--format", "{{.Config.Image}}", node).strip(),
        published=frozenset(name for name in images if engine.has_image(name)),
    )


def not_run(ways: Ways) -> list[str]:
    """Return one line for each way that was not taken, with the one that was."""
    return [
        "latency by netem: this kernel has none, so it was nfqueue"
        if ways.means is Means.QUEUE
        else "latency by nfqueue: this kernel has netem, so it was that",
        "nodes on cgroup v1: this machine has v2"
        if ways.host.has_cgroup_v2
        else "nodes on cgroup v2: this machine has v1",
        "the front for runc: this machine has CAP_SYS_RESOURCE"
        if ways.host.has_sys_resource
        else "nodes by plain runc: this machine lacks CAP_SYS_RESOURCE, so it was our front",
        "using a Docker that runs already: none did, so it was one of our own"
        if ways.has_own_docker
        else "a Docker of our own: one ran already, so it was that",
        *_images(ways),
    ]


def _images(ways: Ways) -> Iterator[str]:
    made, published = "a node image made from packages", PUBLISHED
    if ways.node_image != published:
        yield f"{published}: nodes were of {ways.node_image}"
    if not ways.node_image.startswith(f"{REPOSITORY}:"):
        yield f"{made}: nodes were of {ways.node_image}"
    for name, instead in (
        (PUBLISHED_PYTHON, "a Python of Debian packages"),
        (PUBLISHED_PROMETHEUS, "Debian's Prometheus"),
    ):
        yield (
            f"{instead}: Docker has {name}"
            if name in ways.published
            else f"{name}: Docker does not have it; {instead} stands in"
        )
