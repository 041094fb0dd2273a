"""What may be turned while it runs: load and network. Demos and tests do."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from thalweg_runtime.simulated.errors import InvalidOption
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.simulated.simulation import Play, Simulation

Request = Mapping[str, Any]


def steer(simulation: Simulation, path: str, request: object) -> bool:
    """Do what a request says; False where there is no such knob."""
    knob = _KNOBS.get(path)
    if knob is None:
        return False
    if not isinstance(request, dict):
        raise InvalidOption("the body must be a JSON object")
    knob(simulation, request)
    return True


def state(simulation: Simulation) -> dict[str, Any]:
    """How everything is, in words for people and demos."""
    return {
        "now_s": simulation.now_s,
        "network": {
            "factor": simulation.network.factor,
            "between": [
                {"domains": sorted(pair), "latency_s": latency_s}
                for pair, latency_s in simulation.network.between.items()
            ],
        },
        "topologies": [_topology(play) for play in simulation.plays.values()],
        "hidden": asdict(simulation.hidden),
    }


def _topology(play: Play) -> dict[str, Any]:
    fact, tick = play.stage.fact, play.tick
    known = tick is not None and tick.latency_s == tick.latency_s
    return {
        "namespace": fact.namespace,
        "name": fact.name,
        "tasks": len(fact.pods),
        "offered_per_s": play.offered_per_s,
        "backlog_tuples": float(play.backlog.sum()),
        "latency_s": tick.latency_s if tick is not None and known else None,
        "cross_domain_share": tick.cross_domain_share if tick is not None and known else None,
        "is_stalled": play.stage.is_stalled,
    }


def _rate(simulation: Simulation, request: Request) -> None:
    """{"factor": 5} or {"rate_per_s": 5000} or {"profile": "…"}, for one "topology" or all."""
    _only(request, "topology", "factor", "rate_per_s", "profile")
    name = request.get("topology")
    offers = simulation.offers(name)
    if name is not None and not offers:
        raise InvalidOption(f"there is no topology {name!r}")
    written = request.get("profile")
    if "rate_per_s" in request:
        written = str(_number(request, "rate_per_s"))
    if written is not None:
        profile = parse_profile(str(written))
        for offer in offers:
            offer.profile, offer.began_at_s, offer.factor = profile, simulation.now_s, 1.0
        if name is None:
            simulation.offer_by_default(profile)
    if "factor" in request:
        factor = _number(request, "factor")
        for offer in offers:
            offer.factor = factor


def _latency(simulation: Simulation, request: Request) -> None:
    """{"between": ["a", "b"], "latency_s": 0.05}: one way, from now on."""
    _only(request, "between", "latency_s")
    pair = request.get("between")
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)):
        raise InvalidOption('"between" must be the names of two domains')
    simulation.network.slow(pair, _number(request, "latency_s"))
    simulation.network_changed()


def _network(simulation: Simulation, request: Request) -> None:
    """{"factor": 3} on all that lies between domains; {"reset": true} as it was at the start."""
    _only(request, "factor", "reset")
    if request.get("reset"):
        simulation.network.reset()
    if "factor" in request:
        simulation.network.factor = _number(request, "factor")
    simulation.network_changed()


def _only(request: Request, *names: str) -> None:
    strange = sorted(set(request) - set(names))
    if strange:
        raise InvalidOption(f"unknown: {', '.join(strange)}; known: {', '.join(names)}")


def _number(request: Request, name: str) -> float:
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(f"{name!r} must be a number")
    if not 0 <= value < float("inf"):
        raise InvalidOption(f"{name!r} must be at least 0")
    return float(value)


_KNOBS: dict[str, Callable[[Simulation, Request], None]] = {
    "/rate": _rate,
    "/latency": _latency,
    "/network": _network,
}
