"""One SparkSession for all tests that need one: it takes seconds to start."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session() -> "Iterator[SparkSession]":
    from thalweg_spark.session import spark_session

    with spark_session("local[2]") as found:
        yield found
