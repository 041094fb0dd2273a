"""Which Docker to use: the user's own if it runs, else ours, which is started if need be."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from thalweg_testbed.binaries import Report, cache_directory, print_progress
from thalweg_testbed.docker.daemon import Daemon
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.host import read_host
from thalweg_testbed.errors import BedError, NotPossible

__all__ = ["use_engine"]


@contextmanager
def use_engine(
    *, cache: Path | None = None, host: str | None = None, report: Report = print_progress
) -> Iterator[Engine]:
    """Give a Docker that answers; one of our own ends when its last user and container are gone.

    `host` is that of the Docker which has a cluster already (empty: the user's own): then no other
    will do, whichever would be found now.
    """
    home = cache or cache_directory()
    home.mkdir(parents=True, exist_ok=True)
    with (home / "docker.users").open("w") as users:
        # Shared by all users: whoever can have it alone is the last one.
        fcntl.flock(users, fcntl.LOCK_SH)
        daemon = Daemon(home)
        engine = _find(daemon, report) if host is None else _found_again(daemon, host, report)
        try:
            yield engine
        finally:
            if engine.is_ours and _is_last(users) and daemon.is_up() and not engine.containers():
                daemon.stop()


def _find(daemon: Daemon, report: Report) -> Engine:
    # Whoever exported DOCKER_HOST to look into ours still means ours, which ends when it is idle.
    if os.environ.get("DOCKER_HOST") == daemon.engine.host and daemon.is_up():
        return daemon.engine
    own = Engine()
    if own.answers():
        return own
    if daemon.is_up():
        return daemon.engine
    host = read_host()
    daemon.prepare(host, report)
    # Where systemd runs, installing the package has started the system's own.
    if own.answers():
        return own
    return daemon.start(host, report)


def _found_again(daemon: Daemon, host: str, report: Report) -> Engine:
    """Return the Docker of a cluster that there is already."""
    if host:
        if not daemon.is_up():
            machine = read_host()
            daemon.prepare(machine, report)
            daemon.start(machine, report)
        return daemon.engine
    if os.environ.get("DOCKER_HOST") == daemon.engine.host:
        raise BedError(
            "the cluster is in your own Docker, and DOCKER_HOST names the test bed's: unset it"
        )
    own = Engine()
    if not own.answers():
        raise NotPossible("the cluster is in your own Docker, which does not answer: start it")
    return own


def _is_last(users: TextIO) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
