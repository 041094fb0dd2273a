"""Whom a prober asks: everybody in a small cluster, a fair sample of each domain in a large one.

Every prober draws lots by the same rule from the same names, so nobody has to tell anybody: of each
pair of domains a few nodes of one ask a few of the other; fewer, where there are many domains. What
a node asks is bounded, and so the cluster's whole cost grows with its nodes, not with their pairs.
"""

import hashlib
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from thalweg_runtime.prober.echo import Peer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How much is asked."""

    every_pair_up_to: int = 64
    """In clusters of so many nodes everybody asks everybody."""
    of_own_domain: int = 16
    of_pair: int = 4
    """So many nodes of a domain ask so many of each other domain, as far as `most` allows."""
    most: int = 64
    """No node asks more than that."""


def chosen(me: Peer, others: Iterable[Peer], sampling: Sampling) -> list[Peer]:
    """Those that this node asks."""
    others = sorted((one for one in others if one.node != me.node), key=lambda one: one.node)
    if len(others) < sampling.every_pair_up_to:
        return others
    by_domain: dict[str, list[Peer]] = {me.domain: []}
    for one in others:
        by_domain.setdefault(one.domain, []).append(one)
    own = by_domain.pop(me.domain)
    near = _drawn(own, me.node, sampling.of_own_domain)[: sampling.most]
    far: list[Peer] = []
    for of_pair in range(sampling.of_pair, 0, -1):
        far = _far(me, own, by_domain, of_pair)
        if len(near) + len(far) <= sampling.most:
            break
    return near + far[: sampling.most - len(near)]


def _far(
    me: Peer, own: Sequence[Peer], by_domain: Mapping[str, Sequence[Peer]], of_pair: int
) -> list[Peer]:
    """Those of other domains that this node asks if so many ask so many.

    The domains stand in a ring, and the next ones come first: of two that are too far apart in one
    direction, the other asks.
    """
    found: list[Peer] = []
    domains = sorted(by_domain)
    after = bisect(domains, me.domain)
    for domain in domains[after:] + domains[:after]:
        if me in _drawn([*own, me], domain, of_pair):
            found += _drawn(by_domain[domain], me.domain, of_pair)
    return found


def _drawn(peers: Sequence[Peer], lot: str, count: int) -> list[Peer]:
    """So many of the peers, by lots that everybody draws alike."""
    return sorted(peers, key=lambda one: _lot(one.node, lot))[:count]


def _lot(node: str, lot: str) -> bytes:
    return hashlib.blake2b(f"{node}\0{lot}".encode(), digest_size=8).digest()
