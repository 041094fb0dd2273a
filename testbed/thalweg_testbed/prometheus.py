"""A real Prometheus: Debian's package, found or installed, on a port and in a folder of its own."""

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from thalweg_testbed.binaries import Report, print_progress
from thalweg_testbed.errors import BedError
from thalweg_testbed.ports import Port
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually

_PACKAGE = "prometheus"


class PrometheusServer:
    """Scrapes fixed targets; making one starts it, `close` or leaving the block ends it."""

    def __init__(
        self,
        folder: Path,
        targets: Mapping[str, str],
        *,
        scrape_s: float = 1.0,
        history: str = "",
        report: Report = print_progress,
    ) -> None:
        """Start it for `targets` (job name to host:port), with a history in OpenMetrics text."""
        self._program = find_prometheus(report)
        self._folder = folder
        self._port = Port()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "prometheus.yml").write_text(_configuration(targets, scrape_s))
        if history:
            self._load(history)
        self._process = self._start()

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://127.0.0.1:{self._port.number}"

    def __enter__(self) -> "PrometheusServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def query(self, expression: str) -> list[dict[str, object]]:
        """What an instant query answers."""
        with urllib.request.urlopen(  # noqa: S310 - an address of our own
            f"{self.url}/api/v1/query?query={quote(expression)}", timeout=10
        ) as answer:
            found: list[dict[str, object]] = json.load(answer)["data"]["result"]
        return found

    def stop(self) -> None:
        """Let it be gone; `restart` brings it back with what it had."""
        self._process.stop()

    def restart(self) -> None:
        """Bring it back on the same port."""
        self._process.stop()
        self._process = self._start()

    def close(self) -> None:
        """End it."""
        self._process.stop()
        self._port.release()

    def _load(self, history: str) -> None:
        """Write blocks of samples from text, as `promtool` does for a server that moves."""
        file = self._folder / "history.txt"
        file.write_text(history)
        words = [str(self._program.with_name("promtool")), "tsdb", "create-blocks-from"]
        words += ["openmetrics", "--quiet", str(file), str(self._folder / "data")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BedError(f"promtool did not take the history: {done.stderr.strip()[-300:]}")

    def _start(self) -> Process:
        process = Process(
            "prometheus",
            [
                str(self._program),
                f"--config.file={self._folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port.number}",
                "--log.level=warn",
            ],
            log=self._folder / "prometheus.log",
        )
        try:
            eventually(lambda: self._is_ready(process), what="Prometheus to be ready")
        except BaseException:
            process.kill()
            raise
        return process

    def _is_ready(self, process: Process) -> bool:
        process.require_running()
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:
            return False


def find_prometheus(report: Report = print_progress) -> Path:
    """The server's program; as root on Debian it is installed where it is missing."""
    found = shutil.which("prometheus")
    if found is None:
        _install(report)
        found = shutil.which("prometheus")
    if found is None:
        raise BedError("there is no prometheus on the PATH; install it and try again")
    return Path(found)


def _install(report: Report) -> None:
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        raise BedError(
            f"Prometheus is missing; install it, for example: apt-get install {_PACKAGE}"
        )
    report(f"==> installing Debian's package {_PACKAGE}")
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (
        [apt, "update", "-qq"],
        [apt, "install", "-y", "-qq", "--no-install-recommends", _PACKAGE],
    ):
        done = subprocess.run(words, env=environment, check=False, **quiet)  # type: ignore[call-overload]
        if done.returncode != 0:
            raise BedError(f"{' '.join(words)} failed: {done.stdout.strip()[-300:]}")


def _configuration(targets: Mapping[str, str], scrape_s: float) -> str:
    """JSON is YAML too."""
    jobs = [
        {"job_name": name, "honor_labels": True, "static_configs": [{"targets": [address]}]}
        for name, address in targets.items()
    ]
    interval = f"{round(scrape_s * 1000)}ms"
    settings = {"scrape_interval": interval, "scrape_timeout": interval}
    return json.dumps({"global": settings, "scrape_configs": jobs})
