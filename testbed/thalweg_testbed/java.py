"""Java for Spark: found, or as root on Debian installed; `python -m thalweg_testbed.java`."""

import os
import shutil
import sys
from pathlib import Path

from thalweg_testbed.binaries import Report, print_progress
from thalweg_testbed.docker.host import read_host
from thalweg_testbed.docker.packages import require
from thalweg_testbed.errors import BedError


def find_java(report: Report = print_progress) -> Path:
    """The java program that Spark will use."""
    home = os.environ.get("JAVA_HOME")
    if home and shutil.which(f"{home}/bin/java"):
        return Path(home) / "bin" / "java"
    require(
        read_host(),
        {"java": "openjdk-17-jre-headless"},
        purpose="for Spark",
        report=report,
    )
    found = shutil.which("java")
    if found is None:
        raise BedError("there is no java on the PATH; install Java 17 or later and try again")
    return Path(found)


if __name__ == "__main__":
    try:
        find_java()
    except BedError as error:
        sys.exit(f"error: {error}")
