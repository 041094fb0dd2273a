"""What is remembered of clusters, and which of them were left by a killed run."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from thalweg_testbed.background import birth_of
from thalweg_testbed.kind.records import Record, Records
from thalweg_testbed.latency.links import Link, Links


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    records = Records(tmp_path)
    record = Record(
        name="one",
        docker_host="unix:///x",
        links=Links(links={("a", "b"): Link(latency_s=0.01, jitter_s=0.001, loss=0.1)}),
        partitions=(("a", "b"), ("b", "c")),
    ).owned()
    records.write(record)
    assert records.read("one") == record
    assert records.names() == ["one"]
    records.forget("one")
    assert records.read("one") is None
    assert records.names() == []


def test_a_cluster_of_a_living_process_is_not_abandoned() -> None:
    own = Record(name="one", docker_host="").owned()
    assert own.owner_pid == os.getpid()
    assert not own.is_abandoned()


def test_a_kept_cluster_is_never_abandoned() -> None:
    assert not Record(name="one", docker_host="").is_abandoned()


def test_a_cluster_of_a_dead_process_is_abandoned() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    record = Record(
        name="one",
        docker_host="",
        owner_pid=child.pid,
        owner_birth=birth_of(child.pid) or "",
    )
    assert not record.is_abandoned()
    child.communicate(b"\n")
    assert record.is_abandoned()


def test_a_process_id_given_away_again_does_not_count() -> None:
    own = Record(name="one", docker_host="").owned()
    assert replace(own, owner_birth="another boot/1").is_abandoned()


def test_clusters_are_told_apart_by_their_docker(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for name, host in [("one", ""), ("two", "unix:///x")]:
        records.write(Record(name=name, docker_host=host))
    assert [record.name for record in records.of_docker("unix:///x")] == ["two"]


def test_a_record_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.write(Record(name="one", docker_host=""))
    (records.directory("one") / "record.json").write_text("{")
    assert records.read("one") is None
