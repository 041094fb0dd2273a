"""Condense Kubernetes' own OpenAPI of a pod template into what a CRD may carry.

Run by hand when the supported Kubernetes changes:
    python -m crds.pod_fields <kubernetes>/api/openapi-spec/v3/api__v1_openapi.json
It writes `kubernetes-1.34/pod-template.json`, which the generator reads; a folder of its own keeps
`kubectl apply -f crds/` from taking it for a manifest. Descriptions and defaults go: the first
would make the CRD too large to apply, the second would write into what users keep in git.
"""

import json
import sys
from pathlib import Path
from typing import Any

from crds.schema import Schema

TARGET = Path(__file__).parent / "kubernetes-1.34" / "pod-template.json"
TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_REFERENCE = "#/components/schemas/"
_KEPT = ("type", "format", "nullable")
_LISTS = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_METADATA: Schema = {
    "type": "object",
    "properties": {
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_INT_OR_STRING: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_SPECIAL: dict[str, Schema] = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": _METADATA,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        **_INT_OR_STRING,
        "pattern": QUANTITY_PATTERN,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
}


def condense(components: dict[str, Any], name: str = TEMPLATE) -> Schema:
    """Follow all references from one component into a single structural schema."""
    if name in _SPECIAL:
        return dict(_SPECIAL[name])
    return _condense_one(components, components[name])


def _condense_one(components: dict[str, Any], source: dict[str, Any]) -> Schema:
    reference = source.get("$ref") or next(
        (one["$ref"] for one in source.get("allOf", []) if "$ref" in one), None
    )
    if reference is not None:
        return condense(components, reference.removeprefix(_REFERENCE))
    made: Schema = {key: source[key] for key in (*_KEPT, *_LISTS) if key in source}
    if "properties" in source:
        made["properties"] = {
            key: _condense_one(components, value)
            for key, value in sorted(source["properties"].items())
        }
    if "required" in source:
        made["required"] = sorted(source["required"])
    for inner in ("items", "additionalProperties"):
        if inner in source:
            made[inner] = _condense_one(components, source[inner])
    return made


def main() -> None:
    """Write the condensed schema from the OpenAPI file that is named."""
    openapi = json.loads(Path(sys.argv[1]).read_text())
    condensed = condense(openapi["components"]["schemas"])
    TARGET.write_text(json.dumps(condensed, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
