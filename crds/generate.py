"""Write the CRDs: `python -m crds.generate`. The YAML is committed and never edited by hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from crds.hibernation import hibernation
from crds.plan import plan
from crds.schema import Schema
from crds.topology import topology
from crds.vertex import vertex

GROUP = "thalweg.dev"
VERSION = "v1alpha1"
HERE = Path(__file__).parent
_HEADER = "# Made by `python -m crds.generate`; do not edit.\n"

Column = tuple[str, str, str]
"""Heading, type, JSONPath. A heading that starts with + is shown only with `-o wide`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a CRD says besides its schema."""

    kind: str
    plural: str
    short: str
    schema: Callable[[], Schema]
    columns: Sequence[Column]
    scope: str = "Namespaced"
    categories: Sequence[str] = ("thalweg",)
    scale: bool = False

    @property
    def name(self) -> str:
        """The CRD's name and its file's."""
        return f"{self.plural}.{GROUP}"

    @property
    def path(self) -> Path:
        """Where the committed YAML is."""
        return HERE / f"{self.name}.yaml"


_AGE = ("Age", "date", ".metadata.creationTimestamp")


def _condition(type_: str) -> str:
    return f'.status.conditions[?(@.type=="{type_}")].status'


KINDS = (
    Kind(
        kind="StreamTopology",
        plural="streamtopologies",
        short="stopo",
        schema=topology,
        categories=("all", "thalweg"),
        columns=(
            ("Strategy", "string", ".spec.strategy"),
            ("Mode", "string", ".spec.mode"),
            ("Ready", "string", _condition("Ready")),
            ("Tasks", "string", ".status.tasks.summary"),
            ("Latency", "string", ".status.measured.latency"),
            ("X-Domain", "string", ".status.measured.crossDomain"),
            ("Awake", "string", ".status.measured.awake"),
            ("Last Decision", "string", ".status.lastDecision.message"),
            ("+Valid", "string", _condition("Valid")),
            ("+Plan", "string", ".status.runningPlan"),
            _AGE,
        ),
    ),
    Kind(
        kind="StreamVertex",
        plural="streamvertices",
        short="svtx",
        schema=vertex,
        categories=("all", "thalweg"),
        scale=True,
        columns=(
            ("Topology", "string", ".spec.topology"),
            ("Vertex", "string", ".spec.vertex"),
            ("Desired", "integer", ".spec.replicas"),
            ("Current", "integer", ".status.replicas"),
            ("Ready", "integer", ".status.readyReplicas"),
            ("Min", "integer", ".spec.min"),
            ("Max", "integer", ".spec.max"),
            ("+Updated", "integer", ".status.updatedReplicas"),
            _AGE,
        ),
    ),
    Kind(
        kind="StreamPlan",
        plural="streamplans",
        short="splan",
        schema=plan,
        columns=(
            ("Topology", "string", ".spec.topology"),
            ("Strategy", "string", ".spec.strategy"),
            ("Summary", "string", ".spec.summary"),
            ("Gain", "string", ".spec.predicted.gain"),
            ("Approved", "boolean", ".spec.approved"),
            ("Applied", "string", _condition("Applied")),
            ("Verified", "string", _condition("Verified")),
            _AGE,
        ),
    ),
    Kind(
        kind="NodeHibernation",
        plural="nodehibernations",
        short="nhib",
        schema=hibernation,
        scope="Cluster",
        columns=(
            ("Desired", "string", ".spec.desired"),
            ("State", "string", ".status.state"),
            ("Since", "date", ".status.since"),
            ("Actuator", "string", ".spec.actuator"),
            ("Reason", "string", ".spec.reason"),
            _AGE,
        ),
    ),
)


def crd(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind."""
    subresources: dict[str, Any] = {"status": {}}
    if kind.scale:
        subresources["scale"] = {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name},
        "spec": {
            "group": GROUP,
            "scope": kind.scope,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short],
                "categories": list(kind.categories),
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [_column(one) for one in kind.columns],
                    "subresources": subresources,
                    "schema": {"openAPIV3Schema": kind.schema()},
                }
            ],
        },
    }


def _column(column: Column) -> dict[str, Any]:
    heading, type_, path = column
    made: dict[str, Any] = {"name": heading.removeprefix("+"), "type": type_, "jsonPath": path}
    if heading.startswith("+"):
        made["priority"] = 1
    return made


class _Plain(yaml.SafeDumper):
    """Writes everything out: anchors would be harder to read and not every tool follows them."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def render(kind: Kind) -> str:
    """The YAML of one kind, the same on every machine."""
    body = yaml.dump(crd(kind), Dumper=_Plain, sort_keys=False, width=100, allow_unicode=True)
    return _HEADER + body


def main() -> None:
    """Write all CRDs."""
    for kind in KINDS:
        kind.path.write_text(render(kind), encoding="utf-8")


if __name__ == "__main__":
    main()
