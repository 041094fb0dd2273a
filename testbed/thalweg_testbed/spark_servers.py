"""Spark servers on the loopback from pip's pyspark: a standalone cluster, and Spark Connect.

Pip's package has the programs but not the scripts that start a master and its workers, so Java is
started directly. Everything ends with the block.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from thalweg_testbed.errors import BedError
from thalweg_testbed.java import find_java
from thalweg_testbed.ports import Port
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually

_DEPLOY = "org.apache.spark.deploy"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_LONG_S = 180.0


class _Servers:
    """Java programs of Spark that end together."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._processes: list[Process] = []
        self._ports: list[Port] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that were started; executors are their children."""
        return [process.pid for process in self._processes]

    def close(self) -> None:
        """End everything."""
        for process in reversed(self._processes):
            process.kill()
        for port in self._ports:
            port.release()

    def _port(self) -> int:
        self._ports.append(Port())
        return int(self._ports[-1].number)

    def _java(self, name: str, *words: str, memory: str) -> Path:
        found = find_spec("pyspark")
        if found is None or found.origin is None:
            raise BedError("pyspark is missing; run: make setup")
        home = Path(found.origin).parent
        log = self.folder / f"{name}.log"
        command = [str(find_java()), f"-Xmx{memory}", "-cp", f"{home}/jars/*", *_OPEN, *words]
        environment = {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder),
            "SPARK_SCALA_VERSION": "2.13",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join((str(home.parent), *filter(None, sys.path))),
        }
        self._processes.append(Process(name, command, log=log, env=environment))
        return log

    def _await(self, log: Path, words: str, *, times: int = 1) -> None:
        process = self._processes[-1]

        def said() -> bool:
            process.require_running()
            return log.read_text(errors="replace").count(words) >= times

        eventually(said, what=f"{log.name} to say {words!r}", timeout_s=_LONG_S)


class StandaloneSpark(_Servers):
    """A master and two workers of one core each."""

    def __init__(self, folder: Path, *, workers: int = 2, memory: str = "1g") -> None:
        """Start them and wait until the master knows every worker."""
        super().__init__(folder)
        try:
            port = self._port()
            self.url = f"spark://127.0.0.1:{port}"
            address = ("--host", "127.0.0.1", "--port")
            master = (f"{_DEPLOY}.master.Master", *address, str(port), "--webui-port", "0")
            log = self._java("master", *master, memory="256m")
            self._await(log, "Starting Spark master at")
            for number in range(workers):
                room = ("--cores", "1", "--memory", memory, "--webui-port", "0")
                place = ("--work-dir", str(folder / f"work-{number}"), "--host", "127.0.0.1")
                words = (f"{_DEPLOY}.worker.Worker", *room, *place, self.url)
                self._java(f"worker-{number}", *words, memory="256m")
            self._await(log, "Registering worker", times=workers)
        except BaseException:
            self.close()
            raise


class ConnectSpark(_Servers):
    """A Spark Connect server, which clients without a JVM ask by gRPC."""

    def __init__(self, folder: Path, *, memory: str = "1g") -> None:
        """Start it and wait until it listens."""
        super().__init__(folder)
        try:
            port = self._port()
            self.url = f"sc://127.0.0.1:{port}"
            settings = {
                "spark.connect.grpc.binding.port": str(port),
                "spark.connect.grpc.binding.address": "127.0.0.1",
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.ui.enabled": "false",
                "spark.local.dir": str(folder),
                "spark.sql.warehouse.dir": str(folder / "warehouse"),
            }
            options = [word for item in settings.items() for word in ("--conf", "=".join(item))]
            submit = (f"{_DEPLOY}.SparkSubmit", "--class", _CONNECT, "--master", "local[2]")
            log = self._java(
                "connect", *submit, *options, "--name", "thalweg", "spark-internal", memory=memory
            )
            self._await(log, "Spark Connect server started")
        except BaseException:
            self.close()
            raise


_OPEN = (
    "--add-modules=jdk.incubator.vector",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net"),
            *("java.nio", "java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
            *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
        )
    ),
)
"""What Spark's own scripts tell Java 17 and later."""
