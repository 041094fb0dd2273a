"""Whether kube-scheduler would let a pod onto a node, resources apart, and if not, why.

A plan pins each task to a node, so a node that the scheduler filters out must never be in a plan.
"""

import re
from collections.abc import Mapping

from thalweg_operator.observe.facts import NodeFact, Taint
from thalweg_operator.observe.reading import mapping_at, mappings_at, word_at, words_at

_REPELLING = frozenset({"NoSchedule", "NoExecute"})
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_OS_LABEL = "kubernetes.io/os"


def is_eligible(pod_spec: Mapping[str, object], node: NodeFact, *, domain_label: str) -> bool:
    """Whether a pod of this spec may be put on this node."""
    return not why_not_eligible(pod_spec, node, domain_label=domain_label)


def why_not_eligible(pod_spec: Mapping[str, object], node: NodeFact, *, domain_label: str) -> str:
    """The first reason against this node, in a few words; empty when there is none."""
    return (
        _why_node_is_out(node, domain_label)
        or _why_repelled(pod_spec, node)
        or _why_not_selected(pod_spec, node)
        or _why_wrong_os(pod_spec, node)
    )


def _why_node_is_out(node: NodeFact, domain_label: str) -> str:
    if node.is_deleting:
        return "being deleted"
    if not node.is_ready:
        return "not ready"
    # Even where the pod tolerates it: whoever cordons a node wants it empty.
    if node.is_cordoned:
        return "cordoned"
    if not node.labels.get(domain_label):
        return f"no label {domain_label}"
    return ""


def _why_repelled(pod_spec: Mapping[str, object], node: NodeFact) -> str:
    tolerations = mappings_at(pod_spec, "tolerations")
    for taint in node.taints:
        if taint.effect not in _REPELLING:
            continue
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            value = f"={taint.value}" if taint.value else ""
            return f"taint {taint.key}{value}:{taint.effect}"
    return ""


def _tolerates(toleration: Mapping[str, object], taint: Taint) -> bool:
    if word_at(toleration, "effect") not in {"", taint.effect}:
        return False
    if word_at(toleration, "key") not in {"", taint.key}:
        return False
    match word_at(toleration, "operator"):
        case "Exists":
            return True
        case "" | "Equal":
            return word_at(toleration, "value") == taint.value
        case _:
            return False


def _why_not_selected(pod_spec: Mapping[str, object], node: NodeFact) -> str:
    for key, value in mapping_at(pod_spec, "nodeSelector").items():
        if node.labels.get(key) != value:
            return f"node selector {key}={value}"
    required = mapping_at(pod_spec, "affinity", "nodeAffinity").get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if required is None:
        return ""
    terms = mappings_at(required, "nodeSelectorTerms")
    return "" if any(_is_met(term, node) for term in terms) else "node affinity"


def _is_met(term: Mapping[str, object], node: NodeFact) -> bool:
    """All requirements of one term; a term without any matches no node."""
    expressions = mappings_at(term, "matchExpressions")
    fields = mappings_at(term, "matchFields")
    names = {"metadata.name": node.name}
    return (
        bool(expressions or fields)
        and all(_holds(expression, node.labels) for expression in expressions)
        and all(word_at(field, "key") in names and _holds(field, names) for field in fields)
    )


def _holds(requirement: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    value = labels.get(word_at(requirement, "key"))
    wanted = words_at(requirement, "values")
    match word_at(requirement, "operator"):
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _is_more(value, wanted)
        case "Lt":
            return _is_less(value, wanted)
        case _:
            return False


def _is_more(value: str | None, wanted: tuple[str, ...]) -> bool:
    pair = _integers(value, wanted)
    return pair is not None and pair[0] > pair[1]


def _is_less(value: str | None, wanted: tuple[str, ...]) -> bool:
    pair = _integers(value, wanted)
    return pair is not None and pair[0] < pair[1]


def _integers(value: str | None, wanted: tuple[str, ...]) -> tuple[int, int] | None:
    """The label's number and the one it is compared with, if both are whole numbers."""
    if value is None or len(wanted) != 1:
        return None
    if not (_INTEGER.fullmatch(value) and _INTEGER.fullmatch(wanted[0])):
        return None
    return int(value), int(wanted[0])


def _why_wrong_os(pod_spec: Mapping[str, object], node: NodeFact) -> str:
    """The kubelet refuses a pod of another operating system; the scheduler does not look."""
    wanted = word_at(pod_spec, "os", "name")
    actual = node.labels.get(_OS_LABEL, "")
    return f"runs {actual}, not {wanted}" if wanted and actual and wanted != actual else ""
