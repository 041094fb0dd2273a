"""`python -m thalweg_spark condense`: one run, one line of JSON, an exit code."""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

from thalweg_spark.condense.expectation import Expectation, parse_expectation
from thalweg_spark.engine import Report, Windows, condense_once
from thalweg_spark.errors import CondenseError, InvalidInput
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import Prometheus, Source


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 when the matrices are published, 2 for wrong input, 4 and 5 for what may pass."""
    options = _parser().parse_args(arguments)
    try:
        report = _condense(options)
    except CondenseError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(dataclasses.asdict(report)) + "\n")
    return 0


def _condense(options: argparse.Namespace) -> Report:
    if options.engine != "numpy":
        raise InvalidInput("the engine spark is not there yet; use --engine numpy")
    source = Source(
        url=options.source,
        token_file=options.token_file,
        ca_file=options.ca_file,
        timeout_s=options.timeout_s,
    )
    return condense_once(
        Prometheus(source),
        load_preset(options.preset),
        _expectation(options.expect),
        options.store,
        at_s=time.time() if options.at is None else options.at,
        windows=Windows(scaling_s=options.window_s, placement_s=options.placement_window_s),
    )


def _expectation(file: Path | None) -> Expectation | None:
    if file is None:
        return None
    try:
        return parse_expectation(json.loads(file.read_text()))
    except (OSError, json.JSONDecodeError) as error:
        raise InvalidInput(f"cannot read the expectation {file}: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m thalweg_spark")
    condense = parser.add_subparsers(dest="command", required=True).add_parser(
        "condense", help="read Prometheus once and publish the matrices"
    )
    add = condense.add_argument
    add("--source", required=True, help="base address of Prometheus, such as http://host:9090")
    add("--store", required=True, type=Path, help="folder of the matrix store")
    add("--preset", default="thalweg", help="which series mean what (default: %(default)s)")
    add("--expect", type=Path, help="JSON file with what ought to be measured")
    add("--engine", choices=("numpy", "spark"), default="numpy")
    add("--window-s", type=float, default=30.0, help="window of loads (default: %(default)s)")
    add("--placement-window-s", type=float, default=300.0, help="window of traffic and latency")
    add("--at", type=float, help="end of the windows in epoch seconds (default: now)")
    add("--timeout-s", type=float, default=20.0, help="longest wait for one answer")
    add("--token-file", type=Path, help="file with a bearer token")
    add("--ca-file", type=Path, help="certificates to trust")
    return parser


if __name__ == "__main__":
    sys.exit(main())
