"""What a pod asks of its node, counted as kube-scheduler counts it.

Were we to count otherwise, a plan would fit on paper and its pod would stay Pending.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from thalweg_operator.observe.reading import mapping_at, mappings_at, word_at

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_QUANTITY = re.compile(rf"({_NUMBER})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{{1,4}}))?")
_MULTIPLIERS: Mapping[str, Decimal] = MappingProxyType(
    {suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("num", start=-3)}
    | {suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)}
    | {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)}
)
_LARGEST = Decimal(2**63 - 1)
"""Kubernetes caps quantities here; so a result is always finite."""


def quantity(text: str | int | float) -> float:
    """A Kubernetes quantity in its own unit: cores, bytes, pieces."""
    return _parsed(str(text))


# A cluster's pods repeat a few dozen texts; parsing them once keeps a pass over all pods short.
@lru_cache(maxsize=4096)
def _parsed(text: str) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a quantity: {text!r}")
    number, suffix, exponent = match.groups()
    value = Decimal(number)
    if suffix:
        value *= _MULTIPLIERS[suffix]
    elif exponent:
        value = value.scaleb(int(exponent))
    return float(max(-_LARGEST, min(_LARGEST, value)))


def quantities(amounts: Mapping[str, object]) -> dict[str, float]:
    """Named quantities; what cannot be read is left out."""
    found = {}
    for name, amount in amounts.items():
        if isinstance(amount, str | int | float):
            try:
                found[name] = quantity(amount)
            except ValueError:
                continue
    return found


def requests_of(pod_spec: Mapping[str, object]) -> Mapping[str, float]:
    """Resource to amount that a node must have free for this pod; itself counts as one of `pods`.

    The larger of what runs together for good (containers and sidecars) and of what each init
    container needs while it runs beside the sidecars started before it.
    """
    total = _sum(_asked(container) for container in mappings_at(pod_spec, "containers"))
    sidecars: Mapping[str, float] = {}
    peak: Mapping[str, float] = {}
    for container in mappings_at(pod_spec, "initContainers"):
        asked = _asked(container)
        if word_at(container, "restartPolicy") == "Always":
            total = _sum((total, asked))
            sidecars = _sum((sidecars, asked))
            peak = _largest(peak, sidecars)
        else:
            peak = _largest(peak, _sum((sidecars, asked)))
    running = _with_pod_level(_largest(total, peak), pod_spec)
    overhead = quantities(mapping_at(pod_spec, "overhead"))
    return MappingProxyType(_sum((running, overhead)) | {"pods": 1.0})


def enlarged(template: Mapping[str, Any], tasks: int) -> dict[str, Any]:
    """A pod template for several tasks: its first container runs them all, and gets as much more.

    Requests and limits alike, so that a task has what it would have had alone. Other containers
    are there once, however many tasks there are.
    """
    made = dict(template)
    if tasks <= 1:
        return made
    spec = dict(template.get("spec") or {})
    worker, *others = spec["containers"]
    spec["containers"] = [_with_more(worker, tasks), *others]
    made["spec"] = _with_more(spec, tasks)
    return made


def _with_more(holder: Mapping[str, Any], times: int) -> dict[str, Any]:
    resources = dict(holder.get("resources") or {})
    for kind in ("requests", "limits"):
        if resources.get(kind):
            resources[kind] = {
                name: _times(amount, times) for name, amount in resources[kind].items()
            }
    return {**holder, "resources": resources} if resources else dict(holder)


def _times(amount: str | int | float, times: int) -> str:
    """A quantity multiplied as it is written; one that nobody can read is the API server's."""
    match = _QUANTITY.fullmatch(str(amount))
    if match is None:
        return str(amount)
    number = match.group(1)
    return f"{Decimal(number) * times:f}{str(amount)[len(number) :]}"


def _asked(container: Mapping[str, object]) -> dict[str, float]:
    """A container's requests; the API server lets a limit stand in for a missing one."""
    limits = quantities(mapping_at(container, "resources", "limits"))
    return limits | quantities(mapping_at(container, "resources", "requests"))


def _with_pod_level(
    containers: Mapping[str, float], pod_spec: Mapping[str, object]
) -> Mapping[str, float]:
    """Pod-level resources replace the containers' sum; a pod-level limit only fills a gap."""
    limits = quantities(mapping_at(pod_spec, "resources", "limits"))
    requests = quantities(mapping_at(pod_spec, "resources", "requests"))
    gaps = {
        name: amount
        for name, amount in limits.items()
        if name not in containers or name.startswith("hugepages-")
    }
    replacing = {name: amount for name, amount in (gaps | requests).items() if _is_pod_level(name)}
    return {**containers, **replacing}


def _is_pod_level(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _sum(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def _largest(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    names = one.keys() | other.keys()
    return {name: max(one.get(name, 0.0), other.get(name, 0.0)) for name in sorted(names)}
