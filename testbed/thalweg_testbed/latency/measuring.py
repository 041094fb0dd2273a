"""Whether the network does what it was told: probes between nodes, each way by itself.

All nodes are containers of one machine and share its clock, so that each direction is measured,
not only the round trip. Targets are addresses of pods' networks and the nodes' own.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.links import Link, Links
from thalweg_testbed.latency.means import PORT, PROGRAM

__all__ = ["Measured", "Probe", "find_errors", "parse_answers", "plan_probes"]

COUNT = 20
_INTERVAL_MS = 15
_LEAST_TOLERANCE_S = 0.002
_TOLERANCE = 0.15
_JITTER_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What one node asks: from one of its addresses to addresses of other domains' nodes."""

    source: Node
    from_address: str
    targets: tuple[tuple[str, Node], ...]
    path: str

    def command(self, *, patience_s: float) -> tuple[str, ...]:
        """Return the command that runs on the source."""
        return (
            *(PROGRAM, "probe", "-from", self.from_address, "-port", str(PORT)),
            *("-count", str(COUNT), "-interval", f"{_INTERVAL_MS}ms"),
            *("-patience", f"{patience_s:g}s", *(address for address, _ in self.targets)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of probes from one node to another: medians, in seconds."""

    source: str
    target: str
    source_domain: str
    target_domain: str
    path: str
    """`pods` or `nodes`: between which addresses."""

    sent: int
    answered: int
    forward_s: float
    backward_s: float
    round_trip_s: float


def plan_probes(nodes: Sequence[Node]) -> Iterator[Probe]:
    """Let every node ask one node of every other domain, and every node be asked."""
    domains = sorted({node.domain for node in nodes})
    members = {d: [node for node in nodes if node.domain == d] for d in domains}
    for domain in domains:
        for index, source in enumerate(members[domain]):
            others = [members[d][index % len(members[d])] for d in domains if d != domain]
            pods = tuple((other.probe_address, other) for other in others)
            hosts = tuple((other.address, other) for other in others)
            yield Probe(source=source, from_address=source.probe_address, targets=pods, path="pods")
            yield Probe(source=source, from_address=source.address, targets=hosts, path="nodes")


def parse_answers(probe: Probe, text: str) -> list[Measured]:
    """Read what the command of a probe printed."""
    answers = {answer["target"]: answer for answer in json.loads(text)}
    return [_measured(probe, node, answers[address]) for address, node in probe.targets]


def _measured(probe: Probe, target: Node, answer: dict[str, object]) -> Measured:
    forward, backward = (_numbers(answer[key]) for key in ("forward_s", "backward_s"))
    trips = [there + back for there, back in zip(forward, backward, strict=True)]
    unknown = [float("inf")]
    return Measured(
        source=probe.source.name,
        target=target.name,
        source_domain=probe.source.domain,
        target_domain=target.domain,
        path=probe.path,
        sent=int(str(answer["sent"])),
        answered=len(trips),
        forward_s=median(forward or unknown),
        backward_s=median(backward or unknown),
        round_trip_s=median(trips or unknown),
    )


def _numbers(value: object) -> list[float]:
    return [float(number) for number in value] if isinstance(value, list) else []


def find_errors(measured: Sequence[Measured], links: Links) -> list[str]:
    """Return one line for each measurement that is not what was asked for."""
    return [line for one in measured for line in _errors(one, links)]


def _errors(one: Measured, links: Links) -> Iterator[str]:
    there = links.between(one.source_domain, one.target_domain)
    back = links.between(one.target_domain, one.source_domain)
    where = f"{one.source} ({one.source_domain}) → {one.target} ({one.target_domain}), {one.path}"
    # What is lost on purpose is not an error; that hardly anything arrives is.
    expected = one.sent * (1 - there.loss) * (1 - back.loss)
    if one.answered < max(1.0, expected / 2):
        yield f"{where}: {one.answered} of {one.sent} probes answered"
        return
    both = Link(latency_s=there.latency_s + back.latency_s, jitter_s=there.jitter_s + back.jitter_s)
    values = [
        ("round trip", both, one.round_trip_s),
        ("there", there, one.forward_s),
        ("back", back, one.backward_s),
    ]
    for name, link, seen_s in values:
        wanted_s = link.latency_s
        if abs(seen_s - wanted_s) > _tolerance_s(link):
            yield f"{where}: {name} {seen_s * 1e3:.1f} ms, asked for {wanted_s * 1e3:.1f} ms"


def _tolerance_s(link: Link) -> float:
    """The median of twenty draws strays by itself: of 99 in 100, by less than half the jitter."""
    return max(_LEAST_TOLERANCE_S, _TOLERANCE * link.latency_s) + _JITTER_SHARE * link.jitter_s
