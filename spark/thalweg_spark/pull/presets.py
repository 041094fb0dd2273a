"""Query presets: which series mean what. They belong to whoever runs the operator."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from thalweg_spark.errors import InvalidInput

NEEDED = ("tuples", "processed", "busy")
"""Without these three nothing can be decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Selectors by the fact they give, and the names of their labels."""

    name: str
    queries: Mapping[str, str]
    labels: Mapping[str, str]


def load_preset(name: str) -> Preset:
    """A preset that comes with this package."""
    folder = resources.files("thalweg_spark") / "presets"
    known = sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".toml"))
    if name not in known:
        raise InvalidInput(f"no preset is called {name}; there are {', '.join(known)}")
    return parse_preset(name, (folder / f"{name}.toml").read_text())


def parse_preset(name: str, text: str) -> Preset:
    """A preset from its text; refuses one that lacks what every decision needs."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"preset {name} is not TOML: {error}") from error
    queries, labels = found.get("queries", {}), found.get("labels", {})
    missing = [fact for fact in NEEDED if fact not in queries]
    if missing:
        raise InvalidInput(f"preset {name} has no query for {', '.join(missing)}")
    return Preset(name=name, queries=queries, labels=labels)
