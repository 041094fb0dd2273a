"""`python -m thalweg_runtime.prober`: tell how far the other nodes are."""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from thalweg_runtime.prober.choosing import Sampling
from thalweg_runtime.prober.echo import Echo, Peer
from thalweg_runtime.prober.measuring import RoundTrips
from thalweg_runtime.prober.probing import Prober, Rhythm, by_list, by_name

ECHO_PORT = 7401
HTTP_PORT = 8080
_LABELS = ("source_node", "target_node")
_SILENT_ROUNDS = 3


class Exposition:
    """The round trips as Prometheus reads them."""

    def __init__(self, node: str, trips: RoundTrips) -> None:
        """`node` is where they begin."""
        self._node = node
        self._trips = trips

    def collect(self) -> Iterator[Metric]:
        """What prometheus-client asks for."""
        median = GaugeMetricFamily(
            "thalweg_node_rtt_seconds", "Round trip between nodes, median.", labels=_LABELS
        )
        p99 = GaugeMetricFamily(
            "thalweg_node_rtt_p99_seconds", "Round trip between nodes, 99 %.", labels=_LABELS
        )
        for trip in list(self._trips.known(time.monotonic())):
            median.add_metric([self._node, trip.node], trip.median_s)
            p99.add_metric([self._node, trip.node], trip.p99_s)
        yield from (median, p99)


def main(arguments: Sequence[str] | None = None) -> int:
    """Probe until SIGTERM or SIGINT."""
    options = _options().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    if not options.node:
        sys.stderr.write("error: whose latency? Set THALWEG_NODE or --node\n")
        return 2
    asyncio.run(_run(options))
    return 0


async def _run(options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    me = Peer(options.node, options.domain)
    bound = options.host, options.port
    _, echo = await loop.create_datagram_endpoint(lambda: Echo(me), local_addr=bound)
    by = by_name(options.service, options.port) if options.service else by_list(options.peer)
    prober = Prober(
        me=me,
        echo=echo,
        port=options.port,
        resolve=by,
        sampling=Sampling(every_pair_up_to=options.every_pair_up_to),
        rhythm=Rhythm(round_s=options.round_s, probes=options.probes),
        trips=RoundTrips(
            window_s=12 * options.round_s, silent_after_s=_SILENT_ROUNDS * options.round_s
        ),
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(options.node, prober.trips))
    server, _ = start_http_server(options.http_port, options.host, registry=registry)
    job = loop.create_task(prober.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, job.cancel)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await job
    finally:
        echo.close()
        server.shutdown()
        server.server_close()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thalweg_runtime.prober",
        description="Measures the round trip to other nodes' probers; needs no right at all.",
    )
    usual, rhythm = Sampling(), Rhythm()
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--service", help="name of the headless service that all probers stand behind"
    )
    where.add_argument("--peer", action="append", help="address of another one; may be repeated")
    parser.add_argument("--node", default=os.environ.get("THALWEG_NODE", ""))
    parser.add_argument(
        "--domain", default=os.environ.get("THALWEG_DOMAIN", ""), help="empty: not known"
    )
    parser.add_argument("--round-s", type=float, default=rhythm.round_s)
    parser.add_argument("--probes", type=int, default=rhythm.probes, help="to a node in a round")
    parser.add_argument(
        "--every-pair-up-to",
        type=int,
        default=usual.every_pair_up_to,
        help="nodes; in larger clusters a sample of each pair of domains is measured",
    )
    every = "0.0.0.0"  # noqa: S104 - a pod's own address is not known before it runs
    parser.add_argument("--host", default=every, help=":: where the pods' network is IPv6")
    parser.add_argument("--port", type=int, default=ECHO_PORT)
    parser.add_argument("--http-port", type=int, default=HTTP_PORT)
    return parser


if __name__ == "__main__":
    sys.exit(main())
