"""The arrays that kernels work on, in tuples, which is how numba takes several at once.

A *part* is what is placed: a task, or several that were drawn together. A *site* is where it goes:
a node, or a whole domain. Resources are in units of a mean node, so that their sum means something.
All arrays are contiguous and writable, so that each kernel is compiled once.
"""

from typing import NamedTuple

from thalweg_scheduling.model.arrays import Bools, Floats, Ints


class Flow(NamedTuple):
    """Traffic as it was measured: tuples/s from `source[i]` to `target[i]`."""

    source: Ints
    target: Ints
    per_s: Floats


class Ways(NamedTuple):
    """How far it is between nodes: `same` on one node, else `between` of their groups."""

    group_of: Ints
    between: Floats
    same: Floats


class Graph(NamedTuple):
    """Who talks with whom, as CSR over parts, each pair in both rows.

    Of row v, entries up to `split[v]` are what v sends, the rest what it gets. Where there and back
    take equally long, everything counts as sent.
    """

    indptr: Ints
    split: Ints
    other: Ints
    weight: Floats


class Sites(NamedTuple):
    """Where parts can go: S sites in G groups, R resources."""

    capacity: Floats
    """Shape (S, R)."""
    group_of: Ints
    """Shape (S,): sites of one group are equally far from all others."""
    between: Floats
    """Shape (G, G)."""
    same: Floats
    """Shape (S,): seconds between two parts on this site."""
    allowed: Bools
    """Shape (kinds, S): which kind of part may be where."""


class Parts(NamedTuple):
    """What is placed: P parts."""

    demand: Floats
    """Shape (P, R)."""
    kind: Ints
    """Shape (P,): the row of `Sites.allowed`."""
    movable: Bools
    """Shape (P,)."""
    home: Ints
    """Shape (P,): where the part is now, or -1."""
    price: Floats
    """Shape (P,): what leaving home costs."""


class Scene(NamedTuple):
    """All that stays the same while parts move."""

    graph: Graph
    sites: Sites
    parts: Parts


class Standing(NamedTuple):
    """A placement under change."""

    site: Ints
    """Shape (P,): or -1."""
    free: Floats
    """Shape (S, R): what is left."""


class Desk(NamedTuple):
    """Scratch space of one part's neighbourhood; zero between uses."""

    at: Floats
    """Shape (S,): what it exchanges with each site."""
    sent: Floats
    """Shape (G,)."""
    got: Floats
    """Shape (G,)."""
    base: Floats
    """Shape (G,): what it would cost in each of these groups."""
    sites: Ints
    """Shape (S,): the sites it talks with."""
    groups: Ints
    """Shape (G,): the groups it talks with."""
    counts: Ints
    """Shape (2,): how many of these there are."""


class Members(NamedTuple):
    """The parts of each site, as linked lists."""

    first: Ints
    """Shape (S,): or -1."""
    after: Ints
    """Shape (P,): or -1."""
    before: Ints
    """Shape (P,): or -1."""
    number: Ints
    """Shape (S,): how many there are."""


class Tries(NamedTuple):
    """What annealing does, step by step."""

    chance: Floats
    """Shape (steps, 3): numbers from 0 to 1, which decide what is tried."""
    luck: Floats
    """Shape (steps,): logarithms of such numbers, which decide whether it is done."""
    heat: Floats
    """Shape (steps,): what a change may cost and still be made with one chance in e."""
