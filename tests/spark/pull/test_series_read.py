"""What is told twice counts once; what a label says of another's pod does not count."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.condense.rates import mean_rate
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Tables, Windows, condense
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.reading import Reading, in_order, merged, whole

AT_S = 1000.0
RATE = 40.0
TASK = {"namespace": "n", "topology": "wc", "vertex": "split", "task": "split-0", "pod": "p"}
FLINK = {
    "job_name": "wc",
    "task_name": "split",
    "subtask_index": "0",
    "tm_id": "tm-1",
    "namespace": "n",
    "pod": "tm-1",
}


def counter(labels: dict[str, str], times: Any = None, *, ahead_s: float = 0.0) -> Series:
    """What rises steadily, as told by a server whose clock is ahead."""
    at = np.arange(AT_S - 100, AT_S + 1, 5.0) if times is None else np.asarray(times, float)
    found = clean_series(labels, np.stack((at, RATE * (at - ahead_s)), axis=1))
    assert found is not None
    return found


def rates(preset: str, fact: str, *found: Series) -> list[float]:
    """Tuples/s of each series that is left."""
    read = Reading(preset=load_preset(preset)).read(fact, found)
    return [mean_rate([one]) for one in read]


TWICE = [
    pytest.param({"job": "a"}, {"job": "b"}, id="two jobs"),
    pytest.param({"instance": "10.0.0.1:80"}, {"instance": "p:80"}, id="two addresses"),
    pytest.param({"prometheus_replica": "0"}, {"prometheus_replica": "1"}, id="two Prometheus"),
    pytest.param({"replica": "a"}, {"replica": "b"}, id="replicas as Thanos calls them"),
    pytest.param({"job": "a", "endpoint": "m", "service": "s"}, {"job": "b"}, id="other labels"),
]


@pytest.mark.parametrize(("one", "other"), TWICE)
def test_a_pod_that_is_scraped_twice_counts_once(
    one: dict[str, str], other: dict[str, str]
) -> None:
    native = [counter({**TASK, **one}), counter({**TASK, **other})]
    assert rates("thalweg", "processed", *native) == [RATE]
    flink = [counter({**FLINK, **one}), counter({**FLINK, **other})]
    assert rates("flink", "processed", *flink) == [RATE]


def test_of_our_own_contract_no_other_label_matters() -> None:
    """One job puts the pod's labels and its node on what it scrapes, another does not."""
    told = {**TASK, "app": "wc", "container": "worker", "node": "a"}
    (read,) = Reading(preset=load_preset("thalweg")).read(
        "processed", [counter(TASK), counter(told)]
    )
    assert read.labels["node"] == "a", "and what one of them knows is known"


@pytest.mark.parametrize(
    ("preset", "labels", "apart"),
    [
        ("flink", FLINK, ({"tm_id": "tm-1"}, {"tm_id": "tm-2"})),
        ("flink", {**FLINK, "pod": ""}, ({"instance": "a"}, {"instance": "b"})),
        (
            "numaflow",
            {"pipeline": "wc", "vertex": "split", "namespace": "n", "pod": "q"},
            (
                {"replica": "0", "partition_name": "x"},
                {"replica": "0", "partition_name": "y"},
                {"replica": "1", "partition_name": "x"},
            ),
        ),
    ],
)
def test_what_tells_others_series_apart_stays(
    preset: str, labels: dict[str, str], apart: tuple[dict[str, str], ...]
) -> None:
    found = [counter({**labels, **more}) for more in apart]
    assert rates(preset, "processed", *found) == [RATE] * len(apart)


def test_equal_exporters_that_name_no_place_are_told_apart_by_their_address() -> None:
    storm = {"topology_name": "wc", "bolt_id": "count", "namespace": "n"}
    servers = [counter({**storm, "prometheus_replica": one}) for one in "ab"]
    assert len(rates("storm", "processed", *servers)) == 1
    exporters = [counter({**storm, "instance": one}) for one in "ab"]
    assert len(rates("storm", "processed", *exporters)) == 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_twin_changes_nothing_of_what_is_whole(seed: int) -> None:
    """Whatever its phase, its clock, and how much of it is missing."""
    rng = np.random.default_rng(seed)
    pace_s = float(rng.choice([1.0, 5.0, 15.0]))
    times = np.arange(AT_S - 300, AT_S + 0.1, pace_s)
    one = counter({**TASK, "job": "a"}, times)
    shifted = times[1:-1] + rng.uniform(-0.49, 0.49) * pace_s
    kept = shifted[rng.random(shifted.size) < rng.uniform(0.2, 1.0)]
    twins = [one]
    if kept.size:
        twins.append(counter({**TASK, "job": "b"}, kept, ahead_s=rng.uniform(-0.2, 0.2) * pace_s))
    order = rng.permutation(len(twins))
    (read,) = Reading(preset=load_preset("thalweg")).read(
        "processed", [twins[int(index)] for index in order]
    )
    assert read.times_s.tolist() == one.times_s.tolist()
    assert read.values.tolist() == one.values.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_one_missed_the_other_tells(seed: int) -> None:
    """Two servers with gaps of their own: never less is covered, and no rise counts twice."""
    rng = np.random.default_rng(seed)
    times = np.arange(AT_S - 300, AT_S + 0.1, 5.0)
    phase_s = rng.uniform(0, 5)
    shares = rng.uniform(0.2, 0.9, 2)
    both = [
        counter(TASK, at[rng.random(at.size) < share] if rng.random() < 0.9 else at[:2])
        for at, share in zip((times, times + phase_s), shares, strict=True)
        if at.size
    ]
    found = merged(both)
    assert (np.diff(found.times_s) > 0).all()
    assert found.times_s.size >= max(one.times_s.size for one in both)
    assert found.times_s[0] <= max(one.times_s[0] for one in both)
    assert mean_rate([found]) == pytest.approx(RATE)


