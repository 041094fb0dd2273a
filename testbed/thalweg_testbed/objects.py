"""An object store on the loopback that speaks S3: Versity's gateway over a folder.

`python -m thalweg_testbed.objects` builds it, once.
"""

import secrets
import sys
import urllib.error
import urllib.request
from pathlib import Path

from thalweg_testbed.binaries import OBJECTS, Report, find_binaries, print_progress
from thalweg_testbed.errors import BedError
from thalweg_testbed.ports import Port
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually

_BUCKET = "matrices"


class ObjectStore:
    """A server with one bucket."""

    def __init__(self, folder: Path, *, report: Report = print_progress) -> None:
        """Start it and wait until it answers."""
        program = find_object_store(report)
        self._port = Port()
        self._key, self._secret = "thalweg", secrets.token_hex(16)
        buckets = folder / "buckets"
        (buckets / _BUCKET).mkdir(parents=True)
        try:
            self._process = Process(
                OBJECTS.name,
                [str(program), f"--port=127.0.0.1:{self._port.number}", "posix", str(buckets)],
                log=folder / "objects.log",
                env={"ROOT_ACCESS_KEY": self._key, "ROOT_SECRET_KEY": self._secret},
            )
            try:
                eventually(self._is_ready, what="the object store to answer")
            except BaseException:
                self._process.kill()
                raise
        except BaseException:
            self._port.release()
            raise

    def address(self, path: str, *, secret: str | None = None) -> str:
        """The address of a folder in the bucket, as pyarrow takes it."""
        options = {
            "endpoint_override": f"127.0.0.1:{self._port.number}",
            "scheme": "http",
            "region": "us-east-1",
        }
        words = "&".join(f"{name}={value}" for name, value in options.items())
        return f"s3://{self._key}:{secret or self._secret}@{_BUCKET}/{path}?{words}"

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._port.release()

    def _is_ready(self) -> bool:
        self._process.require_running()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port.number}/", timeout=2):
                return True
        except urllib.error.HTTPError:
            # Without credentials it refuses, which is an answer.
            return True
        except OSError:
            return False


def find_object_store(report: Report = print_progress) -> Path:
    """The server's program, built where it is missing."""
    return find_binaries([OBJECTS], report=report)[OBJECTS.name]


if __name__ == "__main__":
    try:
        find_object_store()
    except BedError as error:
        sys.exit(f"error: {error}")
