"""The strategies that a StreamTopology can name, by the word in its spec."""

from thalweg_scheduling.model.errors import StrategyUnavailable
from thalweg_scheduling.strategies.auto import place_auto
from thalweg_scheduling.strategies.even import place_evenly
from thalweg_scheduling.strategies.hd_stream import HD_STREAM
from thalweg_scheduling.strategies.md_stream import MD_STREAM
from thalweg_scheduling.strategies.ns_stream import NS_STREAM
from thalweg_scheduling.strategies.ra_stream import RA_STREAM
from thalweg_scheduling.strategies.resource_aware import place_resource_aware
from thalweg_scheduling.strategies.sgp_stream import SGP_STREAM
from thalweg_scheduling.strategies.strategy import Strategy

STRATEGIES: dict[str, Strategy] = {
    "Auto": Strategy(place=place_auto),
    "Even": Strategy(place=place_evenly),
    "HdStream": HD_STREAM,
    "MdStream": MD_STREAM,
    "NsStream": NS_STREAM,
    "RaStream": RA_STREAM,
    "ResourceAware": Strategy(place=place_resource_aware),
    "SgpStream": SGP_STREAM,
}


def strategy_named(name: str) -> Strategy:
    """Look a strategy up by the word that a user writes."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    known = ", ".join(sorted(STRATEGIES))
    raise StrategyUnavailable(f"there is no strategy {name}; choose one of {known}")
