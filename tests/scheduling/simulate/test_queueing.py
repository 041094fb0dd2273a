"""The closed forms of queueing theory."""

from math import factorial

import numpy as np
import pytest

from thalweg_scheduling.simulate.queueing import erlang_c, harmonic, slowdown, waiting_s


def erlang_c_by_definition(servers: int, load: float) -> float:
    full = load**servers / factorial(servers) * servers / (servers - load)
    return full / (sum(load**k / factorial(k) for k in range(servers)) + full)


@pytest.mark.parametrize("servers", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.95, 0.999])
def test_erlang_c(servers: int, share: float) -> None:
    expected = erlang_c_by_definition(servers, share * servers)
    actual = float(erlang_c(np.array(float(servers)), np.array(share * servers)))
    assert actual == pytest.approx(expected, rel=1e-9)


def test_fractions_of_a_server_lie_between_whole_ones() -> None:
    chances = erlang_c(np.array([2.0, 2.5, 3.0]), np.array([1.5, 1.5, 1.5]))
    assert chances[0] > chances[1] > chances[2]


def test_at_the_edges() -> None:
    servers, load = np.array([1.0, 2.0, 2.0, np.nan]), np.array([0.0, 2.0, 5.0, 1.0])
    assert erlang_c(servers, load).tolist()[:3] == [0, 1, 1]
    assert np.isnan(erlang_c(servers, load)[3])
    assert slowdown(servers, load).tolist()[:3] == [1, np.inf, np.inf]
    assert np.isnan(slowdown(servers, load)[3])


def test_many_servers_stay_finite() -> None:
    assert 0 < float(erlang_c(np.array(4000.0), np.array(3990.0))) < 1


@pytest.mark.parametrize("load", [0.0, 0.2, 0.9])
def test_one_server_is_shared_as_in_processor_sharing(load: float) -> None:
    assert float(slowdown(np.array(1.0), np.array(load))) == pytest.approx(1 / (1 - load))


@pytest.mark.parametrize("several", [1.0, 3.0, np.inf])
def test_one_server_is_shared_by_however_many(several: float) -> None:
    assert float(slowdown(np.array(1.0), np.array(0.6), several)) == pytest.approx(2.5)


def test_few_others_take_fewer_servers() -> None:
    servers, others = np.full(5, 3.0), np.full(5, 1.8)
    factors = slowdown(servers, others, np.array([2.0, 3.0, 6.0, 1e9, np.inf]))
    assert factors[0] == pytest.approx(1, abs=0.02)
    assert np.all(np.diff(factors[:4]) > 0)
    assert factors[3] == pytest.approx(factors[4])


@pytest.mark.parametrize("tasks", [3, 4, 9])
def test_beside_others_that_never_rest_a_task_never_rests(tasks: int) -> None:
    # Two servers, and equal tasks that could use more than two: each has its part of them.
    load = 2.0 / tasks
    factor = float(slowdown(np.array(2.0), np.array(2.0 - load), tasks - 1.0))
    assert load * factor == pytest.approx(1)


@pytest.mark.parametrize(("service_cv2", "expected"), [(1.0, 9.0), (0.0, 4.5)])
def test_waiting_of_mm1_and_md1(service_cv2: float, expected: float) -> None:
    waits = waiting_s(np.array([0.9]), np.array([1.0]), arrival_cv2=1.0, service_cv2=service_cv2)
    assert waits.tolist() == pytest.approx([expected])


def test_a_full_queue_waits_for_ever() -> None:
    waits = waiting_s(np.array([1.0, 2.0]), np.ones(2), arrival_cv2=1.0, service_cv2=1.0)
    assert waits.tolist() == [np.inf, np.inf]


def test_the_largest_of_n() -> None:
    numbers = harmonic(np.array([1.0, 2.0, 4.0]))
    assert numbers.tolist() == pytest.approx([1, 1.5, 1 + 1 / 2 + 1 / 3 + 1 / 4])
