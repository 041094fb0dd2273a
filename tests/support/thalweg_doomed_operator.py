"""A whole operator that ends itself by SIGKILL when it wants to write once more.

    python -m thalweg_doomed_operator KUBECONFIG NAMESPACE WRITES

It is the real process, with Lease, watch and probes; WRITES below 0 let it live.
"""

import logging
import os
import signal
import sys

from thalweg_operator.clock import Clock
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.connection import connect
from thalweg_operator.cluster.lease import new_identity
from thalweg_operator.loop import Loop
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.running import Replica
from thalweg_operator.settings import LeaseSettings, ServingSettings, Settings


class Doom:
    """Stands before every write, behind the Lease's own check."""

    def __init__(self, client: Client, writes: int) -> None:
        self._checked = client._guard
        self._left = writes

    def __call__(self) -> None:
        """Let a write pass, or end the process as nobody can prevent."""
        self._checked()
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def settings_in(namespace: str) -> Settings:
    """Short times, and a Lease of its own: a second one takes over within seconds."""
    return Settings(
        namespaces=(namespace,),
        pass_interval_s=0.5,
        debounce_s=0.1,
        retire_grace_s=0.0,
        lease=LeaseSettings(
            namespace=namespace, duration_s=6.0, renew_deadline_s=4.0, retry_s=0.5, margin_s=0.5
        ),
        serving=ServingSettings(host="127.0.0.1", port=0),
    )


def main(kubeconfig: str, namespace: str, writes: int) -> int:
    """Run until ended."""
    settings = settings_in(namespace)

    def doomed_loop(client: Client, metrics: Metrics, clock: Clock) -> Loop:
        client._guard = Doom(client, writes)
        return Loop(client=client, settings=settings, clock=clock, metrics=metrics)

    return Replica(
        settings,
        connection=connect(kubeconfig),
        identity=new_identity(),
        make_loop=doomed_loop,
    ).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
