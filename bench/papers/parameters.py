"""The papers' own parameters that the texts do not state: halved and doubled like constants."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from bench.papers.grouping import near_source, weighted_by_load
from bench.papers.systems import System
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.strategies.hd_stream import HdParameters, hd_stream
from thalweg_scheduling.strategies.md_stream import MdParameters, md_stream
from thalweg_scheduling.strategies.ns_stream import NsParameters, ns_stream
from thalweg_scheduling.strategies.ra_stream import RaParameters, ra_stream
from thalweg_scheduling.strategies.sgp_stream import SgpParameters, sgp_stream
from thalweg_scheduling.strategies.strategy import Strategy

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Parameters = TypeVar("Parameters", bound="DataclassInstance")

VARIED_PARAMETERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "RaStream": ("first_heat", "last_heat", "tries_per_task"),
        "SgpStream": (
            "cpu_weight",
            "slots_per_node",
            "descent.most_busy",
            "descent.least_busy",
            "descent.step",
            "weights.initial",
            "weights.rise",
        ),
        "NsStream": (
            "alpha",
            "training.rate",
            "training.steps",
            "imbalance",
            "workers_per_node",
        ),
        "HdStream": ("most_groups", "tolerated", "cpu_weight"),
        "MdStream": (
            "cpu_weight",
            "slots_per_node",
            "refinement.imbalance",
            "refinement.restarts",
            "elasticity.most_latency_s",
            "elasticity.damping",
        ),
    }
)
"""By strategy: the names of what our choice (c) is, with a dot where it is part of something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    make: Callable[[Any], Strategy]
    usual: Any


_MAKERS: Mapping[str, _Maker] = MappingProxyType(
    {
        "RaStream": _Maker(make=ra_stream, usual=RaParameters()),
        "SgpStream": _Maker(make=sgp_stream, usual=SgpParameters()),
        "NsStream": _Maker(make=ns_stream, usual=NsParameters()),
        "HdStream": _Maker(make=hd_stream, usual=HdParameters()),
        "MdStream": _Maker(make=md_stream, usual=MdParameters()),
    }
)


def with_varied_parameters(systems: Sequence[System]) -> dict[str, tuple[System, ...]]:
    """By what was done: the systems, a paper's strategy having one parameter halved or doubled.

    A value outside of its range is left out.
    """
    found = {}
    for place, system in enumerate(systems):
        for name in VARIED_PARAMETERS.get(system.name, ()):
            for factor in (0.5, 2.0):
                try:
                    other = tuned(system, name, factor)
                except InvalidParameters:
                    continue
                label = f"{name} × {factor:g}"
                found[label] = (*systems[:place], other, *systems[place + 1 :])
    return found


def tuned(system: System, name: str, factor: float) -> System:
    """A paper's strategy with one of its parameters multiplied."""
    maker = _MAKERS[system.name]
    parameters = multiplied(maker.usual, name, factor)
    made = maker.make(parameters)
    regroup = system.regroup
    if regroup is not None and system.grouping is GroupingType.NEAR_SOURCE:
        regroup = partial(near_source, alpha=parameters.alpha)
    if regroup is not None and system.grouping is GroupingType.WEIGHTED:
        regroup = partial(weighted_by_load, steps=parameters.weights)
    scale = None if system.scale is None else made.scale
    return replace(system, place=made.place, scale=scale, regroup=regroup)


def multiplied(parameters: Parameters, name: str, factor: float) -> Parameters:
    """The same with one field multiplied; whole numbers stay whole."""
    outer, _, inner = name.partition(".")
    value = getattr(parameters, outer)
    if inner:
        return replace(parameters, **{outer: multiplied(value, inner, factor)})
    after = max(1, round(value * factor)) if isinstance(value, int) else value * factor
    return replace(parameters, **{outer: after})
