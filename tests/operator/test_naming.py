"""Names are deterministic and fit; labels that somebody has spoilt name nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey

names = st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)


@given(vertex=names, index=st.integers(0, 1023), incarnation=st.integers(1, 2**53))
def test_a_task_is_read_back_from_its_labels(vertex: str, index: int, incarnation: int) -> None:
    labels = {
        naming.VERTEX: vertex,
        naming.TASK: str(index),
        naming.INCARNATION: str(incarnation),
    }
    assert naming.task_of(labels) == TaskKey(vertex=vertex, index=index)
    assert naming.incarnation_of(labels) == incarnation


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {naming.VERTEX: "split"},
        {naming.TASK: "0"},
        {naming.VERTEX: "", naming.TASK: "0"},
        {naming.VERTEX: "split", naming.TASK: ""},
        {naming.VERTEX: "split", naming.TASK: "-1"},
        {naming.VERTEX: "split", naming.TASK: "1.5"},
        {naming.VERTEX: "split", naming.TASK: "zero"},
    ],
)
def test_spoilt_labels_name_no_task(labels: dict[str, str]) -> None:
    assert naming.task_of(labels) is None


@pytest.mark.parametrize("text", ["", "-1", "x", "1e3"])
def test_a_spoilt_incarnation_is_the_oldest(text: str) -> None:
    assert naming.incarnation_of({naming.INCARNATION: text}) == 0
    assert naming.incarnation_of({}) == 0


def test_the_longest_names_fit_a_host_name_for_a_million_incarnations() -> None:
    task = TaskKey(vertex="v" * 20, index=1023)
    assert len(naming.pod_name("t" * 30, task, 999_999)) <= 63
    assert len(naming.routes_object("t" * 30, "v" * 20)) <= 63


def test_two_pods_of_a_topology_never_share_a_name() -> None:
    pods = {
        naming.pod_name("t", TaskKey(vertex=vertex, index=index), incarnation)
        for vertex in ("a", "a-1", "a-1-1", "b")
        for index in (0, 1, 11)
        for incarnation in (1, 11, 111)
    }
    assert len(pods) == 4 * 3 * 3


def test_tasks_come_in_the_order_of_their_numbers() -> None:
    keys = [
        TaskKey(vertex="b", index=0),
        TaskKey(vertex="a", index=10),
        TaskKey(vertex="a", index=9),
    ]
    assert [key.name for key in sorted(keys)] == ["a-9", "a-10", "b-0"]


def test_the_selector_leaves_retiring_pods_out() -> None:
    assert naming.active_selector("t", "v")[naming.STATE] == naming.ACTIVE


SHARED = {naming.PROCESS: "3", naming.INCARNATION: "9"}


def test_a_shared_pod_names_its_process_and_its_tasks() -> None:
    notes = {naming.TASKS: "read-0,read-lines-12"}
    assert naming.process_index_of(SHARED) == 3
    assert naming.unit_name_of(SHARED) == "p3"
    assert [task.name for task in naming.tasks_of(SHARED, notes)] == ["read-0", "read-lines-12"]


def test_a_pod_of_one_task_names_that() -> None:
    labels = {naming.VERTEX: "split", naming.TASK: "2"}
    assert naming.tasks_of(labels, {}) == (TaskKey(vertex="split", index=2),)
    assert (naming.unit_name_of(labels), naming.process_index_of(labels)) == ("split-2", None)


@pytest.mark.parametrize("text", ["", ",", "read", "-1", "read-", "read-x"])
def test_what_is_no_task_is_left_out(text: str) -> None:
    assert naming.tasks_of(SHARED, {naming.TASKS: text}) == ()


@pytest.mark.parametrize("labels", [{}, {naming.PROCESS: ""}, {naming.PROCESS: "three"}])
def test_a_pod_that_was_set_aside_names_nothing(labels: dict[str, str]) -> None:
    assert naming.unit_name_of(labels) is None
    assert naming.tasks_of(labels, {naming.TASKS: "read-0"}) == ()
