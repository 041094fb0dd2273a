"""`python -m thalweg_spark serve`: a child that keeps one SparkSession and condenses when told.

A line of JSON comes in for each run and names the file with the request; a line goes out when
Spark is ready, every second as a heartbeat, and for each run when it ended. When the one who
started it is gone, its end of the pipe closes, and the child ends with all that it started.
"""

import dataclasses
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.engine import Engine, Request, Windows, condense_once
from thalweg_spark.errors import CondenseError, InvalidInput, SparkUnavailable
from thalweg_spark.pods import Executors
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import Source

_BEAT_S = 1.0


class Answers:
    """Lines for whoever started us; several threads write them."""

    def __init__(self, stream: TextIO) -> None:
        """Write to this stream."""
        self._stream = stream
        self._lock = threading.Lock()

    def say(self, kind: str, **more: object) -> None:
        """Write one line; with nobody to read it there is nothing left to do."""
        try:
            with self._lock:
                self._stream.write(json.dumps({"kind": kind, **more}) + "\n")
                self._stream.flush()
        except OSError:
            os._exit(0)


def private_output() -> TextIO:
    """Standard output for us alone: what the JVM prints goes to standard error."""
    kept = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(kept, "w")


def listen(stream: TextIO, asked: "queue.Queue[dict[str, Any]]", leave: Callable[[], None]) -> None:
    """Pass on what is asked; leave when nobody can ask any more."""
    for line in stream:
        asked.put(json.loads(line))
    leave()


def beat(answers: Answers) -> None:
    """Say every second that we are there."""
    while True:
        answers.say("beat")
        time.sleep(_BEAT_S)


def answer(engine: Engine, asked: Mapping[str, Any], answers: Answers) -> None:
    """One run; only a dead Spark ends the child."""
    try:
        document = json.loads(Path(asked["request"]).read_text())
        report = condense_once(engine, parse_request(document))
    except SparkUnavailable as error:
        answers.say("failed", id=asked["id"], exit_code=error.exit_code, error=str(error))
        raise
    except CondenseError as error:
        answers.say("failed", id=asked["id"], exit_code=error.exit_code, error=str(error))
    else:
        answers.say("done", id=asked["id"], report=dataclasses.asdict(report))


def parse_request(document: Mapping[str, Any]) -> Request:
    """A run as the operator asks for it."""
    try:
        return Request(
            source=Source.of_document(document["source"]),
            preset=load_preset(document["preset"], document.get("presets")),
            expectation=parse_expectation(document["expectation"]),
            store=str(document["store"]),
            keep_runs=int(document.get("keep_runs", 20)),
            at_s=time.time(),
            is_now=True,
            windows=Windows(**document.get("windows", {})),
        )
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"the request cannot be read: {error!r}") from error


def serve(master: str, *, memory: str, scratch: Path, executors: Executors) -> int:
    """Answer until nobody asks any more."""
    answers = Answers(private_output())
    asked: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=beat, args=(answers,), daemon=True).start()
    threading.Thread(
        target=listen, args=(sys.stdin, asked, lambda: os._exit(0)), daemon=True
    ).start()
    from thalweg_spark.job import SparkEngine
    from thalweg_spark.session import spark_session

    with spark_session(master, memory=memory, scratch=scratch, executors=executors) as session:
        engine = SparkEngine(session)
        engine.warm()
        answers.say("ready")
        while True:
            answer(engine, asked.get(), answers)
