"""`thalweg compare` puts all strategies side by side."""

from pathlib import Path

import pytest

from thalweg_commands import Thalweg
from thalweg_scheduling.strategies import STRATEGIES


def arguments(where: Path, nodes: Path | None = None) -> tuple[object, ...]:
    return (
        "compare",
        where / "topology.yaml",
        "--nodes",
        nodes or where / "nodes.yaml",
        "--latency",
        where / "latency.csv",
        "--rates",
        where / "rates.csv",
    )


def test_every_strategy_has_a_line(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg(*arguments(word_count))
    assert run.code == 0
    head, *lines = run.out.splitlines()
    assert head.split() == [
        "STRATEGY",
        "J",
        "X-DOMAIN",
        "LATENCY",
        "NODES",
        "OVERLOADED",
        "SECONDS",
    ]
    assert [line.split()[0] for line in lines] == list(STRATEGIES)


def test_json_has_a_plan_for_each(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg(*arguments(word_count), "-o", "json")
    assert run.code == 0
    by_strategy = {plan["strategy"]: plan for plan in run.json}
    assert set(by_strategy) == set(STRATEGIES)
    objectives = {name: plan["objective"] for name, plan in by_strategy.items()}
    assert objectives["Auto"] == min(objectives.values())
    assert all(plan["overloaded"] == [] for plan in run.json)


def test_each_strategy_scales_by_its_own_rule(thalweg: Thalweg, word_count: Path) -> None:
    loads = ("--loads", word_count / "loads.csv", "--scale", "-o", "json")
    found = {
        one["strategy"]: one["replicas"] for one in thalweg(*arguments(word_count), *loads).json
    }
    # Busy for .30, .95 and .55 of the time. Ours aims at .7 and takes from the idle one at once.
    assert found["Auto"] == {"read": 1, "split": 5, "count": 3}
    # Sgp-Stream lets nobody on the critical path be busier than .40.
    assert found["SgpStream"] == {"read": 2, "split": 5, "count": 4}
    # Md-Stream only changes what is above .875 or below .30, in steps.
    assert found["MdStream"] == {"read": 2, "split": 4, "count": 3}


def test_it_agrees_with_plan(thalweg: Thalweg, word_count: Path) -> None:
    compared = thalweg(*arguments(word_count), "-o", "json").json
    words = ("plan", *arguments(word_count)[1:], "-o", "json", "--strategy")
    for each in compared:
        alone = thalweg(*words, each["strategy"]).json
        assert alone["assignments"] == each["assignments"]


def test_nothing_fits_anywhere(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.yaml"
    text = (word_count / "nodes.yaml").read_text()
    nodes.write_text(text.replace('cpu: "2"', 'cpu: "0.1"'))
    run = thalweg(*arguments(word_count, nodes))
    assert run.code == 3
    assert "cpu" in run.err


@pytest.mark.parametrize("name", ["topology.yaml", "latency.csv"])
def test_a_wrong_file_is_exit_code_2(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, name: str
) -> None:
    wrong = tmp_path / name
    wrong.write_text("no")
    words = [wrong if Path(str(word)).name == name else word for word in arguments(word_count)]
    run = thalweg(*words)
    assert run.code == 2
    assert f"{wrong}:1:" in run.err