def tables(reading: Reading, found: dict[str, list[Series]], expected: Any = None) -> Tables:
    pulled = {fact: reading.read(fact, series) for fact, series in found.items()}
    parsed = None if expected is None else parse_expectation(expected)
    return condense(pulled, parsed, at_s=AT_S, windows=Windows())


def test_tables_are_those_without_twins() -> None:
    edge = {**TASK, "to_vertex": "count", "to_task": "count-0", "node": "a"}
    facts = {
        "processed": TASK,
        "queue": TASK,
        "memory": TASK,
        "tuples": edge,
        "rtt": {"source_node": "a", "target_node": "b"},
        "pod_cpu": {"namespace": "n", "pod": "p", "container": "worker", "id": "/x"},
        "node_receive": {"node": "a", "device": "eth0"},
    }
    reading = Reading(preset=load_preset("thalweg"))
    once = tables(reading, {fact: [counter(labels)] for fact, labels in facts.items()})
    twice = tables(
        reading,
        {
            fact: [counter({**labels, "job": job, "instance": job}) for job in ("x", "y")]
            for fact, labels in facts.items()
        },
    )
    assert json.dumps(once) == json.dumps(twice)
    (load,) = once["task_load"]
    assert load["processed_per_s"] == pytest.approx(RATE)


def expectation() -> dict[str, Any]:
    def topology(name: str, pod: str) -> dict[str, Any]:
        task = {"name": "split-0", "pod": pod, "node": "a", "since_s": 0.0}
        vertices = [{"name": "split", "tasks": [task]}]
        return {"namespace": "n", "name": name, "vertices": vertices, "edges": []}

    return {"topologies": [topology("wc", "p"), topology("mine", "m")], "nodes": []}


def test_a_pod_speaks_for_its_own_topology_alone() -> None:
    """The pod of one says that it did the work of another."""
    owners = parse_expectation(expectation()).owners
    reading = Reading(preset=load_preset("thalweg"), owners=owners)
    found = [
        counter(TASK),
        counter({**TASK, "pod": "m", "task": "split-0"}),
        counter({**TASK, "pod": "an old one"}, np.arange(AT_S - 300, AT_S - 200, 5.0)),
        counter({**TASK, "topology": "mine", "pod": "m"}),
    ]
    left = [(one.labels["topology"], one.labels["pod"]) for one in reading.read("processed", found)]
    assert left == [("wc", "p"), ("wc", "an old one"), ("mine", "m")]
    again = Reading.of_document(json.loads(json.dumps(reading.document())))
    assert again == reading


def test_what_says_nothing_of_topologies_is_nobodys_lie() -> None:
    reading = Reading(preset=load_preset("thalweg"), owners={("n", "p"): frozenset({"wc"})})
    assert len(reading.read("pod_cpu", [counter({"namespace": "n", "pod": "p"})])) == 1


def test_pieces_of_a_series_are_one_though_its_node_was_told_late() -> None:
    early, late = np.arange(0, 50, 5.0), np.arange(45, 100, 5.0)
    (found,) = whole([counter({**TASK, "node": ""}, early), counter({**TASK, "node": "a"}, late)])
    assert found.labels["node"] == "a"
    assert found.times_s.tolist() == np.arange(0, 100, 5.0).tolist()


def test_what_is_needed_is_asked_for_first() -> None:
    facts = in_order(["pod_cpu", "processed", "node_io", "tuples"])
    assert facts == ["processed", "tuples", "pod_cpu", "node_io"]


def test_one_sample_each_is_no_rate() -> None:
    found = merged([counter(TASK, [10.0]), counter(TASK, [10.0])])
    assert found.times_s.tolist() == [10.0]
    assert math.isnan(mean_rate([found]))
