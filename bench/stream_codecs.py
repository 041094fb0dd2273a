"""What the worker's codec and transport were chosen from: each does the same small job."""

import asyncio
import json
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import zmq

from bench.stream_steps import read, split

_BATCH = 256
_ROUNDS = 300
_FRAME = b"x" * 12_000
_BYTES = 400_000_000

Rows = list[tuple[str, ...]]
Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]


def codecs() -> Rows:
    """Encode and decode a batch of words."""
    batch = [word for number in range(_BATCH // 4) for word in split(read(number))]
    packed, text = msgspec.msgpack, msgspec.json
    kinds: list[tuple[str, Encode, Decode]] = [
        ("MessagePack, msgspec", packed.Encoder().encode, packed.Decoder().decode),
        ("JSON, msgspec", text.Encoder().encode, text.Decoder().decode),
        ("pickle 5", lambda one: pickle.dumps(one, 5), pickle.loads),
        ("JSON, standard library", lambda one: json.dumps(one).encode(), json.loads),
    ]
    rows: Rows = []
    for name, encode, decode in kinds:
        data = encode(batch)
        began_s = time.perf_counter()
        for _ in range(_ROUNDS):
            decode(encode(batch))
        took_s = time.perf_counter() - began_s
        cost_us = took_s / _ROUNDS / len(batch) * 1e6
        rows.append((name, f"{cost_us:.2f}", f"{len(data) / len(batch):.0f}"))
    return rows


def transports() -> Rows:
    """Frames of a batch's size from a child process to this one, until so much has come."""
    kinds: list[tuple[str, Callable[[int], None], Callable[[int], float]]] = [
        ("asyncio, protocol", _pour, _by_protocol),
        ("asyncio, streams", _pour, _by_streams),
        ("blocking socket", _pour, _by_socket),
        ("pyzmq PUSH/PULL", _pour_zmq, _by_zmq),
    ]
    rows: Rows = []
    for name, pour, take in kinds:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
        child = os.fork()
        if not child:
            try:
                pour(port)
            finally:
                os._exit(0)
        took_s = take(port)
        os.waitpid(child, 0)
        rows.append((name, f"{_BYTES / took_s / 1e6:,.0f}"))
    return rows


def _pour(port: int) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as way:
                left = _BYTES
                while left > 0:
                    way.sendall(_FRAME)
                    left -= len(_FRAME)
                return
        except ConnectionRefusedError:
            time.sleep(0.01)


def _pour_zmq(port: int) -> None:
    context = zmq.Context()
    way = context.socket(zmq.PUSH)
    way.set_hwm(64)
    way.connect(f"tcp://127.0.0.1:{port}")
    for _ in range(_BYTES // len(_FRAME) + 1):
        way.send(_FRAME)
    way.close()
    context.term()


class _Taking(asyncio.Protocol):
    def __init__(self) -> None:
        self.got = 0
        self.began_s = 0.0
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.began_s = self.began_s or time.perf_counter()
        self.got += len(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.ended.set()


def _by_protocol(port: int) -> float:
    async def take() -> float:
        taking = _Taking()
        server = await asyncio.get_running_loop().create_server(lambda: taking, "127.0.0.1", port)
        await taking.ended.wait()
        server.close()
        return time.perf_counter() - taking.began_s

    return asyncio.run(take())


def _by_streams(port: int) -> float:
    async def take() -> float:
        done: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            began_s = time.perf_counter()
            while await reader.read(65536):
                pass
            writer.close()
            done.set_result(time.perf_counter() - began_s)

        server = await asyncio.start_server(handle, "127.0.0.1", port)
        took_s = await done
        server.close()
        return took_s

    return asyncio.run(take())


def _by_socket(port: int) -> float:
    with socket.create_server(("127.0.0.1", port)) as server:
        way, _ = server.accept()
        began_s = time.perf_counter()
        while way.recv(65536):
            pass
        way.close()
        return time.perf_counter() - began_s


def _by_zmq(port: int) -> float:
    context = zmq.Context()
    way = context.socket(zmq.PULL)
    way.set_hwm(64)
    way.bind(f"tcp://127.0.0.1:{port}")
    way.recv()
    began_s = time.perf_counter()
    for _ in range(_BYTES // len(_FRAME)):
        way.recv()
    took_s = time.perf_counter() - began_s
    way.close()
    threading.Thread(target=context.term).start()
    return took_s
