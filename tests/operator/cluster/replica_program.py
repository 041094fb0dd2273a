"""A replica of the operator whose loop does nothing but write, for the stories of the Lease.

Run as a script: replica_program.py KUBECONFIG NAMESPACE AGENT TRIGGER NAME=VALUE...

Each pass counts up in one ConfigMap, with the uid and the resourceVersion that it read, and makes
another whose name follows from the count: the two ways in which the operator writes. While a file
TRIGGER is there, the process stops itself (SIGSTOP) right after the Lease let a write through: the
worst moment there is.
"""

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from thalweg_operator.clock import Clock
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.connection import connect
from thalweg_operator.cluster.resources import CONFIG_MAPS
from thalweg_operator.cluster.transport import Request, Transport
from thalweg_operator.command.operating import parse_overrides
from thalweg_operator.errors import AlreadyExists, Conflict
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.running import Replica, Turning
from thalweg_operator.settings import load_settings


class Counting:
    """Counts in the cluster, once a pass."""

    def __init__(self, client: Client, namespace: str, agent: str) -> None:
        self._client = client
        self._namespace = namespace
        self._agent = agent

    def prepare(self) -> None:
        """Nothing takes long."""

    def close(self) -> None:
        """Nothing was started."""

    def turn(self) -> None:
        ledger = self._client.get(CONFIG_MAPS, self._namespace, "ledger")
        if ledger is None:
            raise RuntimeError("the test makes the ledger first")
        count = int(ledger["data"]["count"]) + 1
        try:
            self._client.merge(
                CONFIG_MAPS,
                self._namespace,
                "ledger",
                {"data": {"count": str(count), "writer": self._agent}},
                uid=ledger["metadata"]["uid"],
                resource_version=ledger["metadata"]["resourceVersion"],
            )
        except Conflict:
            logging.warning("the ledger moved on without us")
        name = {"namespace": self._namespace, "name": f"made-{count}"}
        try:
            self._client.create(CONFIG_MAPS, {"metadata": name, "data": {"by": self._agent}})
        except AlreadyExists:
            logging.warning("another made %s", name["name"])


def stop_at_the_worst_moment(trigger: Path) -> None:
    """Stop the process between the Lease's word and the write, once the trigger is there.

    Afterwards the thread that keeps the Lease ends the process, most often before the write goes
    out. Here it has to wait for that: the write is to come late, not to be left out.
    """
    send, leave = Transport.send, os._exit
    busy = threading.Lock()

    def stop_then_send(transport: Transport, request: Request) -> dict[str, Any]:
        in_loop = threading.current_thread() is threading.main_thread()
        if not (in_loop and request.method != "GET" and trigger.exists()):
            return send(transport, request)
        trigger.unlink()
        with busy:
            os.kill(os.getpid(), signal.SIGSTOP)
            return send(transport, request)

    def leave_after_the_write(code: int) -> NoReturn:
        with busy:
            leave(code)

    setattr(Transport, "send", stop_then_send)  # noqa: B010
    setattr(os, "_exit", leave_after_the_write)  # noqa: B010


def main() -> int:
    """Run until a signal, or until the Lease is lost."""
    kubeconfig, namespace, agent, trigger, *pairs = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stop_at_the_worst_moment(Path(trigger))

    def make_loop(client: Client, _metrics: Metrics, _clock: Clock) -> Turning:
        return Counting(client, namespace, agent)

    settings = load_settings(None, parse_overrides(pairs))
    connection = connect(kubeconfig, user_agent=agent)
    return Replica(settings, connection=connection, identity=agent, make_loop=make_loop).run()


if __name__ == "__main__":
    sys.exit(main())
