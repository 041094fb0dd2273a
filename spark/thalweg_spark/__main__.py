"""`python -m thalweg_spark condense`: one run, one line of JSON, an exit code; `serve`: many."""

import argparse
import dataclasses
import json
import resource
import sys
import time
from pathlib import Path

from thalweg_spark.condense.expectation import Expectation, parse_expectation
from thalweg_spark.engine import NumpyEngine, Report, Request, Windows, condense_once
from thalweg_spark.errors import CondenseError, InvalidInput
from thalweg_spark.pods import Executors
from thalweg_spark.pull.presets import load_preset, presets_in
from thalweg_spark.pull.prometheus import Source


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 when the matrices are published, 2 for wrong input, 4 and 5 for what may pass."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "serve":
            from thalweg_spark.resident import serve

            return serve(
                options.spark_master,
                memory=options.memory,
                scratch=options.scratch,
                executors=_executors(options),
            )
        report = _condense(options)
    except CondenseError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except MemoryError:
        sys.stderr.write("error: condensing needs more memory than it may take\n")
        return CondenseError.exit_code
    sys.stdout.write(json.dumps(dataclasses.asdict(report)) + "\n")
    return 0


def _condense(options: argparse.Namespace) -> Report:
    source = Source(
        url=options.source,
        token_file=options.token_file,
        ca_file=options.ca_file,
        certificate_file=options.certificate_file,
        basic_file=options.basic_file,
        headers=_headers(options.header),
        timeout_s=options.timeout_s,
        run_timeout_s=options.run_timeout_s,
        most_series=options.most_series,
        most_bytes=options.most_mib * 2**20,
    )
    request = Request(
        source=source,
        preset=load_preset(
            options.preset, None if options.presets is None else presets_in(options.presets)
        ),
        expectation=_expectation(options.expect),
        store=options.store,
        at_s=time.time() if options.at is None else options.at,
        is_now=options.at is None,
        keep_runs=options.keep_runs,
        windows=Windows(scaling_s=options.window_s, placement_s=options.placement_window_s),
    )
    if options.engine == "numpy":
        _limit_memory(options.memory_mib)
        return condense_once(NumpyEngine(), request)
    return _with_spark(request, options.spark_master, _executors(options))


def _limit_memory(most_mib: int | None) -> None:
    """Better one run that ends with a reason than a pod that the kernel ends, all in it included.

    What libraries have reserved by now, which grows with a machine's cores, does not count.
    """
    if most_mib is not None:
        reserved = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = reserved + most_mib * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _executors(options: argparse.Namespace) -> Executors:
    return Executors(count=options.executors, memory=options.executor_memory)


def _with_spark(request: Request, master: str, executors: Executors) -> Report:
    # Importing pyspark takes longer than the whole numpy run.
    from thalweg_spark.job import SparkEngine
    from thalweg_spark.session import spark_session

    with spark_session(master, executors=executors) as session:
        return condense_once(SparkEngine(session), request)


def _headers(given: list[str]) -> dict[str, str]:
    """Headers from `Name: value` each."""
    headers = {}
    for text in given:
        name, colon, value = text.partition(":")
        if not (name.strip() and colon):
            raise InvalidInput(f"a header is written 'Name: value'; got {text!r}")
        headers[name.strip()] = value.strip()
    return headers


def _expectation(file: Path | None) -> Expectation | None:
    if file is None:
        return None
    try:
        return parse_expectation(json.loads(file.read_text()))
    except (OSError, json.JSONDecodeError) as error:
        raise InvalidInput(f"cannot read the expectation {file}: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m thalweg_spark")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="keep Spark and condense when told; see resident.py")
    serve.add_argument("--spark-master", default="local[*]")
    serve.add_argument("--memory", default="1g", help="heap of Spark's driver")
    serve.add_argument("--scratch", required=True, type=Path, help="folder for Spark's own files")
    _add_executors(serve)
    condense = commands.add_parser("condense", help="read Prometheus once and publish the matrices")
    add = condense.add_argument
    add("--source", required=True, help="base address of Prometheus, such as http://host:9090")
    add("--store", required=True, help="matrix store: a folder, or hdfs://…, s3://…, gs://…")
    add(
        "--keep-runs", type=int, default=20, help="runs that the store keeps (default: %(default)s)"
    )
    add("--preset", default="thalweg", help="which series mean what (default: %(default)s)")
    add("--presets", type=Path, help="folder with presets of your own, each NAME.toml")
    add("--expect", type=Path, help="JSON file with what ought to be measured")
    add("--engine", choices=("spark", "numpy"), default="spark", help="numpy needs no Java")
    add("--window-s", type=float, default=30.0, help="window of loads (default: %(default)s)")
    add("--placement-window-s", type=float, default=300.0, help="window of traffic and latency")
    add("--at", type=float, help="end of the windows in epoch seconds (default: now)")
    add("--timeout-s", type=float, default=20.0, help="longest wait for one answer")
    add("--run-timeout-s", type=float, default=45.0, help="longest wait for all answers")
    add("--most-series", type=int, default=200_000, help="refuse answers with more of them")
    add("--most-mib", type=int, default=64, help="refuse answers that are larger")
    add("--memory-mib", type=int, help="most memory that numpy may take (default: any)")
    add("--token-file", type=Path, help="file with a bearer token")
    add("--basic-file", type=Path, help="file with user:password")
    add("--ca-file", type=Path, help="certificates to trust")
    add("--certificate-file", type=Path, help="client certificate with its key")
    add("--header", action="append", default=[], help="such as 'X-Scope-OrgID: tenant'")
    add("--spark-master", default="local[*]", help="local[*], spark://, k8s:// or sc://")
    _add_executors(condense)
    return parser


def _add_executors(parser: argparse.ArgumentParser) -> None:
    usual = Executors()
    parser.add_argument(
        "--executors", type=int, default=usual.count, help="pods with k8s:// (default: %(default)s)"
    )
    parser.add_argument(
        "--executor-memory", default=usual.memory, help="heap of each (default: %(default)s)"
    )


if __name__ == "__main__":
    sys.exit(main())
