"""Settings from a file and from flags, and what is said when they are wrong."""

import dataclasses
import inspect
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from thalweg_operator import settings as settings_module
from thalweg_operator.errors import InvalidSettings
from thalweg_operator.settings import LeaseSettings, Settings, load_settings


def file_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(text)
    return path


def test_nothing_given_is_the_defaults() -> None:
    assert load_settings() == Settings()


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert load_settings(file_of(tmp_path, "")) == Settings()


def test_a_file_sets_nested_values(tmp_path: Path) -> None:
    text = """
        pass_interval_s: 5
        namespaces: [a, b]
        lease: {duration_s: 30, name: other}
        metrics_sources:
          default: {url: "http://prometheus:9090"}
    """
    loaded = load_settings(file_of(tmp_path, text))
    assert loaded.pass_interval_s == 5.0
    assert loaded.namespaces == ("a", "b")
    assert loaded.lease == LeaseSettings(duration_s=30.0, name="other")
    assert loaded.metrics_sources["default"].url == "http://prometheus:9090"


def test_overrides_go_over_the_file(tmp_path: Path) -> None:
    file = file_of(tmp_path, "lease: {duration_s: 30, name: other}")
    loaded = load_settings(file, {"lease.duration_s": "40", "namespaces": "[x]"})
    assert (loaded.lease.duration_s, loaded.lease.name) == (40.0, "other")
    assert loaded.namespaces == ("x",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pass_intervall_s: 5", "pass_intervall_s is no setting; did you mean pass_interval_s?"),
        ("lease: {duratoin_s: 5}", "lease.duratoin_s is no setting; did you mean lease.duration_s"),
        ("zzz: 1", "zzz is no setting; known are pass_interval_s"),
        ("pass_interval_s: soon", "pass_interval_s: expected a number; got 'soon'"),
        ("pass_interval_s: true", "pass_interval_s: expected a number; got True"),
        ("pass_interval_s: 0", "pass_interval_s must be above 0"),
        ("debounce_s: -1", "debounce_s must not be negative"),
        ("surge_per_vertex: 1.5", "surge_per_vertex: expected a whole number"),
        ("surge_per_vertex: 0", "surge_per_vertex must be at least 1"),
        ("domain_label: 7", "domain_label: expected text"),
        ("namespaces: a", "namespaces: expected a list of text"),
        ("namespaces: [1]", "namespaces: expected a list of text"),
        ("lease: 5", "lease: expected a mapping"),
        ("lease: {duration_s: 5}", "retry_s < renew_deadline_s < duration_s"),
        ("lease: {margin_s: 9}", "margin_s must be between 0 and half"),
        ("serving: {port: 99999}", "port must be between 0 and 65535"),
        ("metrics_sources: []", "metrics_sources: expected a mapping"),
        ("metrics_sources: {a: {}}", "metrics_sources.a: url is missing"),
        ("metrics_sources: {a: {url: 'ftp://x'}}", "url must be http:// or https://"),
        (
            "metrics_sources: {a: {url: 'http://x', token_file: /a, basic_file: /b}}",
            "token_file or basic_file, not both",
        ),
        ("metrics_sources: {a: {url: 'http://x', timeout_s: 0}}", "timeout_s must be above 0"),
        ("condense: {keep_runs: 1}", "keep_runs must be at least 2"),
        ("condense: {numpy_limit_bytes: 1000}", "numpy_limit_bytes must be at least 256 MiB"),
        ("condense: {presets: {mine: 3}}", "condense.presets.mine: expected text"),
        ("condense: {presets: {mine: '['}}", "condense.presets.mine: this is not TOML"),
        ("condense: {presets: {../x: ''}}", "'../x' is no name"),
        ("condense: {presets: {a-with-b: ''}}", "'a-with-b' is no name"),
        ("metrics_sources: {a: {url: 'http://x', most_mib: 0}}", "most_mib must be above 0"),
        ("- a", "must hold a mapping"),
        ("a: [", "cannot read the settings file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load_settings(file_of(tmp_path, text))
    assert said in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot read"):
        load_settings(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("lease.name.x", "1", "lease.name.x: name is no mapping"),
        ("pass_interval_s", "[", "is not YAML"),
    ],
)
def test_a_wrong_override_is_said(name: str, text: str, said: str) -> None:
    with pytest.raises(InvalidSettings, match=said):
        load_settings(None, {"lease.name": "n", name: text})


def _groups() -> list[type]:
    return [
        member
        for _, member in inspect.getmembers(settings_module, dataclasses.is_dataclass)
        if isinstance(member, type)
    ]


@pytest.mark.parametrize("group", _groups(), ids=lambda group: group.__name__)
def test_every_setting_says_what_it_means(group: type) -> None:
    lines = [line.strip() for line in inspect.getsource(group).splitlines()]
    for entry in dataclasses.fields(group):
        start = next(n for n, line in enumerate(lines) if line.startswith(f"{entry.name}: "))
        after = lines[start + 1 : start + 5]
        assert any(line.startswith('"""') for line in after), f"{group.__name__}.{entry.name}"


def test_defaults_survive_a_round_trip(tmp_path: Path) -> None:
    plain = yaml.safe_dump(_plain(Settings()))
    assert load_settings(file_of(tmp_path, plain)) == Settings()


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {
            entry.name: _plain(getattr(value, entry.name)) for entry in dataclasses.fields(value)
        }
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
