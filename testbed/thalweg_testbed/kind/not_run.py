"""Which of the bed's ways this machine cannot take, so that a green run does not speak for them."""

from thalweg_testbed.docker.host import Host
from thalweg_testbed.latency.means import Means

__all__ = ["not_run"]


def not_run(host: Host, means: Means, *, has_published_image: bool) -> list[str]:
    """Return one line for each way that was not taken, with the one that was."""
    return [
        "latency by netem: this kernel has none, so it was nfqueue"
        if means is Means.QUEUE
        else "latency by nfqueue: this kernel has netem, so it was that",
        "nodes on cgroup v1: this machine has v2"
        if host.has_cgroup_v2
        else "nodes on cgroup v2: this machine has v1",
        "a node image made from packages: kindest/node was there"
        if has_published_image
        else "kindest/node: it cannot be pulled here, so a node image was made from packages",
        "the front for runc: this machine has CAP_SYS_RESOURCE"
        if host.has_sys_resource
        else "nodes by plain runc: this machine lacks CAP_SYS_RESOURCE, so it was our front",
    ]
