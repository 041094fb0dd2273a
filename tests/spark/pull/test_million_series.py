"""A million series, by the limits that everybody has: refused or read, within bounded memory."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_spark.pull.prometheus import Source

pytestmark = pytest.mark.slow

LARGEST_MIB = Source(url="").most_bytes >> 20
MOST_MIB = 512
"""Half of what the operator's pod has by the chart."""
ASK = """
import pathlib, re, sys
from thalweg_spark.errors import SourceUnavailable
from thalweg_spark.pull.prometheus import Prometheus, Source
try:
    found = Prometheus(Source(url=sys.argv[1])).samples("m", window_s=30, at_s=100.0)
    print(len(found), sum(one.times_s.size for one in found))
except SourceUnavailable as error:
    print(error)
# What the kernel counts for a process by getrusage begins with its parent's.
print(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
"""


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


def asked(fake: FakePrometheus, items: Callable[[], Iterator[bytes]]) -> tuple[str, int, int]:
    """What a process of its own says of the answer; its memory and the answer's size in MiB."""
    body = b'{"status":"success","data":{"result":[' + b",".join(items()) + b"]}}"
    fake.answer_with = lambda _: (200, body)
    done = subprocess.run(
        [sys.executable, "-c", ASK, fake.url],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said, most_kib = done.stdout.splitlines()
    return said, int(most_kib) >> 10, len(body) >> 20


def test_a_million_series_are_refused(fake: FakePrometheus) -> None:
    one = b'{"metric":{"a":"%d"},"values":[[99,"1"]]}'
    said, most_mib, size_mib = asked(fake, lambda: (one % number for number in range(10**6)))
    assert size_mib < LARGEST_MIB, "it is their number that is too much"
    assert "more than 200000 series" in said
    assert most_mib < MOST_MIB


def test_a_body_that_is_too_large_is_refused(fake: FakePrometheus) -> None:
    one = b'{"metric":{"a":"%d","b":"' + b"x" * 900 + b'"},"values":[[99,"1"]]}'
    said, most_mib, size_mib = asked(fake, lambda: (one % number for number in range(10**5)))
    assert size_mib > LARGEST_MIB
    assert "larger than" in said
    assert most_mib < MOST_MIB


@pytest.mark.parametrize(("series", "samples"), [(190_000, 4), (1000, 2400)])
def test_as_much_as_is_allowed_is_read(fake: FakePrometheus, series: int, samples: int) -> None:
    values = b",".join(b'[%d.123,"%d"]' % (70 + at, 10**6 + at) for at in range(samples))
    one = b'{"metric":{"namespace":"n","task":"split-%d","vertex":"split","topology":"wc",'
    one += b'"pod":"wc-split-%d","to_vertex":"count","to_task":"count-0"},"values":[' + values
    one += b"]}"
    said, most_mib, size_mib = asked(fake, lambda: (one % (at, at) for at in range(series)))
    assert said == f"{series} {series * samples}"
    assert size_mib > 40
    assert most_mib < MOST_MIB
