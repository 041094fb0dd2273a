"""`python -m thalweg_runtime.simulated`: play the data plane of a cluster whose pods do nothing."""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from thalweg_runtime.simulated.errors import InvalidOption, Unreachable
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.simulated.parsing import ZONE_LABEL
from thalweg_runtime.simulated.reading import Reader, server_of
from thalweg_runtime.simulated.serving import SimulationServer
from thalweg_runtime.simulated.simulation import Simulation

TICK_S = 1.0
_LONGEST_TICK_S = 5.0
"""A machine that slept for an hour does not catch up on it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play until SIGTERM or SIGINT."""
    options = _options().parse_args(arguments)
    try:
        simulation = Simulation(
            seed=options.seed,
            profile=parse_profile(options.profile),
            domain_label=options.domain_label,
        )
        server = server_of(options.kubeconfig)
        reader = Reader(server, namespace=options.namespace, topology=options.topology)
        lock = threading.Lock()
        serving = SimulationServer((options.host, options.port), simulation, lock)
    except (InvalidOption, OSError) as error:
        _say(f"error: {error}")
        return 2
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    _say(f"simulated data plane on http://{options.host}:{serving.port}/metrics")
    try:
        _play(simulation, reader, lock, stop, every_s=options.read_every_s)
    finally:
        serving.shutdown()
        serving.server_close()
        reader.close()
    return 0


def _play(
    simulation: Simulation,
    reader: Reader,
    lock: threading.Lock,
    stop: threading.Event,
    *,
    every_s: float,
) -> None:
    """Read now and then, advance once a second."""
    last_s = time.monotonic()
    read_at_s, complaint = last_s, ""
    while not stop.is_set():
        if time.monotonic() >= read_at_s:
            read_at_s = time.monotonic() + every_s
            found = _read(simulation, reader, lock)
            if found and found != complaint:
                _say(found)
            complaint = found
        now_s = time.monotonic()
        if now_s > last_s:
            with lock:
                simulation.advance(min(now_s - last_s, _LONGEST_TICK_S))
        last_s = now_s
        stop.wait(max(0.0, TICK_S - (time.monotonic() - now_s)))


def _read(simulation: Simulation, reader: Reader, lock: threading.Lock) -> str:
    """Take in the world; the old one stays while the API server does not answer."""
    try:
        world = reader.read()
    except Unreachable as error:
        return f"the cluster cannot be read, going on with what it was: {error}"
    with lock:
        simulation.see(world)
    return ""


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thalweg_runtime.simulated",
        description="Exports the metrics that workers would, from where their pods really are.",
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--namespace", help="only this one; all if left out")
    parser.add_argument("--topology", help="only this one")
    parser.add_argument(
        "--profile", default="1000", help="1000 | 1000@0,5000@60 | ramp:1000@0,5000@60 | file:F"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9400, help="0 takes a free one")
    parser.add_argument("--read-every-s", type=float, default=2.0)
    parser.add_argument("--domain-label", default=ZONE_LABEL)
    return parser


if __name__ == "__main__":
    sys.exit(main())
