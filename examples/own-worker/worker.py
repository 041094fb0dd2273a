"""A worker without Thalweg's library: lines of text over TCP, three counters, one routes file."""

import json
import os
import signal
import socket
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Lock, Thread

ME = {name: os.environ[f"THALWEG_{name.upper()}"] for name in ("topology", "vertex", "task")}
HOST, PORT = os.environ.get("HOST", ""), int(os.environ.get("PORT", "7500"))
ROUTES = os.environ.get("THALWEG_ROUTES")  # a sink has none
counts, ways, turn = Counter(), {}, Lock()


def send(line: bytes) -> None:
    for edge in json.loads(Path(ROUTES).read_text())["edges"] if ROUTES else ():
        tasks = [task for task in edge["tasks"] if task["weight"] > 0]
        to = tasks[counts["processed"] % len(tasks)]  # Shuffle: one after the other
        way = to["address"], PORT
        if way not in ways:
            ways[way] = socket.create_connection(way)
        ways[way].sendall(line)
        counts["tuples", edge["to"], to["name"]] += 1


def process(line: bytes) -> None:
    with turn:
        began = time.perf_counter()
        send(line.upper())  # the work
        counts["processed"] += 1
        counts["busy_s"] += time.perf_counter() - began


class Lines(StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            process(line)


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        of = ",".join(f'{name}="{value}"' for name, value in ME.items())
        rows = [f"thalweg_processed_total{{{of}}} {counts['processed']}"]
        rows += [f"thalweg_busy_seconds_total{{{of}}} {counts['busy_s']}"]
        for _, vertex, task in [key for key in counts if isinstance(key, tuple)]:
            to = f'{of},to_vertex="{vertex}",to_task="{task}"'
            rows += [f"thalweg_tuples_total{{{to}}} {counts['tuples', vertex, task]}"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("\n".join([*rows, ""]).encode())


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
for server in (ThreadingTCPServer((HOST, PORT), Lines), ThreadingHTTPServer((HOST, 8080), Metrics)):
    Thread(target=server.serve_forever, daemon=True).start()
while True:  # a source makes a line now and then; the others wait for lines
    time.sleep(0.01)
    if ME["vertex"] == "read" and Path(ROUTES).exists():
        process(b"the line of fastest flow\n")
