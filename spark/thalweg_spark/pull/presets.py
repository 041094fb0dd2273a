"""Query presets: which series mean what. They belong to whoever runs the operator."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import Any

from thalweg_spark.condense.series import Series
from thalweg_spark.errors import InvalidInput

NEEDED = (("tuples", "sent"), ("processed",), ("busy", "busy_share", "thread_share"))
"""Without one fact of each nothing can be decided."""
_JOINED = "-with-"
_PLACE = re.compile(r"\{(\w+(?:\|\w+)*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Selectors by the fact they give, and how their labels and numbers are read."""

    name: str
    queries: Mapping[str, str]
    labels: Mapping[str, str]
    """Our label to theirs, or to a pattern of several, such as `{task_name}-{subtask_index}`; of
    `{bolt_id|spout_id}` the first that is there."""
    labels_of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The same where a fact's labels differ from the others'."""
    scales: Mapping[str, float] = field(default_factory=dict)
    """What a fact's numbers are multiplied by to be in our units."""

    def document(self) -> dict[str, Any]:
        """What another process needs to read in the same way."""
        return asdict(self)

    def read(self, fact: str, series: Series) -> Series:
        """A series with our names for its labels, in our units."""
        names = {**self.labels, **self.labels_of.get(fact, {})}
        own = {label: _filled(pattern, series.labels) for label, pattern in names.items()}
        scale = self.scales.get(fact, 1.0)
        return Series(
            labels={**series.labels, **own},
            times_s=series.times_s,
            values=series.values if scale == 1.0 else series.values * scale,
        )


def _filled(pattern: str, labels: Mapping[str, str]) -> str:
    """A label's value; empty where a part of it is missing, for half a name is another's."""
    if "{" not in pattern:
        return labels.get(pattern, "")
    parts = {names: _first(names, labels) for names in _PLACE.findall(pattern)}
    return _PLACE.sub(lambda found: parts[found[1]], pattern) if all(parts.values()) else ""


def _first(names: str, labels: Mapping[str, str]) -> str:
    return next((labels[name] for name in names.split("|") if labels.get(name)), "")


def load_preset(name: str) -> Preset:
    """A preset that comes with this package, or several: `flink-with-goldpinger`."""
    found = [_load(part) for part in name.split(_JOINED)]
    joined = Preset(
        name=name,
        queries={fact: text for one in found for fact, text in one.queries.items()},
        labels={label: text for one in reversed(found) for label, text in one.labels.items()},
        labels_of={
            fact: {**one.labels, **one.labels_of.get(fact, {})}
            for one in found
            for fact in one.queries
        },
        scales={fact: scale for one in found for fact, scale in one.scales.items()},
    )
    missing = [" or ".join(facts) for facts in NEEDED if not set(facts) & set(joined.queries)]
    if missing:
        raise InvalidInput(f"preset {name} has no query for {', '.join(missing)}")
    return joined


def _load(name: str) -> Preset:
    folder = resources.files("thalweg_spark") / "presets"
    known = sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".toml"))
    if name not in known:
        raise InvalidInput(f"no preset is called {name}; there are {', '.join(known)}")
    return parse_preset(name, (folder / f"{name}.toml").read_text())


def parse_preset(name: str, text: str) -> Preset:
    """A preset from its text. A query is a selector, or a table of `select`, `scale`, `labels`."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"preset {name} is not TOML: {error}") from error
    included = [_load(other) for other in found.get("include", ())]
    preset = Preset(
        name=name,
        queries={fact: text for one in included for fact, text in one.queries.items()},
        labels=found.get("labels", {}),
        labels_of={
            fact: {**one.labels, **one.labels_of.get(fact, {})}
            for one in included
            for fact in one.queries
        },
        scales={fact: scale for one in included for fact, scale in one.scales.items()},
    )
    queries, labels_of, scales = dict(preset.queries), dict(preset.labels_of), dict(preset.scales)
    for fact, query in found.get("queries", {}).items():
        table: dict[str, Any] = {"select": query} if isinstance(query, str) else query
        if not isinstance(table.get("select"), str):
            raise InvalidInput(f"preset {name}: {fact} needs a selector, as text or as `select`")
        queries[fact], scales[fact] = table["select"], float(table.get("scale", 1.0))
        labels_of[fact] = dict(table.get("labels", {}))
    return Preset(
        name=name, queries=queries, labels=preset.labels, labels_of=labels_of, scales=scales
    )
