"""A run names the ways that it did not take, on every kind of machine."""

from dataclasses import replace

import pytest

from thalweg_testbed.docker.host import Host
from thalweg_testbed.kind.not_run import not_run
from thalweg_testbed.latency.means import Means

HERE = Host(
    is_linux=True, is_root=True, is_debian=True, has_sys_resource=False, has_cgroup_v2=False
)


def test_a_bare_build_machine() -> None:
    lines = not_run(HERE, Means.QUEUE, has_published_image=False)
    assert [line.partition(":")[0] for line in lines] == [
        "latency by netem",
        "nodes on cgroup v2",
        "kindest/node",
        "nodes by plain runc",
    ]


@pytest.mark.parametrize("means", Means)
@pytest.mark.parametrize("flag", [True, False])
def test_of_two_ways_one_is_always_named(means: Means, flag: bool) -> None:
    one, other = (
        not_run(
            replace(HERE, has_cgroup_v2=value, has_sys_resource=value),
            means if value is flag else next(m for m in Means if m is not means),
            has_published_image=value,
        )
        for value in (True, False)
    )
    assert len(one) == len(other) == 4
    assert not set(one) & set(other)
