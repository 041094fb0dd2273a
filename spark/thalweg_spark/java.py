"""The Java that Spark runs on."""

import os
import shutil

from thalweg_spark.errors import SparkUnavailable


def require_java() -> str:
    """The path of the java program that Spark will use; refuses when there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    if found is None:
        raise SparkUnavailable(
            "Spark needs Java 17 or later, and there is none: install it (Debian: apt-get install"
            " openjdk-17-jre-headless) or use the engine numpy"
        )
    return found
