"""Requests are counted as kube-scheduler counts them."""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_operator.observe.requests import enlarged, quantity, requests_of

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100m", 0.1),
        ("1.5Gi", 1.5 * 2**30),
        (".5", 0.5),
        ("5.", 5.0),
        ("+2", 2.0),
        ("-2k", -2000.0),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1E", 1e18),
        ("12e-3", 0.012),
        ("1e+2", 100.0),
        ("0", 0.0),
        (4, 4.0),
        (0.25, 0.25),
        (1e22, float(2**63 - 1)),
        ("1e9999", float(2**63 - 1)),
        ("100E", float(2**63 - 1)),
    ],
)
def test_quantity_reads_every_notation(text: str | float, value: float) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        "1 Gi",
        "1gi",
        "1K",
        "1mi",
        "1e",
        "1e3m",
        "--1",
        "1.2.3",
        "٣",
        "1\n",
        "nan",
        "inf",
        "0x1",
    ],
)
def test_quantity_refuses_what_kubernetes_refuses_and_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity") as refused:
        quantity(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("number", [True, float("nan"), float("inf")])
def test_quantity_refuses_numbers_that_are_none(number: float) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity(number)


@settings(max_examples=50)
@given(
    units=st.integers(min_value=-(10**6), max_value=10**6),
    thousandths=st.integers(min_value=0, max_value=999),
    suffix=st.sampled_from(sorted(SUFFIXES)),
)
def test_quantity_is_number_times_suffix(units: int, thousandths: int, suffix: str) -> None:
    number = f"{units}.{thousandths:03}"
    limit = Fraction(2**63 - 1)
    exact: Fraction = max(-limit, min(limit, Fraction(number) * SUFFIXES[suffix]))
    assert quantity(number + suffix) == pytest.approx(float(exact), rel=1e-12)


@settings(max_examples=50)
@given(st.from_regex(r"[+-]?[0-9]{1,30}[eE][+-]?[0-9]{1,4}", fullmatch=True))
def test_quantity_is_finite_however_large_the_exponent(text: str) -> None:
    assert abs(quantity(text)) <= 2**63


def container(
    *,
    requests: Mapping[str, object] | None = None,
    limits: Mapping[str, object] | None = None,
    restart: str | None = None,
) -> dict[str, object]:
    made: dict[str, object] = {"resources": {"requests": requests, "limits": limits}}
    return made | ({"restartPolicy": restart} if restart else {})


def sidecar(cpu: str) -> dict[str, object]:
    return container(requests={"cpu": cpu}, restart="Always")


def cpu_of(*containers: str, init: tuple[Mapping[str, object], ...] = ()) -> float:
    spec = {
        "containers": [container(requests={"cpu": cpu}) for cpu in containers],
        "initContainers": list(init),
    }
    return requests_of(spec)["cpu"]


def test_containers_add_up_and_the_pod_counts_as_one() -> None:
    spec = {
        "containers": [
            container(requests={"cpu": "500m", "memory": "1Gi"}),
            container(requests={"cpu": 1, "nvidia.com/gpu": "2"}),
        ]
    }
    assert requests_of(spec) == {"cpu": 1.5, "memory": 2.0**30, "nvidia.com/gpu": 2.0, "pods": 1.0}


def test_a_limit_stands_in_for_a_missing_request_only() -> None:
    spec = {"containers": [container(requests={"cpu": "1"}, limits={"cpu": "4", "memory": "8"})]}
    assert requests_of(spec) == {"cpu": 1.0, "memory": 8.0, "pods": 1.0}


@pytest.mark.parametrize(
    ("init", "cpu"),
    [
        ((container(requests={"cpu": "1"}), container(requests={"cpu": "2"})), 3.0),
        ((container(requests={"cpu": "5"}), container(requests={"cpu": "2"})), 5.0),
        ((sidecar("1"),), 4.0),
        ((sidecar("1"), container(requests={"cpu": "5"})), 6.0),
        ((container(requests={"cpu": "5"}), sidecar("1")), 5.0),
        ((sidecar("1"), sidecar("2"), container(requests={"cpu": "4"})), 7.0),
    ],
    ids=[
        "below the containers",
        "the largest alone",
        "a sidecar stays",
        "beside the sidecar before it",
        "not beside the sidecar after it",
        "beside all sidecars before it",
    ],
)
def test_init_containers_count_by_what_runs_beside_them(
    init: tuple[Mapping[str, object], ...], cpu: float
) -> None:
    assert cpu_of("1", "2", init=init) == cpu


def test_overhead_comes_on_top() -> None:
    spec = {"containers": [container(requests={"cpu": "1"})], "overhead": {"cpu": "250m"}}
    assert requests_of(spec)["cpu"] == 1.25


@pytest.mark.parametrize(
    ("pod_level", "expected"),
    [
        ({"requests": {"cpu": "3"}}, {"cpu": 3.0, "pods": 1.0}),
        ({"limits": {"cpu": "3", "memory": "9"}}, {"cpu": 1.0, "memory": 9.0, "pods": 1.0}),
        ({"requests": {"example.com/lamp": "1"}}, {"cpu": 1.0, "pods": 1.0}),
        (
            {"limits": {"hugepages-2Mi": "4Mi"}},
            {"cpu": 1.0, "hugepages-2Mi": 4.0 * 2**20, "pods": 1.0},
        ),
    ],
    ids=["replaces the sum", "a limit fills a gap", "only cpu, memory, huge pages", "huge pages"],
)
def test_pod_level_resources(
    pod_level: Mapping[str, object], expected: Mapping[str, float]
) -> None:
    spec = {"containers": [container(requests={"cpu": "1"})], "resources": pod_level}
    assert requests_of(spec) == expected


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"containers": None, "initContainers": "none", "overhead": []},
        {"containers": [None, 3, {"resources": {"requests": {"cpu": "lots", "memory": []}}}]},
    ],
)
def test_strange_specs_ask_for_nothing_but_a_place(spec: Mapping[str, object]) -> None:
    assert requests_of(spec) == {"pods": 1.0}


@pytest.mark.parametrize(
    ("amount", "tripled"),
    [
        ("250m", "750m"),
        ("64Mi", "192Mi"),
        ("0.5", "1.5"),
        ("1e3", "3e3"),
        (2, "6"),
        (".5Gi", "1.5Gi"),
        ("nonsense", "nonsense"),
    ],
)
def test_an_enlarged_worker_gets_as_much_more(amount: str | int, tripled: str) -> None:
    resources = {"requests": {"cpu": amount}, "limits": {"x/y": amount}}
    worker = {"name": "w", "resources": resources}
    sidecar = {"name": "s", "resources": {"requests": {"cpu": "10m"}}}
    (first, second) = enlarged({"spec": {"containers": [worker, sidecar]}}, 3)["spec"]["containers"]
    assert first["resources"] == {"requests": {"cpu": tripled}, "limits": {"x/y": tripled}}
    assert second == sidecar
    assert resources["requests"] == {"cpu": amount}, "the template is left as it was"


def test_an_enlarged_pod_gets_as_much_more_of_its_own() -> None:
    template = {"spec": {"containers": [{"name": "w"}], "resources": {"limits": {"cpu": "1"}}}}
    made = enlarged(template, 2)["spec"]
    assert made["resources"] == {"limits": {"cpu": "2"}}
    assert made["containers"] == [{"name": "w"}]


def test_for_one_task_a_template_is_as_it_was() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "w"}]}}
    assert enlarged(template, 1) == template
    assert enlarged(template, 2) == template
