"""The tables of equations in the papers' strategies name functions that there are."""

import importlib.util
import pkgutil
import re
from types import ModuleType

import pytest

import thalweg_scheduling
from thalweg_scheduling.strategies import (
    hd_stream,
    md_stream,
    ns_stream,
    ra_stream,
    sgp_stream,
)

ROOT = thalweg_scheduling.__name__
PAPERS = (ra_stream, sgp_stream, ns_stream, hd_stream, md_stream)


def named(paper: ModuleType) -> list[str]:
    """What stands in the right column."""
    lines = [line for line in (paper.__doc__ or "").splitlines() if line.startswith("| ")]
    return [name for line in lines for name in re.findall(r"`([^`]+)`", line.split("|")[2])]


def exists(name: str, paper: ModuleType) -> bool:
    """Whether it is a module, something in one, or something that the paper's module knows."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = ".".join([ROOT, *parts[:cut]])
        if _found(module):
            return _has(importlib.import_module(module), parts[cut:])
    return _has(paper, parts) or any(_has(module, parts) for module in _everything())


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _has(thing: object, parts: list[str]) -> bool:
    for part in parts:
        fields = getattr(thing, "__dataclass_fields__", {})
        if not hasattr(thing, part) and part not in fields:
            return False
        thing = getattr(thing, part, None)
    return True


def _everything() -> list[ModuleType]:
    names = pkgutil.walk_packages(thalweg_scheduling.__path__, ROOT + ".")
    return [importlib.import_module(each.name) for each in names]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.__name__.rsplit(".", 1)[-1])
def test_every_equation_has_a_function(paper: ModuleType) -> None:
    names = named(paper)
    assert len(names) >= 8
    assert [name for name in names if not exists(name, paper)] == []


def test_a_function_that_there_is_not_would_show() -> None:
    assert not exists("measure.rates.of_nothing", ra_stream)
    assert not exists("Dependencies.nothing", ra_stream)
