"""`python -m thalweg_runtime.worker`: be the tasks that the environment names."""

import argparse
import asyncio
import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, REGISTRY

from thalweg_runtime.simulated.errors import InvalidOption
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.errors import InvalidSettings, WorkerError
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import DATA_PORT, HTTP_PORT, Limits, identity_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Work until SIGTERM or SIGINT, then drain."""
    options = _options().parse_args(arguments)
    logging.basicConfig(
        level=options.log.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    # Records come and go by the thousand and are in no cycles: looking for those seldom is enough.
    gc.set_threshold(100_000, 20, 50)
    # Of Python itself nothing is told: these are for what a user's own steps count.
    for of_python in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR):
        REGISTRY.unregister(of_python)
    try:
        return asyncio.run(_run(options))
    except (InvalidSettings, InvalidOption, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except WorkerError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


async def _run(options: argparse.Namespace) -> int:
    limits = Limits(
        credit_tuples=options.credit_tuples,
        batch_tuples=options.batch_tuples,
        linger_s=options.linger_ms / 1000,
        pending_tuples=options.pending_tuples,
        dead_after_s=options.dead_after_s,
        hand_over_s=options.hand_over_s,
        grace_s=options.grace_s,
        last_scrape_s=options.last_scrape_s,
        port=options.port,
    )
    work = Work(
        step=options.step,
        program=options.program,
        options=_parsed(options.options),
        emulated_wait_s=options.emulated_wait_ms / 1000,
        profile=parse_profile(options.rate),
        last=options.last,
        positions=options.positions,
    )
    process = Process(identity_of(os.environ), work, limits, host=options.host)
    leave = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leave.set)
    await process.run(leave, http_port=options.http_port)
    return 0


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidSettings(f"--options is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidSettings("--options must be an object in JSON")
    return found


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thalweg_runtime.worker",
        description="Hosts tasks of a topology; who it is stands in THALWEG_ variables.",
    )
    usual = Limits()
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--step", help="module:function or module:Class")
    what.add_argument("--program", help="a module with a step called like each vertex")
    parser.add_argument("--options", default="{}", help="arguments of a class, in JSON")
    parser.add_argument(
        "--emulated-wait-ms", type=float, default=0.0, help="per tuple; counts as busy"
    )
    parser.add_argument("--rate", default="100", help="of a source: 1000 | 1000@0,5000@60 | ramp:…")
    parser.add_argument("--last", type=int, help="of a source: so many tuples, then silence")
    parser.add_argument("--positions", type=Path, help="of a source: a folder that outlives it")
    parser.add_argument("--credit-tuples", type=int, default=usual.credit_tuples)
    parser.add_argument("--batch-tuples", type=int, default=usual.batch_tuples)
    parser.add_argument("--linger-ms", type=float, default=usual.linger_s * 1000)
    parser.add_argument("--pending-tuples", type=int, default=usual.pending_tuples)
    parser.add_argument("--dead-after-s", type=float, default=usual.dead_after_s)
    parser.add_argument("--hand-over-s", type=float, default=usual.hand_over_s)
    parser.add_argument("--grace-s", type=float, default=usual.grace_s)
    parser.add_argument(
        "--last-scrape-s",
        type=float,
        default=usual.last_scrape_s,
        help="after draining, serve /metrics for so long: one more scrape sees the last counts",
    )
    parser.add_argument("--host", default="", help="all addresses if left out")
    parser.add_argument("--port", type=int, default=DATA_PORT)
    parser.add_argument("--http-port", type=int, default=HTTP_PORT)
    parser.add_argument("--log", default="info", choices=("debug", "info", "warning", "error"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
