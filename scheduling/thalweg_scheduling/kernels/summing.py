"""Going over all traffic once: adding it up, and sorting it by task."""

import numpy as np

from thalweg_scheduling.kernels.layout import Flow, Graph, Ways
from thalweg_scheduling.model.arrays import Ints


def total(flow: Flow, ways: Ways, node: Ints) -> float:
    """Σ rate · seconds over the pairs of which both have a node."""
    source, target, per_s = flow.source, flow.target, flow.per_s
    group_of, between, same = ways.group_of, ways.between, ways.same
    cost = 0.0
    for entry in range(len(per_s)):
        here, there = node[source[entry]], node[target[entry]]
        if here < 0 or there < 0:
            continue
        if here == there:
            cost += per_s[entry] * same[here]
        else:
            cost += per_s[entry] * between[group_of[here], group_of[there]]
    return cost


def both_ways(flow: Flow, tasks: int) -> Graph:
    """Of each task, first what it sends, then what it gets; nothing of what it sends itself."""
    source, target, per_s = flow.source, flow.target, flow.per_s
    sends = np.zeros(tasks + 1, dtype=np.int64)
    gets = np.zeros(tasks + 1, dtype=np.int64)
    for entry in range(len(per_s)):
        if source[entry] != target[entry] and per_s[entry] > 0.0:
            sends[source[entry]] += 1
            gets[target[entry]] += 1
    indptr = np.zeros(tasks + 1, dtype=np.int64)
    indptr[1:] = np.cumsum(sends[:-1] + gets[:-1])
    split = indptr[:-1] + sends[:-1]
    next_sent, next_got = indptr[:-1].copy(), split.copy()
    other = np.empty(indptr[-1], dtype=np.int64)
    weight = np.empty(indptr[-1])
    for entry in range(len(per_s)):
        one, two = source[entry], target[entry]
        if one != two and per_s[entry] > 0.0:
            other[next_sent[one]] = two
            weight[next_sent[one]] = per_s[entry]
            next_sent[one] += 1
            other[next_got[two]] = one
            weight[next_got[two]] = per_s[entry]
            next_got[two] += 1
    return Graph(indptr, split, other, weight)


KERNELS = (total, both_ways)
