"""Query presets: which series mean what. They belong to whoever runs the operator."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from thalweg_spark.condense.figures import KEYS
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

    def names(self, fact: str) -> Mapping[str, str]:
        """What our labels are called where a fact is exported."""
        return {**self.labels, **self.labels_of.get(fact, {})}

    def read(self, fact: str, series: Series) -> Series:
        """A series with our names for its labels, in our units."""
        names = self.names(fact)
        own = {label: _filled(pattern, series.labels) for label, pattern in names.items()}
        scale = self.scales.get(fact, 1.0)
        return Series(
            labels={**series.labels, **own},
            times_s=series.times_s,
            values=series.values if scale == 1.0 else series.values * scale,
        )


def labels_in(pattern: str) -> list[str]:
    """The labels that a pattern is filled from."""
    if "{" not in pattern:
        return [pattern]
    return [name for names in _PLACE.findall(pattern) for name in names.split("|")]


def _filled(pattern: str, labels: Mapping[str, str]) -> str:
    """A label's value; empty where a part of it is missing, for half a name is another's."""
    if "{" not in pattern:
        return labels.get(pattern, "")
    parts = {names: _first(names, labels) for names in _PLACE.findall(pattern)}
    return _PLACE.sub(lambda found: parts[found[1]], pattern) if all(parts.values()) else ""


def _first(names: str, labels: Mapping[str, str]) -> str:
    return next((labels[name] for name in names.split("|") if labels.get(name)), "")


def load_preset(name: str, own: Mapping[str, str] | None = None) -> Preset:
    """A preset, or several: `flink-with-goldpinger`.

    `own` are texts of presets by name, those of whoever runs the operator; they go before the ones
    that come with this package.
    """
    found = [_load(part, own or {}, ()) for part in name.split(_JOINED)]
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


def presets_in(folder: Path) -> dict[str, str]:
    """The texts of the presets in a folder: each file `NAME.toml`."""
    try:
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is no folder with presets")
        return {file.stem: file.read_text() for file in sorted(folder.glob("*.toml"))}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the presets in {folder} cannot be read: {error}") from error


def _load(name: str, own: Mapping[str, str], within: tuple[str, ...]) -> Preset:
    if name in within:
        raise InvalidInput(f"preset {name} includes itself: {' → '.join((*within, name))}")
    if name in own:
        return parse_preset(name, own[name], own, within)
    folder = resources.files("thalweg_spark") / "presets"
    shipped = {file.name[:-5] for file in folder.iterdir() if file.name.endswith(".toml")}
    if name not in shipped:
        known = ", ".join(sorted(shipped | set(own)))
        raise InvalidInput(f"no preset is called {name}; there are {known}")
    return parse_preset(name, (folder / f"{name}.toml").read_text(), own, within)


def parse_preset(
    name: str, text: str, own: Mapping[str, str] | None = None, within: tuple[str, ...] = ()
) -> Preset:
    """A preset from its text. A query is a selector, or a table of `select`, `scale`, `labels`."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"preset {name} is not TOML: {error}") from error
    includes = found.get("include", [])
    if not isinstance(includes, list) or not all(isinstance(one, str) for one in includes):
        raise InvalidInput(f"preset {name}: include must be a list of presets' names")
    included = [_load(other, own or {}, (*within, name)) for other in includes]
    queries = {fact: text for one in included for fact, text in one.queries.items()}
    scales = {fact: scale for one in included for fact, scale in one.scales.items()}
    labels_of = {
        fact: {**one.labels, **one.labels_of.get(fact, {})}
        for one in included
        for fact in one.queries
    }
    for fact, query in _table(name, "queries", found).items():
        table = _query(name, fact, query)
        queries[fact], scales[fact] = table["select"], float(table.get("scale", 1.0))
        labels_of[fact] = _labels(name, f"labels of {fact}", table)
    return Preset(
        name=name,
        queries=queries,
        labels=_labels(name, "labels", found),
        labels_of=labels_of,
        scales=scales,
    )


def _query(name: str, fact: str, query: object) -> dict[str, Any]:
    if fact not in KEYS:
        near = difflib.get_close_matches(fact, KEYS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(KEYS))}"
        raise InvalidInput(f"preset {name}: {fact} is nothing that is condensed; {hint}")
    table = {"select": query} if isinstance(query, str) else query
    if not isinstance(table, dict) or not isinstance(table.get("select"), str):
        raise InvalidInput(f"preset {name}: {fact} needs a selector, as text or as `select`")
    if type(table.get("scale", 1.0)) not in (int, float):
        raise InvalidInput(f"preset {name}: the scale of {fact} must be a number")
    return table


def _labels(name: str, where: str, found: Mapping[str, Any]) -> dict[str, str]:
    labels = _table(name, where, {where: found.get("labels", {})})
    if not all(isinstance(pattern, str) for pattern in labels.values()):
        raise InvalidInput(f"preset {name}: {where} must be texts")
    return labels


def _table(name: str, where: str, found: Mapping[str, Any]) -> dict[str, Any]:
    table = found.get(where, {})
    if not isinstance(table, dict):
        raise InvalidInput(f"preset {name}: {where} must be a table")
    return table
