"""`thalweg plan` answers from files alone, and its numbers can be checked by hand."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from thalweg_commands import Thalweg

FIELDS = {
    "strategy",
    "assignments",
    "processes",
    "objective",
    "overloaded",
    "replicas",
    "weights",
    "asleep",
    "predicted",
    "reasons",
    "planning_seconds",
}
TASKS = {
    "read": ["read-0", "read-1"],
    "split": ["split-0", "split-1", "split-2"],
    "count": ["count-0", "count-1", "count-2"],
}
RATES = {("read", "split"): 3000.0, ("split", "count"): 24000.0}
STRATEGIES = ("Auto", "Even", "ResourceAware")


def objective(assignments: dict[str, str], seconds: dict[str, float]) -> float:
    """J by its definition: every task pair by itself, with the classes of nearness."""
    total = 0.0
    for (source, target), rate in RATES.items():
        pairs = list(product(TASKS[source], TASKS[target]))
        for u, v in pairs:
            a, b = assignments[u], assignments[v]
            word = "node" if a == b else "domain" if a[0] == b[0] else "cross"
            total += rate / len(pairs) * seconds[word]
    return total


def arguments(where: Path, *more: object) -> tuple[object, ...]:
    rates = where / "rates.csv"
    return (
        "plan",
        where / "topology.yaml",
        "--nodes",
        where / "nodes.yaml",
        "--rates",
        rates,
        "-o",
        "json",
        *more,
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_json_has_the_promised_fields(thalweg: Thalweg, word_count: Path, strategy: str) -> None:
    run = thalweg(*arguments(word_count, "--strategy", strategy))
    assert run.code == 0, run.err
    plan = run.json
    assert set(plan) >= FIELDS
    assert plan["strategy"] == strategy
    assert set(plan["assignments"]) == {task for tasks in TASKS.values() for task in tasks}
    assert set(plan["processes"]) == set(plan["assignments"])
    assert plan["overloaded"] == []
    assert plan["replicas"] == {"read": 2, "split": 3, "count": 3}
    assert all(reason["code"] and reason["message"] for reason in plan["reasons"])
    assert plan["planning_seconds"] > 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_objective_by_the_default_classes(
    thalweg: Thalweg, word_count: Path, strategy: str
) -> None:
    plan = thalweg(*arguments(word_count, "--strategy", strategy)).json
    seconds = {"node": 0.0001, "domain": 0.0005, "cross": 0.01}
    assert plan["objective"] == pytest.approx(objective(plan["assignments"], seconds))


def test_objective_by_classes_from_the_command_line(thalweg: Thalweg, word_count: Path) -> None:
    options = ("--same-node", 0.001, "--same-domain", 0.002, "--cross-domain", 0.003)
    plan = thalweg(*arguments(word_count, "--strategy", "Even", *options)).json
    seconds = {"node": 0.001, "domain": 0.002, "cross": 0.003}
    assert plan["objective"] == pytest.approx(objective(plan["assignments"], seconds))


def test_latency_of_domains_goes_over_the_classes(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    latency = tmp_path / "latency.csv"
    latency.write_text("source,target,seconds\na,b,0.2\nb,a,0.2\na,a,0.05\nb,b,0.05\n")
    run = thalweg(*arguments(word_count, "--strategy", "Even", "--latency", latency))
    seconds = {"node": 0.0001, "domain": 0.05, "cross": 0.2}
    assert run.json["objective"] == pytest.approx(objective(run.json["assignments"], seconds))


def test_latency_of_nodes_goes_over_that_of_domains(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    names = [f"{domain}-{number}" for domain in "ab" for number in range(3)]
    lines = [f"{a},{b},0.07" for a in names for b in names]
    latency = tmp_path / "latency.csv"
    latency.write_text("\n".join(["source,target,seconds", "a,b,9", "a,a,9", *lines]))
    run = thalweg(*arguments(word_count, "--strategy", "Even", "--latency", latency))
    # A node with itself is given too, and is taken as given.
    assert run.json["objective"] == pytest.approx(0.07 * sum(RATES.values()))


def test_latency_has_a_direction(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    topology = tmp_path / "topology.yaml"
    spec = yaml.safe_load((word_count / "topology.yaml").read_text())
    for vertex, zone in zip(spec["spec"]["vertices"], "abb", strict=True):
        zones = {"topology.kubernetes.io/zone": zone}
        vertex["template"]["spec"]["nodeSelector"] = zones
    topology.write_text(yaml.safe_dump(spec))
    latency = tmp_path / "latency.csv"
    latency.write_text("source,target,seconds\na,b,0.5\nb,a,77\nb,b,0\n")
    words = list(arguments(word_count, "--latency", latency, "--same-node", 0))
    words[1] = topology
    assert thalweg(*words).json["objective"] == pytest.approx(3000 * 0.5)


def test_rates_of_tasks_are_those_of_their_vertices_spread(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    lines = [
        f"{u},{v},{rate / len(TASKS[a]) / len(TASKS[b])},1"
        for (a, b), rate in RATES.items()
        for u, v in product(TASKS[a], TASKS[b])
    ]
    rates = tmp_path / "rates.csv"
    rates.write_text("\n".join(["from,to,tuples_per_second,bytes_per_second", *lines]))
    by_task = thalweg(*arguments(word_count, "--rates", rates)).json
    by_vertex = thalweg(*arguments(word_count)).json
    assert by_task["assignments"] == by_vertex["assignments"]
    assert by_task["objective"] == pytest.approx(by_vertex["objective"])


def test_a_rate_may_join_a_task_and_a_vertex(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text(
        "from,to,tuples_per_second,bytes_per_second\n"
        "read-0,split,1000,\nread-1,split,2000,5\nsplit,count,24000,\n"
    )
    latency = ("--same-node", 1, "--same-domain", 1, "--cross-domain", 1)
    run = thalweg(*arguments(word_count, "--rates", rates, *latency))
    assert run.json["objective"] == pytest.approx(27000)


def test_an_edge_without_a_rate_is_named(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("from,to,tuples_per_second\nread,split,10\n")
    plan = thalweg(*arguments(word_count, "--rates", rates)).json
    assert {
        "code": "MetricsPartial",
        "message": "no rate is given for split → count: 0 is taken",
    } in (plan["reasons"])


def test_without_rates_the_objective_is_unknown(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg(
        "plan", word_count / "topology.yaml", "--nodes", word_count / "nodes.yaml", "-o", "json"
    )
    assert run.code == 0
    assert run.json["objective"] is None
    assert len(run.json["assignments"]) == 8
    assert run.json["reasons"][0]["code"] == "MetricsMissing"


def test_the_same_seed_gives_the_same_plan(thalweg: Thalweg, word_count: Path) -> None:
    runs = [thalweg(*arguments(word_count, "--seed", 7)).json for _ in range(2)]
    assert runs[0]["assignments"] == runs[1]["assignments"]


def test_scale_adds_tasks_where_they_are_too_busy(thalweg: Thalweg, word_count: Path) -> None:
    plan = thalweg(*arguments(word_count, "--loads", word_count / "loads.csv", "--scale")).json
    assert plan["replicas"]["split"] > 3
    tasks = [task for task in plan["assignments"] if task.startswith("split-")]
    assert len(tasks) == plan["replicas"]["split"]


def test_scale_without_loads_says_what_is_missing(thalweg: Thalweg, word_count: Path) -> None:
    plan = thalweg(*arguments(word_count, "--scale")).json
    assert plan["replicas"] == {"read": 2, "split": 3, "count": 3}
    assert "MetricsMissing" in [reason["code"] for reason in plan["reasons"]]


def test_table_names_nodes_tasks_and_reasons(thalweg: Thalweg, word_count: Path) -> None:
    words = [word for word in arguments(word_count) if word not in ("-o", "json")]
    run = thalweg(*words)
    assert run.code == 0
    assert "split-0" in run.out
    assert "objective J" in run.out
    assert "FirstPlacement: 8 of 8 tasks placed" in run.out


def test_the_topology_names_the_strategy(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    text = (word_count / "topology.yaml").read_text()
    topology = tmp_path / "topology.yaml"
    topology.write_text(text.replace("spec:\n  vertices", "spec:\n  strategy: Even\n  vertices"))
    words = list(arguments(word_count))
    words[1] = topology
    assert thalweg(*words).json["strategy"] == "Even"


def test_a_prediction_without_loads_says_what_it_assumes(
    thalweg: Thalweg, word_count: Path
) -> None:
    plan = thalweg(*arguments(word_count)).json
    assert plan["predicted"]["throughput_per_second"] == pytest.approx(3000)
    assert 0 < plan["predicted"]["latency_seconds"] < 1
    assert any("no loads are given" in reason["message"] for reason in plan["reasons"])


def test_a_prediction_follows_the_loads(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    found = {}
    for busy in (0.2, 0.9):
        loads = tmp_path / "loads.csv"
        loads.write_text(
            "task,processed_per_second,busy_share\n"
            f"read,1500,{busy}\nsplit,1000,{busy}\ncount,8000,{busy}\n"
        )
        plan = thalweg(*arguments(word_count, "--strategy", "Even", "--loads", loads)).json
        found[busy] = plan["predicted"]["latency_seconds"]
    assert found[0.2] < found[0.9]


def test_without_rates_nothing_is_predicted_of_time(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg(
        "plan", word_count / "topology.yaml", "--nodes", word_count / "nodes.yaml", "-o", "json"
    )
    assert run.json["predicted"]["latency_seconds"] is None
    assert run.json["predicted"]["nodes_used"] == len(set(run.json["assignments"].values()))
