"""The words of `python -m thalweg_testbed.kind`: what they do, and one line for those it lacks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from thalweg_fake_docker import FakeDocker, use_fakes
from thalweg_testbed.kind import __main__ as commands
from thalweg_testbed.kind.lifetime import Clusters
from thalweg_testbed.kind.records import Record, Records
from thalweg_testbed.kind.shape import Shape
from thalweg_testbed.latency.links import Link

OURS = "unix:///run/thalweg-docker/docker.sock"


class Bed:
    """The commands, on a cluster `thalweg` of two domains of two nodes."""

    def __init__(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.docker = FakeDocker()
        self.hosts: list[str | None] = []
        self._capsys = capsys
        self._records = Records(cache)
        Clusters(self.docker, report=lambda _: None).up("thalweg", domains=2, per_domain=2)

    @contextmanager
    def use_engine(self, *, host: str | None = None) -> Iterator[FakeDocker]:
        self.hosts.append(host)
        yield self.docker

    def say(self, words: str) -> tuple[int, str, list[str]]:
        """Return the code, what it printed, and its lines of errors and progress."""
        self._capsys.readouterr()
        code = commands.main(words.split())
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err.splitlines()

    def complaint(self, words: str) -> str:
        """Return the one line in which words are refused."""
        code, out, lines = self.say(words)
        assert (code, out) == (1, "")
        (line,) = (line for line in lines if not line.startswith("==> "))
        return line

    def record(self, name: str = "thalweg") -> Record:
        record = self._records.read(name)
        assert record is not None
        return record


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bed:
    use_fakes(monkeypatch)
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text("from,to,latency_s\na,b,0.01\nb,a,0.02,0.001,0.05\n")
    (tmp_path / "short.csv").write_text("# the sea\na,b\n")
    (tmp_path / "units.csv").write_text("a,b,10ms\n")
    (tmp_path / "long.csv").write_text("a,b,0.01,0,0,7\n")
    (tmp_path / "far.csv").write_text("a,b,11\n")
    (tmp_path / "alone.csv").write_text("a\n")
    bed = Bed(tmp_path, capsys)
    monkeypatch.setattr(commands, "use_engine", bed.use_engine)
    return bed


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("latency nofile.csv", "error: nofile.csv: No such file or directory: write `latency`,"),
        ("latency a", "error: a: No such file or directory: write `latency`, `latency off`,"),
        ("latency .", "error: .: Is a directory: write `latency`,"),
        ("latency a b", "error: write `latency`, `latency off`, `latency a b 10ms` or"),
        ("latency a b 10", "error: '10' is no duration: write 10ms, 500us or 0.2s"),
        ("latency a z 10ms", "error: no domain z: there are a, b, control-plane"),
        ("latency a a 10ms", "error: no latency within domain a: only between two"),
        ("latency a b 1ms --jitter 2ms", "error: jitter is between 0 and the latency"),
        ("latency a b 1ms --loss 100", "error: --loss is per cent of the packets, 0 to below 100"),
        ("latency off --loss 5", "error: --back, --jitter and --loss go with `latency a b 10ms`"),
        ("latency good.csv --jitter 1ms", "error: --back, --jitter and --loss go with `latency"),
        ("latency short.csv", "error: short.csv: line 2, 'a,b': write from,to,latency_s[,jitter"),
        ("latency alone.csv", "error: alone.csv: line 1, 'a': write from,to,latency_s[,jitter"),
        ("latency long.csv", "error: long.csv: line 1, 'a,b,0.01,0,0,7': write from,to,latency"),
        ("latency units.csv", "error: units.csv: line 1, 'a,b,10ms': latency and jitter are sec"),
        ("latency far.csv", "error: far.csv: line 1, 'a,b,11': a latency is between 0 and 10 s"),
        ("partition a a", "error: domain a cannot be cut off from itself: name two domains"),
        ("partition a z", "error: no domain z: there are a, b, control-plane"),
        ("heal a", "error: write `heal` for all partitions, or `heal a b` for the one between"),
        ("heal a b control-plane", "error: write `heal` for all partitions, or `heal a b` for"),
        ("heal a z", "error: no domain z: there are a, b, control-plane"),
        ("sleep control-plane-0", "error: node control-plane-0 has the API server, without which"),
        ("crash control-plane-0", "error: node control-plane-0 has the API server, without which"),
        ("sleep z-9", "error: no node z-9: there are thalweg-control-plane, thalweg-worker,"),
        ("up --domains 3", "error: cluster thalweg is up and has 2 domains of 2 nodes, not 3"),
        ("up --name b --domains 0", "error: a cluster has at least one domain of one node"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(bed: Bed, words: str, complaint: str) -> None:
    assert bed.complaint(words).startswith(complaint)


@pytest.mark.parametrize("words", ["partition a", "sleep", "up --domains many", "fly", "load"])
def test_words_that_are_missing_or_wrong_are_explained(
    bed: Bed, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        commands.main(words.split())
    assert raised.value.code == 2
    assert "usage: python -m thalweg_testbed.kind" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["status", "latency", "wake a-0"])
def test_without_a_cluster_it_is_said_how_to_get_one(bed: Bed, words: str) -> None:
    said = "==> no cluster other is up: start one with `make kind`\n"
    assert bed.say(f"{words} --name other") == (1, said, [])


def test_latency_is_set_in_both_directions_and_loss_is_per_cent(bed: Bed) -> None:
    code, out, _ = bed.say("latency a b 5ms --back 40ms --jitter 1ms --loss 0.5")
    assert code == 0
    assert out.startswith("==> by nfqueue\n")
    assert bed.record().links.links == {
        ("a", "b"): Link(latency_s=0.005, jitter_s=0.001, loss=0.005),
        ("b", "a"): Link(latency_s=0.04, jitter_s=0.001, loss=0.005),
    }


def test_a_file_says_it_all_and_off_is_off(bed: Bed) -> None:
    assert bed.say("latency a control-plane 5ms")[0] == 0
    assert bed.say("latency good.csv")[0] == 0
    assert bed.record().links.links == {
        ("a", "b"): Link(latency_s=0.01),
        ("b", "a"): Link(latency_s=0.02, jitter_s=0.001, loss=0.05),
    }
    assert bed.say("latency off")[0] == 0
    assert bed.record().links.links == {}


def test_measuring_is_an_error_where_it_is_not_as_asked(bed: Bed) -> None:
    assert bed.say("latency a b 5ms")[0] == 0
    assert bed.say("latency")[0] == 0
    bed.docker.forget()
    code, _, lines = bed.say("latency")
    assert code == 1
    assert "error: latency by nfqueue:" in lines


def test_partitions_begin_and_end(bed: Bed) -> None:
    assert bed.say("partition b a")[0] == 0
    assert bed.say("partition a control-plane")[0] == 0
    assert bed.record().partitions == (("a", "b"), ("a", "control-plane"))
    assert bed.say("heal a b")[0] == 0
    assert bed.record().partitions == (("a", "control-plane"),)
    assert bed.say("heal")[0] == 0
    assert bed.record().partitions == ()


def test_nodes_live_die_and_are_shown(bed: Bed) -> None:
    for words in ("sleep a-0", "sleep a-0", "crash b-1", "crash b-1"):
        assert bed.say(words)[0] == 0
    code, out, _ = bed.say("status")
    rows = {line.split()[1]: line.split()[3:5] for line in out.splitlines() if "thalweg-" in line}
    assert code == 0
    assert rows["a-0"] == ["paused", "no"]
    assert rows["b-1"] == ["exited", "no"]
    for words in ("wake a-0", "start b-1"):
        assert bed.say(words)[0] == 0
    assert set(bed.docker.states.values()) == {"running"}


@pytest.mark.parametrize("words", ["--name other up --nodes 1", "up --name other --nodes 1"])
def test_a_name_may_stand_before_or_after_the_verb(bed: Bed, words: str) -> None:
    code, out, _ = bed.say(words)
    assert code == 0
    assert "    make kind-down    # removes it\n" in out
    # What is not said is as usual.
    assert bed.record("other").shape == Shape(domains=4, per_domain=1)
    assert (
        bed.say(f"{words.split(maxsplit=1)[0]} other status"[0:0] + "status --name other")[0] == 0
    )
    assert bed.say("--name other down") == (0, "==> removed other\n", [])
    assert "thalweg-control-plane" in bed.docker.states
    assert "other-control-plane" not in bed.docker.states


def test_a_cluster_is_sought_in_the_docker_that_has_it(bed: Bed) -> None:
    assert bed.say("status")[0] == 0
    assert bed.say("up")[0] == 0
    assert bed.hosts == ["", ""]
    bed._records.write(Record(name="ours", docker_host=OURS))
    bed.docker = FakeDocker(OURS)
    assert bed.say("down --name ours")[0] == 0
    assert bed.hosts[-1] == OURS
    assert bed.say("up --name new")[0] == 0
    assert bed.hosts[-1] is None


def test_our_own_docker_is_named_for_whoever_looks_into_it(bed: Bed) -> None:
    assert "DOCKER_HOST" not in bed.say("up")[1]
    bed.docker = FakeDocker(OURS)
    assert f"    export DOCKER_HOST={OURS}\n" in bed.say("up --name new")[1]


def test_down_without_a_cluster_is_no_error(bed: Bed) -> None:
    assert bed.say("down --name other")[0] == 0
    assert bed.hosts == []
