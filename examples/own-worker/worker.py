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


def receivers() -> dict[str, list]:
    edges = json.loads(Path(ROUTES).read_text())["edges"] if ROUTES else ()
    return {edge["to"]: [one for one in edge["tasks"] if one["weight"] > 0] for edge in edges}


def send(line: bytes, edges: dict[str, list]) -> None:
    for vertex, tasks in edges.items():
        to = tasks[counts["processed"] % len(tasks)]  # Shuffle: one after the other
        way = to["address"], PORT
        try:
            ways[way] = ways.get(way) or socket.create_connection(way)
            ways[way].sendall(line)
            counts["tuples", vertex, to["name"]] += 1
        except OSError:  # its pod has died, and the line with it
            ways.pop(way, None)


def process(line: bytes) -> None:
    with turn:
        while not all((edges := receivers()).values()):
            time.sleep(0.1)  # nobody can take it at the moment
        began = time.perf_counter()
        send(line.upper(), edges)  # the work
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
        for _, vertex, task in [key for key in list(counts) if isinstance(key, tuple)]:
            to = f'{of},to_vertex="{vertex}",to_task="{task}"'
            rows += [f"thalweg_tuples_total{{{to}}} {counts['tuples', vertex, task]}"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("\n".join([*rows, ""]).encode())


ThreadingTCPServer.daemon_threads = True  # who sends here may outlive this process
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
for server in (ThreadingTCPServer((HOST, PORT), Lines), ThreadingHTTPServer((HOST, 8080), Metrics)):
    Thread(target=server.serve_forever, daemon=True).start()
while True:  # a source makes a line now and then; the others wait for lines
    time.sleep(0.01)
    if ME["vertex"] == "read" and Path(ROUTES).exists():
        process(b"the line of fastest flow\n")
