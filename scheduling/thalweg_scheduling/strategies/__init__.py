"""The strategies that a StreamTopology can name, by the word in its spec."""

from thalweg_scheduling.model.errors import StrategyUnavailable
from thalweg_scheduling.place.proposal import Strategy
from thalweg_scheduling.strategies.even import place_evenly

STRATEGIES: dict[str, Strategy] = {
    "Even": place_evenly,
}


def strategy_named(name: str) -> Strategy:
    """Look a strategy up by the word that a user writes."""
    try:
        return STRATEGIES[name]
    except KeyError:
        known = ", ".join(sorted(STRATEGIES))
        raise StrategyUnavailable(
            f"strategy {name} is not available here; choose one of {known}"
        ) from None
