"""The papers' experiments: what is counted, told and drawn."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.papers import main, ns, ra, sgp
from bench.papers.contest import CONTESTS
from bench.papers.gates import orders, sensitivity, verdict
from bench.papers.grouping import load_aware_local, near_source, weighted_by_load
from bench.papers.growth import Growth, told_growth
from bench.papers.rows import Measure, Row
from bench.papers.running import Result, run_row, value_of
from bench.papers.setting import Constants
from bench.papers.systems import EVEN, RAS, SP_ANT, Kind, NoRoom, lay_out, strategy
from bench.papers.telling import draw, told, told_sensitivity
from bench.papers.trial import try_out

LATENCY = Row(
    name="row",
    setting=ra.WORD_COUNT,
    measure=Measure.LATENCY,
    rate_per_s=3000,
    base="Even",
    paper={"RaStream": 6.0, "Even": 12.0, "R-Storm": 11.5, "SP-Ant-like": 8.0},
)
KINDS = {
    "RaStream": Kind.PAPER,
    "Even": Kind.RULE,
    "R-Storm": Kind.RULE,
    "SP-Ant-like": Kind.LIKE,
    "Auto": Kind.OURS,
}


def reached(row: Row = LATENCY, best: float = 8.0, **values: float) -> Result:
    numbers = {name.replace("_", "-"): value for name, value in values.items()}
    return Result(
        row=row,
        values=numbers,
        kinds=KINDS,
        nodes=dict.fromkeys(numbers, 3),
        machines=dict.fromkeys(numbers, (0, 1, 2)),
        best=best,
    )


def test_pairs_that_are_near_each_other_or_only_described_do_not_count() -> None:
    result = reached(RaStream=9.0, Even=12.0, R_Storm=8.5, SP_Ant_like=1.0)
    pairs = {(pair.better, pair.worse): pair.holds for pair in orders(result)}
    assert pairs == {("RaStream", "Even"): True, ("RaStream", "R-Storm"): False}


def test_gains_captured_share_and_bound() -> None:
    result = reached(RaStream=9.0, Even=12.0)
    assert result.gain("RaStream") == pytest.approx(0.25)
    assert result.paper_gain("RaStream") == pytest.approx(0.5)
    assert result.captured("RaStream") == pytest.approx(0.75)
    assert result.bound == pytest.approx(1 / 3)
    more = reached(replace(LATENCY, measure=Measure.BOTTLENECK), 20.0, RaStream=18.0, Even=12.0)
    assert more.gain("RaStream") == pytest.approx(0.5)
    assert more.captured("RaStream") == pytest.approx(0.75)


def test_an_order_without_numbers_counts_too() -> None:
    shown = replace(LATENCY, paper={}, ranks=("RaStream", "Even"))
    assert [pair.holds for pair in orders(reached(shown, RaStream=9.0, Even=12.0))] == [True]
    assert [pair.holds for pair in orders(reached(shown, RaStream=13.0, Even=12.0))] == [False]


def test_words_of_a_paper_are_shown_and_not_reckoned_with() -> None:
    said = replace(LATENCY, paper={"RaStream": "less", "Even": 12.0, "R-Storm": 8.0})
    result = reached(said, RaStream=9.0, Even=12.0, R_Storm=9.0)
    assert {(pair.better, pair.worse) for pair in orders(result)} == {("R-Storm", "Even")}
    assert result.paper_gain("RaStream") is None
    page = told(
        replace(CONTESTS["ra"], baselines=(EVEN,)),
        [
            replace(
                result,
                values={"RaStream": 9.0, "Even": 12.0, "Auto": 8.0},
                nodes=dict.fromkeys(KINDS, 3),
            )
        ],
    )
    assert "9 (paper less)" in page


def test_growth_is_told_in_per_cent_and_by_whose_is_least() -> None:
    low = reached(replace(LATENCY, name="low"), RaStream=10.0, Even=10.0)
    high = reached(replace(LATENCY, name="high"), RaStream=15.0, Even=17.0)
    with_numbers = Growth(name="a", low="low", high="high", paper={"RaStream": 0.5, "Even": 0.4})
    page = told_growth(
        [with_numbers, Growth(name="b", low="low", high="high", ranks=("RaStream", "Even"))],
        [low, high],
    )
    lines = [[cell.strip() for cell in line.split("|")] for line in page.splitlines()[2:]]
    assert lines[0][2] == "+50.0 % (paper +50.0 %)"
    assert [line[-2] for line in lines] == ["0 of 1", "1 of 1"]


@pytest.mark.parametrize(
    ("best", "value", "words"),
    [
        (8.0, 9.0, "order 1 of 1; η 0.75"),
        (8.0, 11.0, "order 1 of 1; η 0.25 (below 0.5)"),
        (11.0, 11.5, "order 1 of 1; η 0.50; half of the paper's gain is out of reach"),
        (12.0, 12.5, "order 0 of 1; no plan known gains anything"),
    ],
)
def test_a_verdict_says_what_holds(best: float, value: float, words: str) -> None:
    assert verdict(reached(best=best, RaStream=value, Even=12.0), "RaStream").startswith(words)
    odd = replace(LATENCY, contradicts="it cannot be")
    told_odd = verdict(reached(odd, best, RaStream=value, Even=12.0), "RaStream")
    assert told_odd == "reported only: it cannot be"


def test_the_best_plan_known_is_never_worse_than_any() -> None:
    result = run_row(LATENCY, [EVEN, SP_ANT, strategy("Auto")], seeds=(1,), tries=30)
    assert set(result.values) == {"Even", "SP-Ant-like", "Auto"}
    assert result.best <= min(result.values.values())
    assert 0 < result.nodes["Auto"] <= 14


def test_processes_and_slots_are_kept() -> None:
    for system in (EVEN, SP_ANT, strategy("Auto")):
        layout = lay_out(system, ra.WORD_COUNT, 3000)
        _, tasks = np.unique(layout.process, return_counts=True)
        assert tasks.max() <= 2
        assert np.bincount(layout.node).max() <= 4
        assert all(len(set(layout.node[layout.process == one])) == 1 for one in layout.process)


def test_who_has_no_room_says_so() -> None:
    tiny = replace(ra.WORD_COUNT, machines=ra.WORD_COUNT.machines[:4])
    with pytest.raises(NoRoom):
        lay_out(EVEN, tiny, 100)


def test_scaling_raises_the_limit_of_ras() -> None:
    row = next(row for row in sgp.ROWS if row.name == "Sgp-7")
    ras = value_of(row, lay_out(RAS, row.setting, row.rate_per_s))
    ours = value_of(row, lay_out(strategy("Auto", scales=True), row.setting, row.rate_per_s))
    assert ras == pytest.approx(41_814, rel=0.01)
    assert ours > 1.2 * ras


def test_near_source_sends_less_afar_than_shuffle() -> None:
    rng = np.random.default_rng(1)
    shuffled = lay_out(EVEN, ns.TOPOLOGY_2, 2000)
    near = near_source(shuffled, 2000, rng)
    local = load_aware_local(shuffled, 2000, rng)
    remote = {
        name: try_out(layout, 2000).remote_share
        for name, layout in (("shuffle", shuffled), ("near", near), ("local", local))
    }
    assert remote["near"] < remote["shuffle"]
    assert remote["local"] < remote["shuffle"]
    for layout in (near, local):
        assert layout.shares[0].sum(axis=1) == pytest.approx(np.ones(8))


def test_weights_send_less_to_tasks_in_which_tuples_take_long() -> None:
    # One of four tasks is alone on a node, three share one with the others.
    setting = sgp.STEADY.with_replicas({"split": 4})
    crowded = lay_out(EVEN, setting, 30_000)
    node = np.where(np.arange(len(crowded.node)) == 3, 1, 0)
    layout = replace(crowded, node=node, process=np.arange(len(node)))
    weighted = weighted_by_load(layout, 100_000, np.random.default_rng(1), noise=0.0)
    shares = weighted.shares[0]
    assert shares.sum(axis=1) == pytest.approx(np.ones(3))
    assert shares[0, 0] > 1.1 * shares[0, 1]
    before, after = (try_out(one, 100_000).latency_s for one in (layout, weighted))
    assert after < before


def test_constants_can_be_varied_and_orders_counted() -> None:
    short = replace(LATENCY, paper={"Even": 12.0, "RAS": 8.0})
    found = sensitivity(short, [EVEN, RAS])
    assert found.runs == 20
    assert "row" in told_sensitivity([found])
    few = replace(found, held_by=("cpu_s × 2",), broken_by=("burst × 2", "burst × 0.5"))
    assert "| 1 of 3      | all but cpu_s × 2" in told_sensitivity([few])
    assert "all of them" in told_sensitivity([replace(few, held_by=())])
    assert Constants(cpu_s=1.0).scaled("cpu_s", 2.0).cpu_s == 2.0


@pytest.mark.slow
def test_a_page_and_a_picture_are_made(tmp_path: Path) -> None:
    contest = CONTESTS["ra"]
    values = {system.name: 10.0 for system in contest.systems}
    result = replace(
        reached(best=9.0),
        values=values,
        nodes=dict.fromkeys(values, 3),
        machines=dict.fromkeys(values, (0, 1, 2)),
    )
    page = told(contest, [result])
    assert "best plan known" in page
    assert "| row |" in page
    draw(contest, [result], tmp_path / "a.svg")
    draw(contest, [result], tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_paper_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main("storm")
    assert ended.value.code == 2
    assert "storm" in capsys.readouterr().err
