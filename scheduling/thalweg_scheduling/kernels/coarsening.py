"""Drawing parts together, so that what belongs together is placed together.

Parts join the cluster with which they exchange most for its size, as long as it stays within a
limit. Parts of different kinds, and parts that may not move, are never joined.
"""

import heapq
from typing import NamedTuple

import numpy as np

from thalweg_scheduling.kernels.layout import Graph, Parts
from thalweg_scheduling.model.arrays import Floats, Ints


class Merged(NamedTuple):
    """The entries of the graph of clusters, while it is made."""

    other: Ints
    weight: Floats
    slot: Ints
    """For each cluster, where its entry is in the row at hand."""
    label: Ints
    """For each part, its cluster."""


class Tally(NamedTuple):
    """What one part exchanges with the clusters around it; zero between uses."""

    weight: Floats
    """By cluster."""
    touched: Ints
    """The clusters it talks with."""
    size: Floats
    """By cluster and resource: how large each has become."""


def cluster(graph: Graph, parts: Parts, limit: Floats, order: Ints, label: Ints) -> int:
    """Join parts into clusters; `label` gets each part's cluster. Returns how many there are."""
    count = len(label)
    around = Tally(np.zeros(count), np.empty(count, dtype=np.int64), parts.demand.copy())
    members = np.ones(count, dtype=np.int64)
    label[:] = np.arange(count)
    for part in order:
        if not parts.movable[part] or members[label[part]] > 1:
            continue
        found = tally(graph, label, around, part)
        best = choose(parts, limit, around, found, part)
        for position in range(found):
            around.weight[around.touched[position]] = 0.0
        if best >= 0:
            members[best] += 1
            members[part] -= 1
            around.size[best] += parts.demand[part]
            label[part] = best
    return number(label)


def tally(graph: Graph, label: Ints, around: Tally, part: int) -> int:
    """Add up what the part exchanges with each cluster; returns with how many."""
    weight, touched = around.weight, around.touched
    # Arrays by name of their own: numba counts references at each look into a tuple.
    others, weights = graph.other, graph.weight
    found = 0
    own = label[part]
    for entry in range(graph.indptr[part], graph.indptr[part + 1]):
        other = label[others[entry]]
        if other == own or weights[entry] <= 0.0:
            continue
        if weight[other] == 0.0:
            touched[found] = other
            found += 1
        weight[other] += weights[entry]
    return found


def choose(parts: Parts, limit: Floats, around: Tally, found: int, part: int) -> int:
    """The cluster that the part should join, or -1."""
    weight, touched, size = around.weight, around.touched, around.size
    best = -1
    highest = 0.0
    for position in range(found):
        other = touched[position]
        if parts.kind[other] != parts.kind[part] or not parts.movable[other]:
            continue
        rating = weight[other] / (1e-9 + added(size[other]))
        if rating > highest and within(size[other], parts.demand[part], limit):
            best = other
            highest = rating
    return best


def added(values: Floats) -> float:
    """Their sum, one after the other: numpy and numba group them in different ways."""
    total = 0.0
    for value in values:
        total += value
    return total


def within(size: Floats, more: Floats, limit: Floats) -> bool:
    """Whether the two together stay within the limit."""
    for resource in range(len(limit)):
        if more[resource] > 0.0 and size[resource] + more[resource] > limit[resource]:
            return False
    return True


def number(label: Ints) -> int:
    """Number the clusters from 0 in the order of their seeds."""
    fresh = np.full(len(label), -1, dtype=np.int64)
    count = 0
    for part in range(len(label)):
        seed = label[part]
        if fresh[seed] < 0:
            fresh[seed] = count
            count += 1
    for part in range(len(label)):
        label[part] = fresh[label[part]]
    return count


def contract(graph: Graph, label: Ints, count: int) -> Graph:
    """The graph between clusters; what stays inside of one is left out."""
    entries = len(graph.other)
    indptr = np.zeros(count + 1, dtype=np.int64)
    split = np.zeros(count, dtype=np.int64)
    merged = Merged(
        np.empty(entries, dtype=np.int64),
        np.empty(entries),
        np.full(count, -1, dtype=np.int64),
        label,
    )
    start, members = sort_by_label(label, count)
    top = 0
    for own in range(count):
        mine = members[start[own] : start[own + 1]]
        split[own] = merge(graph, merged, mine, (graph.indptr, graph.split), top)
        top = merge(graph, merged, mine, (graph.split, graph.indptr[1:]), split[own])
        indptr[own + 1] = top
    return Graph(indptr, split, merged.other[:top].copy(), merged.weight[:top].copy())


def merge(graph: Graph, merged: Merged, mine: Ints, bounds: tuple[Ints, Ints], floor: int) -> int:
    """Add one cluster's entries to the merged ones from `floor` on; returns where they end."""
    other, weight, slot, label = merged.other, merged.weight, merged.slot, merged.label
    others, weights = graph.other, graph.weight
    low, high = bounds
    top = floor
    for part in mine:
        own = label[part]
        for entry in range(low[part], high[part]):
            there = label[others[entry]]
            if there == own:
                continue
            if slot[there] < floor:
                slot[there] = top
                other[top] = there
                weight[top] = 0.0
                top += 1
            weight[slot[there]] += weights[entry]
    return top


def sort_by_label(label: Ints, count: int) -> tuple[Ints, Ints]:
    """The parts of each cluster: where they start, and which they are."""
    start = np.zeros(count + 1, dtype=np.int64)
    for part in range(len(label)):
        start[label[part] + 1] += 1
    for own in range(count):
        start[own + 1] += start[own]
    cursor = start[:-1].copy()
    members = np.empty(len(label), dtype=np.int64)
    for part in range(len(label)):
        members[cursor[label[part]]] = part
        cursor[label[part]] += 1
    return start, members


def by_proximity(graph: Graph, seeds: Ints) -> Ints:
    """All parts, each as soon as most of what it exchanges is with those before it.

    Where nothing is connected any more, the next of `seeds` begins.
    """
    count = len(graph.indptr) - 1
    total = np.zeros(count)
    for part in range(count):
        total[part] = 1e-300 + added(graph.weight[graph.indptr[part] : graph.indptr[part + 1]])
    tied = np.zeros(count)
    done = np.zeros(count, dtype=np.bool_)
    order = np.empty(count, dtype=np.int64)
    filled = 0
    for seed in seeds:
        heap = [(0.0, seed)]
        while len(heap) > 0:
            _, part = heapq.heappop(heap)
            if done[part]:
                continue
            done[part] = True
            order[filled] = part
            filled += 1
            for entry in range(graph.indptr[part], graph.indptr[part + 1]):
                near = graph.other[entry]
                if not done[near]:
                    tied[near] += graph.weight[entry]
                    heapq.heappush(heap, (-tied[near] / total[near], near))
    return order


KERNELS = (
    added,
    tally,
    within,
    choose,
    number,
    cluster,
    sort_by_label,
    merge,
    contract,
    by_proximity,
)
