"""Makes charts/thalweg/values.schema.json: `python charts/schema.py` after a change of values.

The part below `settings` follows from the operator's settings, so that both refuse the same.
"""

import dataclasses
import json
import sys
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thalweg_operator.command.defaults import meanings
from thalweg_operator.settings import Settings

Schema = dict[str, Any]
FILE = Path(__file__).parent / "thalweg" / "values.schema.json"
SCALARS = {float: "number", int: "integer", str: "string", bool: "boolean"}


def text(description: str, **more: object) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", "description": description, **more}


def free(description: str) -> Schema:
    """Return the schema of what Kubernetes itself checks."""
    return {"type": "object", "description": description}


def items(description: str) -> Schema:
    """Return the schema of a list that Kubernetes itself checks."""
    return {"type": "array", "description": description, "items": {"type": "object"}}


def group(description: str, **properties: Schema) -> Schema:
    """Return the schema of a mapping that allows these keys and no others."""
    return {
        "type": "object",
        "description": description,
        "additionalProperties": False,
        "properties": properties,
    }


def settings_schema(shape: type, description: str) -> Schema:
    """Return the schema of one of the settings' classes."""
    hints, meant = typing.get_type_hints(shape), meanings(shape)
    properties = {
        entry.name: _value_schema(hints[entry.name], meant[entry.name])
        for entry in dataclasses.fields(shape)
    }
    return group(description, **properties)


def _value_schema(hint: Any, description: str) -> Schema:  # noqa: ANN401
    if dataclasses.is_dataclass(hint):
        return settings_schema(typing.cast("type", hint), description)
    origin = typing.get_origin(hint)
    if origin is tuple:
        return {"type": "array", "description": description, "items": {"type": "string"}}
    if origin is Mapping:
        entry = _value_schema(typing.get_args(hint)[1], "One of them, by its name.")
        return {"type": "object", "description": description, "additionalProperties": entry}
    return {"type": SCALARS[hint], "description": description}


def _image() -> Schema:
    return group(
        "Which image runs.",
        repository=text("Registry and name."),
        tag=text("Tag; empty: the chart's appVersion."),
        digest=text("Digest; wins over the tag.", pattern="^(sha256:[0-9a-f]{64})?$"),
        pullPolicy=text("When to pull.", enum=["Always", "IfNotPresent", "Never"]),
    )


def _workload() -> dict[str, Schema]:
    return {
        "image": _image(),
        "imagePullSecrets": items("Names of secrets with which to pull, as in a pod."),
        "replicas": {
            "type": "integer",
            "minimum": 1,
            "description": "One leads, the others stand by.",
        },
        "resources": free("Requests and limits of the operator's container."),
        "podAnnotations": free("More annotations for the pods."),
        "podLabels": free("More labels for the pods."),
        "nodeSelector": free("Labels that a node must have."),
        "tolerations": items("Taints that the pods bear."),
        "priorityClassName": text("Priority class of the pods; empty: the cluster's default."),
        "podSecurityContext": free("Security context of the pods."),
        "securityContext": free("Security context of the container."),
    }


def _around() -> dict[str, Schema]:
    return {
        "metricsSecrets": {
            "type": "array",
            "description": "Secrets for metrics sources; /etc/thalweg-secrets/NAME in pods.",
            "items": text("Name of a secret.", pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"),
            "uniqueItems": True,
        },
        "serviceAccount": group(
            "Who the operator is.",
            name=text("Name; empty: the release's name."),
            annotations=free("Annotations, such as a cloud's identity."),
        ),
        "crds": group(
            "The CRDs.",
            install={"type": "boolean", "description": "Whether the chart applies them."},
        ),
        "podDisruptionBudget": group(
            "How many replicas a drain may take at once.",
            maxUnavailable={"type": ["integer", "string"], "description": "Number or percentage."},
        ),
        "serviceMonitor": group(
            "For the Prometheus operator.",
            enabled={"type": "boolean", "description": "Whether to make one."},
            interval=text("How often to scrape.", pattern="^[0-9]+(ms|s|m)$"),
            labels=free("More labels, such as the one by which your Prometheus selects."),
        ),
        "prober": _prober(),
    }


def _prober() -> Schema:
    return group(
        "Measures how far nodes are apart.",
        enabled={"type": "boolean", "description": "Whether each node gets a prober."},
        image=_image(),
        roundSeconds={
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "How often a node asks the others.",
        },
        everyPairUpTo={
            "type": "integer",
            "minimum": 2,
            "description": "Nodes up to which every pair is measured; beyond, a sample.",
        },
        domainLabel=text("The node label that names the domain.", pattern="^[A-Za-z0-9./_-]+$"),
        resources=free("Requests and limits of a prober's container."),
        nodeSelector=free("Labels that a node must have to be measured."),
        tolerations=items("Taints that the probers bear."),
    )


def schema() -> Schema:
    """Return the whole."""
    settings = settings_schema(Settings, "The operator's own settings: `thalweg settings`.")
    properties = {**_workload(), "settings": settings, **_around(), "global": free("Not used.")}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the thalweg chart",
        **group("Everything that can be set.", **properties),
    }


def rendered() -> str:
    """Return the file's text."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(rendered())
    sys.stdout.write(f"wrote {FILE.name}\n")
