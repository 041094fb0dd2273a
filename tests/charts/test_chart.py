"""The chart without Helm: its files, values, rights and CRDs."""

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

import thalweg_operator.settings
import thalweg_spark.pods
from thalweg_operator.command.defaults import settings_file
from thalweg_operator.parsing import parse_settings

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "thalweg"
RBAC = CHART / "files" / "rbac"
TEMPLATES = sorted((CHART / "templates").iterdir())


def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return loaded


def values_schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
    return loaded


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chart_schema", ROOT / "charts" / "schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schema_is_what_the_generator_makes() -> None:
    made = generator().rendered()
    assert (CHART / "values.schema.json").read_text() == made, "run: python charts/schema.py"


def test_the_settings_page_is_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    assert f"```yaml\n{settings_file()}```\n" in page, (
        "put `thalweg settings` into docs/settings.md"
    )


def test_the_printed_settings_are_the_defaults() -> None:
    settings = thalweg_operator.settings.Settings
    assert parse_settings(settings, yaml.safe_load(settings_file())) == settings()


def test_the_defaults_are_valid_and_complete() -> None:
    schema = values_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values(), schema)
    assert set(schema["properties"]) - {"global"} == set(values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": 0},
        {"replicas": "two"},
        {"replica": 2},
        {"settings": {"pass_intervall_s": 5}},
        {"settings": {"lease": {"duration_s": "long"}}},
        {"settings": {"metrics_sources": {"a": {"uri": "http://x"}}}},
        {"image": {"pullPolicy": "Sometimes"}},
        {"image": {"digest": "latest"}},
        {"serviceMonitor": {"interval": "soon"}},
        {"crds": {"install": "yes"}},
        {"tolerations": {}},
        {"metricsSecrets": ["Prometheus"]},
        {"metricsSecrets": ["one", "one"]},
    ],
    ids=str,
)
def test_wrong_values_are_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, values_schema())


def test_the_versions_are_one() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert project is not None
    assert chart["version"] == chart["appVersion"] == project[1]


def test_the_crds_are_the_one_copy() -> None:
    links = {path.name: path for path in (CHART / "files" / "crds").iterdir()}
    assert set(links) == {path.name for path in (ROOT / "crds").glob("*.yaml")}
    for name, link in links.items():
        assert link.is_symlink()
        assert link.resolve() == (ROOT / "crds" / name).resolve()


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in tree.items():
        yield f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")


def _used() -> set[str]:
    text = "\n".join(path.read_text() for path in TEMPLATES)
    return set(re.findall(r"\.Values\.([A-Za-z.]+)", text))


def test_templates_use_only_values_that_exist() -> None:
    assert _used() <= set(_leaves(values()))


def test_every_value_is_used() -> None:
    used = _used()
    unused = [
        name
        for name in _leaves(values())
        if not any(
            one == name or one.startswith(f"{name}.") or name.startswith(f"{one}.") for one in used
        )
    ]
    assert unused == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_opened_action_is_closed(path: Path) -> None:
    text = path.read_text()
    assert text.count("{{") == text.count("}}")
    openers = re.findall(r"\{\{-?\s*(?:if|with|range|define)\b", text)
    assert len(openers) == len(re.findall(r"\{\{-?\s*end\b", text))


def test_the_pods_are_restricted() -> None:
    pod, container = values()["podSecurityContext"], values()["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["runAsUser"] > 0
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def rules(name: str) -> list[dict[str, list[str]]]:
    loaded: list[dict[str, list[str]]] = yaml.safe_load((RBAC / f"{name}.yaml").read_text())
    return loaded


def _rights() -> Iterator[tuple[str, str, str]]:
    """Everything that is granted wherever the chart is installed."""
    for path in set(RBAC.iterdir()) - {RBAC / "executors.yaml"}:
        for rule in yaml.safe_load(path.read_text()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        yield group, resource, verb


def test_no_right_is_more_than_the_operator_needs() -> None:
    allowed_verbs = {"get", "list", "watch", "create", "update", "patch", "delete"}
    forbidden = {"secrets", "pods/exec", "pods/attach", "pods/portforward", "serviceaccounts/token"}
    for group, resource, verb in _rights():
        assert "*" not in (group, resource, verb)
        assert resource not in forbidden
        assert group != "rbac.authorization.k8s.io"
        assert verb in allowed_verbs


def test_nodes_are_only_read() -> None:
    assert {verb for _, resource, verb in _rights() if resource.startswith("nodes")} == {
        "get",
        "list",
        "watch",
    }


def test_only_the_own_lease_is_changed() -> None:
    for rule in rules("lease") + rules("autoscaler"):
        assert rule["resources"] == ["leases"]
        if rule["verbs"] != ["create"]:
            assert len(rule["resourceNames"]) == 1
    assert rules("autoscaler")[0]["verbs"] == ["get"]


def test_the_prober_has_no_right_and_no_privilege() -> None:
    text = (CHART / "templates" / "prober.yaml").read_text()
    assert "automountServiceAccountToken: false" in text
    assert "toYaml .Values.podSecurityContext" in text
    assert "toYaml .Values.securityContext" in text
    for word in ("hostNetwork", "hostPID", "hostPort", "privileged", "serviceAccountName"):
        assert word not in text


def test_spark_condenses_by_default_and_has_room() -> None:
    condense = parse_settings(thalweg_operator.settings.Settings, values()["settings"]).condense
    assert (condense.engine, condense.spark_master) == ("spark", "local[*]")
    limit = values()["resources"]["limits"]["memory"]
    assert limit.endswith("Gi")
    # The operator lets Spark hold half as much again in the middle of a run, and needs some itself.
    assert int(limit.removesuffix("Gi")) * 2**30 >= 1.5 * condense.spark_limit_bytes + 2**30


def test_only_executors_as_pods_take_more_rights() -> None:
    assert rules("executors") == [
        {
            "apiGroups": [""],
            "resources": ["pods"],
            "verbs": ["get", "list", "watch", "create", "delete", "deletecollection"],
        }
    ]
    text = (CHART / "templates" / "rbac.yaml").read_text()
    before, condition, after = text.partition('{{- if include "thalweg.executors" . }}')
    assert condition
    assert "executors.yaml" not in before
    assert after.count("namespace: {{ .Release.Namespace }}") == 2
    assert "kind: ClusterRole" not in after


def test_the_executors_pod_is_the_one_copy_and_restricted() -> None:
    link = CHART / "files" / "executor.yaml"
    assert link.is_symlink()
    assert link.resolve() == thalweg_spark.pods.TEMPLATE.resolve()
    spec = yaml.safe_load(link.read_text())["spec"]
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == values()["podSecurityContext"]
    assert container["securityContext"] == values()["securityContext"]


def test_the_chart_says_all_that_executors_need() -> None:
    text = (CHART / "templates" / "deployment.yaml").read_text()
    named = dict.fromkeys(re.findall(r"THALWEG_[A-Z_]+", text), "said")
    assert thalweg_spark.pods.pods_of(named) == thalweg_spark.pods.Pods(
        image="said",
        namespace="said",
        template=Path("said"),
        driver_pod="said",
        driver_host="said",
    )
