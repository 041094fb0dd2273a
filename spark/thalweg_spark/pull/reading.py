"""What a query gave, as series that count: by our names, of the pods they name, and once.

Two jobs that scrape one pod, or two Prometheus servers of which nobody takes only one, give every
series twice, and what is given twice would be added up.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg_spark.condense.figures import WELCOME
from thalweg_spark.condense.rates import median
from thalweg_spark.condense.series import Series, identity, joined
from thalweg_spark.pull.presets import Preset, labels_in

Owners = Mapping[tuple[str, str], frozenset[str]]
"""The topologies of each (namespace, pod)."""
_OF_SERVERS = ("prometheus", "prometheus_replica", "replica", "__replica__")
"""External labels: which of several equal servers has a series."""
_OF_SCRAPES = ("job", "instance", "endpoint", "service", "metrics_path")
"""Which job has scraped it, and at which address: no matter where the pod or the node is named."""
_PLACES = ("pod", "node", "source_node")
_OUR_CONTRACT = "thalweg_"
_APART = 0.6
"""Of a scrape interval. Servers scrape at different moments and their clocks differ a little: only
what is further from all samples of a series than that tells something new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the answers to a preset's queries are read."""

    preset: Preset
    owners: Owners = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """What another process needs to read in the same way."""
        owners = [[*pod, *sorted(names)] for pod, names in self.owners.items()]
        return {"preset": self.preset.document(), "owners": owners}

    @staticmethod
    def of_document(document: Mapping[str, Any]) -> "Reading":
        """The reading that a document describes."""
        owners = {
            (namespace, pod): frozenset(names) for namespace, pod, *names in document["owners"]
        }
        return Reading(preset=Preset(**document["preset"]), owners=owners)

    def read(self, fact: str, found: Iterable[Series]) -> list[Series]:
        """The series of a fact."""
        named = (self.preset.read(fact, one) for one in found)
        told = [one for one in named if not self._is_forged(one.labels)]
        return _once_each(told, self._identity(fact))

    def _is_forged(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod is said to be of a topology whose it is not: labels are easily written."""
        if not self.owners:
            return False
        owners = self.owners.get((labels.get("namespace", ""), labels.get("pod", "")))
        topology = labels.get("topology")
        return owners is not None and bool(topology) and topology not in owners

    def _identity(self, fact: str) -> "_Identity":
        names = self.preset.names(fact)
        if self.preset.queries[fact].startswith(_OUR_CONTRACT):
            return _Identity(only=frozenset({*names, "le"}))
        read = {label for pattern in names.values() for label in labels_in(pattern)}
        return _Identity(
            servers=frozenset(_OF_SERVERS) - read, scrapes=frozenset(_OF_SCRAPES) - read
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identity:
    """The labels that tell a fact's series apart."""

    only: frozenset[str] = frozenset()
    """These alone, where the contract is ours."""
    servers: frozenset[str] = frozenset()
    scrapes: frozenset[str] = frozenset()

    def of(self, labels: Mapping[str, str]) -> dict[str, str]:
        if self.only:
            return {name: value for name, value in labels.items() if name in self.only}
        has_place = any(labels.get(name) for name in _PLACES)
        dropped = self.servers | self.scrapes if has_place else self.servers
        return {name: value for name, value in labels.items() if name not in dropped}


def _once_each(found: Iterable[Series], labels_of: _Identity) -> list[Series]:
    twins: dict[frozenset[tuple[str, str]], list[Series]] = {}
    for one in found:
        labels = labels_of.of(one.labels)
        own = one if labels == one.labels else _named(one, labels)
        twins.setdefault(identity(labels), []).append(own)
    return [ones[0] if len(ones) == 1 else merged(ones) for ones in twins.values()]


def in_order(facts: Iterable[str]) -> list[str]:
    """What is needed goes first: where it cannot be had, nobody has to wait for the rest."""
    return sorted(facts, key=lambda fact: fact in WELCOME)


def merged(twins: Iterable[Series]) -> Series:
    """One series of several that tell the same: the fullest, and of others what it lacks."""
    fullest, *others = sorted(twins, key=_emptiness)
    node = next((one.labels["node"] for one in (fullest, *others) if one.labels.get("node")), "")
    for other in others:
        fullest = _filled(fullest, other)
    return _named(fullest, {**fullest.labels, "node": node}) if node else fullest


def _emptiness(series: Series) -> tuple[float, ...]:
    """The same order whoever comes first."""
    return -series.times_s.size, -series.last_s, float(series.times_s[0]), float(series.values[0])


def _filled(whole: Series, other: Series) -> Series:
    pace_s = median(np.diff(whole.times_s)) if whole.times_s.size > 1 else 0.0
    place = np.searchsorted(whole.times_s, other.times_s)
    known_s = np.concatenate(([-np.inf], whole.times_s, [np.inf]))
    apart_s = np.minimum(other.times_s - known_s[place], known_s[place + 1] - other.times_s)
    new = apart_s > _APART * pace_s
    if not new.any():
        return whole
    times_s = np.concatenate((whole.times_s, other.times_s[new]))
    order = np.argsort(times_s, kind="stable")
    values = np.concatenate((whole.values, other.values[new]))
    return Series(labels=whole.labels, times_s=times_s[order], values=values[order])


def whole(pieces: Iterable[Series]) -> list[Series]:
    """Series, each put together of its pieces; that in one piece is clean as it is."""
    found: dict[frozenset[tuple[str, str]], list[Series]] = {}
    for one in pieces:
        found.setdefault(identity(one.labels), []).append(one)
    put_together = (ones[0] if len(ones) == 1 else joined(ones) for ones in found.values())
    return [one for one in put_together if one is not None]


def _named(series: Series, labels: Mapping[str, str]) -> Series:
    return Series(labels=labels, times_s=series.times_s, values=series.values)
