"""The strategies that a StreamTopology can name, by the word in its spec."""

from thalweg_scheduling.model.errors import StrategyUnavailable
from thalweg_scheduling.place.proposal import Strategy
from thalweg_scheduling.strategies.auto import place_auto
from thalweg_scheduling.strategies.even import place_evenly
from thalweg_scheduling.strategies.resource_aware import place_resource_aware

STRATEGIES: dict[str, Strategy] = {
    "Auto": place_auto,
    "Even": place_evenly,
    "ResourceAware": place_resource_aware,
}

PAPERS = ("MdStream", "HdStream", "NsStream", "SgpStream", "RaStream")
"""Words that the API accepts and that this version does not implement."""


def strategy_named(name: str) -> Strategy:
    """Look a strategy up by the word that a user writes."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    known = ", ".join(sorted(STRATEGIES))
    if name in PAPERS:
        raise StrategyUnavailable(
            f"strategy {name} is not part of this version; choose one of {known} "
            "(Auto places by the same measurements)"
        )
    raise StrategyUnavailable(f"there is no strategy {name}; choose one of {known}")
