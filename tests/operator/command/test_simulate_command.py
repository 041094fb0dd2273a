"""`thalweg simulate` runs a topology from files, draws it, and refuses what is wrong."""

import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from thalweg_commands import Thalweg
from thalweg_operator.command import painting
from thalweg_operator.command.charts import ticks

PNG_BEGINS = b"\x89PNG\r\n\x1a\n"


def words(where: Path, profile: str, *more: object) -> tuple[object, ...]:
    return (
        "simulate",
        where / "topology.yaml",
        "--nodes",
        where / "nodes.yaml",
        "--profile",
        profile,
        *more,
    )


def rated(where: Path, profile: str, *more: object) -> tuple[object, ...]:
    return words(where, profile, "--rates", where / "rates.csv", *more)


def test_json_has_the_promised_fields(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg(*rated(word_count, "constant:30", "--minutes", 1, "-o", "json"))
    assert run.code == 0, run.err
    told = run.json
    assert told["mode"] == "Events"
    assert told["offered_per_second"] == pytest.approx(30, rel=0.2)
    assert told["throughput_per_second"] == pytest.approx(told["offered_per_second"], rel=0.05)
    assert 0 < told["latency_seconds"] < told["complete_latency_seconds"]
    assert [window["seconds"] for window in told["windows"]] == [5.0 * n for n in range(1, 13)]
    assert told["windows"][0]["replicas"] == {"read": 2, "split": 3, "count": 3}
    assert told["windows"][0]["nodes_used"] <= told["windows"][0]["nodes_awake"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run(thalweg: Thalweg, word_count: Path) -> None:
    given = rated(word_count, "constant:30", "--minutes", 1, "-o", "json")
    one, again, other = (thalweg(*given, "--seed", seed).json for seed in (1, 1, 2))
    assert one == again
    assert one["windows"] != other["windows"]


@pytest.mark.slow
def test_a_step_up_is_answered_with_more_tasks(thalweg: Thalweg, word_count: Path) -> None:
    given = (
        *rated(word_count, "step:1000:4000:60", "--loads", word_count / "loads.csv"),
        "--minutes", 5, "--mode", "batches", "-o", "json",
    )  # fmt: skip
    moving, fixed = thalweg(*given).json, thalweg(*given, "--fixed").json
    assert moving["mode"] == "Batches"
    assert moving["windows"][-1]["replicas"]["split"] > 3
    assert moving["windows"][-1]["throughput_per_second"] >= 3900
    reasons = [each["code"] for one in moving["decisions"] for each in one["reasons"]]
    assert "ScaledUp" in reasons
    assert fixed["windows"][-1]["replicas"]["split"] == 3
    assert fixed["windows"][-1]["throughput_per_second"] < 3000
    assert fixed["windows"][-1]["backlog_tuples"] > 0
    assert fixed["decisions"] == []


def test_the_table_tells_where_costs_come_from(thalweg: Thalweg, word_count: Path) -> None:
    run = thalweg(*words(word_count, "constant:20", "--minutes", 1))
    assert run.code == 0, run.err
    assert "THROUGHPUT/s" in run.out
    assert "assumed: tasks are as busy as they should be at 20 tuples/s" in run.out
    assert "thalweg: 1 of 1 minutes simulated" in run.err


def test_a_profile_from_a_file(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text("seconds,tuples_per_second\n0,20\n30,60\n")
    profile = f"file:{tmp_path / 'load.csv'}"
    windows = thalweg(*rated(word_count, profile, "--minutes", 1, "-o", "json")).json["windows"]
    assert windows[2]["offered_per_second"] < 40 < windows[-1]["offered_per_second"]


def test_a_page_needs_nothing_else(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    run = thalweg(*rated(word_count, "constant:30", "--minutes", 1, "--html", page))
    assert run.code == 0, run.err
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(src|href|url\(|@import|https?:)", text)
    svgs = [ET.fromstring(each) for each in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]  # noqa: S314 -- written by us a moment ago
    assert [each.get("aria-label") for each in svgs] == [
        "Latency",
        "Throughput",
        "Replicas",
        "Nodes",
    ]
    for each in svgs:
        lines = [path for path in each.iter("path") if path.get("class") == "line"]
        assert len(max((line.get("d", "") for line in lines), key=len)) > 80


def test_a_picture_is_drawn(thalweg: Thalweg, word_count: Path, tmp_path: Path) -> None:
    assert find_spec("matplotlib") is not None
    picture = tmp_path / "run.png"
    run = thalweg(*rated(word_count, "constant:30", "--minutes", 1, "--png", picture))
    assert run.code == 0, run.err
    assert picture.read_bytes().startswith(PNG_BEGINS)
    assert picture.stat().st_size > 20_000


def test_without_matplotlib_a_png_is_refused_at_once(
    thalweg: Thalweg, word_count: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(painting, "find_spec", lambda _: None)
    run = thalweg(*rated(word_count, "constant:30", "--png", tmp_path / "run.png"))
    assert run.code == 2
    assert "pip install 'thalweg[pictures]'" in run.err


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        ("fast", "is no profile"),
        ("step:1:2", "step:RATE:RATE:AT"),
        ("constant:0", "offers no tuples"),
        ("file:nowhere.csv", "nowhere.csv"),
    ],
)
def test_a_wrong_profile_is_refused(
    thalweg: Thalweg, word_count: Path, profile: str, says: str
) -> None:
    run = thalweg(*words(word_count, profile))
    assert run.code == 2
    assert says in run.err


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("seconds,tuples_per_second\n", 2, "a rate is needed"),
        ("seconds,tuples_per_second\n0,1\n5,fast\n", 3, "must be a number, not 'fast'"),
        ("seconds,tuples_per_second\n5,1\n5,2\n", 3, "seconds must rise"),
        ("when,rate\n0,1\n", 1, "there is no column 'when'"),
    ],
)
def test_a_wrong_profile_file_names_the_line(
    *, thalweg: Thalweg, word_count: Path, tmp_path: Path, text: str, line: int, says: str
) -> None:
    path = tmp_path / "load.csv"
    path.write_text(text)
    run = thalweg(*words(word_count, f"file:{path}"))
    assert run.code == 2
    assert f"{path}:{line}: " in run.err
    assert says in run.err


def test_wrong_files_and_options_are_exit_code_2(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    (tmp_path / "rates.csv").write_text("from,to,tuples_per_second\nread,spilt,1\n")
    run = thalweg(*words(word_count, "constant:1", "--rates", tmp_path / "rates.csv"))
    assert run.code == 2
    assert f"{tmp_path / 'rates.csv'}:2: " in run.err
    for wrong in (
        ("--strategy", "Fastest"),
        ("--html", tmp_path / "nowhere" / "run.html"),
        ("--minutes", "0"),
        ("--loads", word_count / "loads.csv"),
    ):
        assert thalweg(*words(word_count, "constant:1", *wrong)).code == 2


def test_what_does_not_fit_is_exit_code_3(
    thalweg: Thalweg, word_count: Path, tmp_path: Path
) -> None:
    node = "{kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 1, memory: 1Gi}}}"
    (tmp_path / "nodes.yaml").write_text(f"kind: List\nitems:\n- {node}\n")
    run = thalweg(
        "simulate", word_count / "topology.yaml", "--nodes", tmp_path / "nodes.yaml",
        "--profile", "constant:1",
    )  # fmt: skip
    assert run.code == 3
    assert "infeasible" in run.err


@pytest.mark.parametrize("most", [0.0, 1e-4, 0.7, 1.0, 3.0, 9.99, 12345.0])
def test_ticks_are_round_and_reach_the_top(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert found[-1] >= most
    assert 2 <= len(found) <= 6


def test_help_names_every_profile(thalweg: Thalweg) -> None:
    told = thalweg("simulate", "--help").out
    for kind in ("constant:", "step:", "ramp:", "day:", "burst:", "file:"):
        assert kind in told
