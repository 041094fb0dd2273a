"""Presets of whoever runs the operator: from the settings, or from a folder by hand."""

import json
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

from thalweg_fake_prometheus import fake_prometheus
from thalweg_operator.clock import SystemClock
from thalweg_operator.command.defaults import settings_file
from thalweg_operator.condensing import Condenser
from thalweg_operator.observe.store import read_matrices
from thalweg_operator.settings import CondenseSettings, MetricsSource, load_settings
from thalweg_spark.__main__ import main
from thalweg_spark.errors import InvalidInput
from thalweg_spark.pull.presets import load_preset, presets_in
from thalweg_spark.resident import parse_request

PAGE = Path(__file__).resolve().parents[3] / "docs" / "condensing.md"
OURS = """
[queries]
sent = "engine_sent_total"
processed = "engine_handled_total"
busy = {select = "engine_busy_ms_total", scale = 0.001}

[labels]
namespace = "namespace"
topology = "job"
vertex = "stage"
task = "{stage}-{index}"
"""
LABELS = {"namespace": "n", "job": "wc", "stage": "split", "index": "0"}


def test_one_of_our_own_is_condensed_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "engine.toml").write_text(OURS)
    with fake_prometheus() as fake:
        fake.series["engine_handled_total"] = [(LABELS, [(80.0, "0"), (90.0, "100")])]
        fake.series["engine_busy_ms_total"] = [(LABELS, [(80.0, "0"), (90.0, "5000")])]
        words = ["condense", "--engine", "numpy", "--source", fake.url, "--at", "100"]
        words += ["--store", str(tmp_path / "s"), "--presets", str(folder)]
        assert main([*words, "--preset", "engine"]) == 0
        assert main([*words, "--preset", "engin"]) == 2
    assert "no preset is called engin; there are engine, flink" in capsys.readouterr().err
    found = read_matrices(tmp_path / "s")
    assert found is not None
    (row,) = found.tables["task_load"]
    assert (row["task"], row["processed_per_s"]) == ("split-0", pytest.approx(10))
    assert row["busy_share"] == pytest.approx(0.5)


def test_both_children_are_given_those_of_the_settings(tmp_path: Path) -> None:
    one = Condenser(
        source=MetricsSource(url="http://prometheus", most_series=7, most_mib=3),
        preset="engine-with-prober",
        settings=CondenseSettings(presets={"engine": OURS}, timeout_s=40.0),
        folder=tmp_path,
        clock=SystemClock(),
    )
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "former.toml").write_text("")
    one._write_presets()
    words = one._command(tmp_path / "expectation.json")
    assert presets_in(Path(words[words.index("--presets") + 1])) == {"engine": OURS}
    asked = json.loads(json.dumps(one._request({"topologies": [], "nodes": []})))
    request = parse_request(asked)
    assert request.preset.queries["processed"] == "engine_handled_total"
    assert request.preset.queries["rtt"] == "thalweg_node_rtt_seconds"
    assert (request.source.most_series, request.source.most_bytes) == (7, 3 * 2**20)
    assert request.source.run_timeout_s == 30.0
    pairs = dict(pairwise(words))
    assert (pairs["--most-series"], pairs["--most-mib"]) == ("7", "3")
    assert pairs["--run-timeout-s"] == "30.0"


def test_the_example_in_the_settings_is_one(tmp_path: Path) -> None:
    lines = settings_file().splitlines()
    begin = next(number for number, line in enumerate(lines) if "our-engine:" in line)
    shown = [lines[begin - 1].replace("{}", "")]
    for line in lines[begin:]:
        if not line.startswith("  #  "):
            break
        shown.append(line.replace("#", "", 1))
    file = tmp_path / "settings.yaml"
    file.write_text("\n".join(["condense:", *shown]))
    own = load_settings(file).condense.presets
    assert textwrap.indent(own["our-engine"], " " * 6) in PAGE.read_text(), "and in its page"
    found = load_preset("our-engine", own)
    assert {"tuples", "processed", "busy", "rtt", "pod_cpu"} <= set(found.queries)
    assert found.labels["to_task"] == "{to_stage}-{to_index}"


def test_one_of_our_own_goes_before_a_shipped_one() -> None:
    own = {"prober": '[queries]\nrtt = "ours"', "engine": 'include = ["prober"]' + OURS}
    assert load_preset("engine", own).queries["rtt"] == "ours"
    assert load_preset("thalweg", own).queries["rtt"] == "ours", "wherever it is included"
    assert load_preset("thalweg").queries["rtt"] == "thalweg_node_rtt_seconds"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[queries]\nproccessed = "x"', "proccessed is nothing .* did you mean processed?"),
        ('[queries]\nzzz = "x"', "zzz is nothing that is condensed; known are .*busy"),
        ('[queries]\nbusy = {select = "x", scale = "y"}', "scale of busy must be a number"),
        ('[queries]\nbusy = {select = "x", scale = true}', "scale of busy must be a number"),
        ("[queries]\nbusy = 3", "busy needs a selector"),
        ("queries = 3", "queries must be a table"),
        ("labels = 3", "labels must be a table"),
        ("[labels]\ntask = 3", "labels must be texts"),
        ('[queries]\nbusy = {select = "x", labels = {task = 3}}', "labels of busy must be texts"),
        ('include = "prober"', "include must be a list"),
        ('include = ["mine"]', "mine includes itself: mine → mine"),
        ('include = ["other"]', "mine includes itself: mine → other → mine"),
        ('include = ["nope"]', "no preset is called nope"),
        ("[", "mine is not TOML"),
    ],
)
def test_what_is_wrong_with_one_is_said(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        load_preset("mine", {"mine": text, "other": 'include = ["mine"]'})


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no folder"):
        presets_in(tmp_path / "nope")
