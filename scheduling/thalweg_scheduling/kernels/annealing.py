"""Simulated annealing over moves and swaps, each weighed by what it alone changes.

A part is drawn, and one that it talks with; it goes there, or changes places with somebody there if
there is no room. The chance comes in as an array of numbers, so that it is the same in both twins.
"""

from thalweg_scheduling.kernels.layout import Graph, Members, Parts, Scene, Sites, Standing, Tries
from thalweg_scheduling.model.arrays import Ints


def anneal(scene: Scene, standing: Standing, members: Members, pool: Ints, tries: Tries) -> float:
    """Try to move one part of the `pool` at each step; returns how J changed in all."""
    graph, sites, parts = scene.graph, scene.sites, scene.parts
    chance, luck, heat = tries.chance, tries.luck, tries.heat
    total = 0.0
    for step in range(len(heat)):
        part = pool[int(chance[step, 0] * len(pool))]
        low, high = graph.indptr[part], graph.indptr[part + 1]
        here = standing.site[part]
        if low == high or here < 0:
            continue
        near = graph.other[low + int(chance[step, 1] * (high - low))]
        there = standing.site[near]
        if there < 0 or there == here or not sites.allowed[parts.kind[part], there]:
            continue
        partner = -1
        if not has_room(parts, standing, part, there):
            partner = draw(members, there, chance[step, 2])
            if not can_swap(scene, standing, part, partner):
                continue
        change = change_of(scene, standing, part, partner, there)
        if change <= 0.0 or luck[step] * heat[step] < -change:
            move(parts, standing, members, part, there)
            if partner >= 0:
                move(parts, standing, members, partner, here)
            total += change
    return total


def change_of(scene: Scene, standing: Standing, part: int, partner: int, there: int) -> float:
    """How J changes if the part goes there and its partner, if any, takes its place."""
    sites = scene.sites
    here = standing.site[part]
    change = shift(scene, standing, part, there)
    if partner >= 0:
        # Each is weighed as if the other stayed; what they exchange is put right here.
        change += shift(scene, standing, partner, here)
        change += exchanged(scene.graph, part, partner) * (
            seconds(sites, here, there)
            + seconds(sites, there, here)
            - sites.same[here]
            - sites.same[there]
        )
    return change


def shift(scene: Scene, standing: Standing, part: int, there: int) -> float:
    """How J changes if one part goes to another site."""
    graph, sites = scene.graph, scene.sites
    # Arrays by name of their own: numba counts references at each look into a tuple.
    site, other, weight = standing.site, graph.other, graph.weight
    group_of, between = sites.group_of, sites.between
    here = site[part]
    old, new = group_of[here], group_of[there]
    same_old, same_new = sites.same[here], sites.same[there]
    change = 0.0
    for entry in range(graph.indptr[part], graph.split[part]):
        away = site[other[entry]]
        if away >= 0:
            group = group_of[away]
            after = same_new if away == there else between[new, group]
            before = same_old if away == here else between[old, group]
            change += weight[entry] * (after - before)
    for entry in range(graph.split[part], graph.indptr[part + 1]):
        away = site[other[entry]]
        if away >= 0:
            group = group_of[away]
            after = same_new if away == there else between[group, new]
            before = same_old if away == here else between[group, old]
            change += weight[entry] * (after - before)
    return change + priced(scene.parts, part, here, there)


def priced(parts: Parts, part: int, here: int, there: int) -> float:
    """What leaving or coming home changes."""
    home = parts.home[part]
    price: float = parts.price[part]
    if home == here:
        return price
    if home == there:
        return -price
    return 0.0


def seconds(sites: Sites, one: int, two: int) -> float:
    """How far it is from one site to another."""
    if one == two:
        same: float = sites.same[one]
        return same
    across: float = sites.between[sites.group_of[one], sites.group_of[two]]
    return across


def exchanged(graph: Graph, one: int, two: int) -> float:
    """What two parts exchange."""
    other, weight = graph.other, graph.weight
    total = 0.0
    for entry in range(graph.indptr[one], graph.indptr[one + 1]):
        if other[entry] == two:
            total += weight[entry]
    return total


def has_room(parts: Parts, standing: Standing, part: int, site: int) -> bool:
    """Whether enough is left there."""
    for resource in range(parts.demand.shape[1]):
        demand = parts.demand[part, resource]
        if demand > 0.0 and demand > standing.free[site, resource]:
            return False
    return True


def can_swap(scene: Scene, standing: Standing, one: int, two: int) -> bool:
    """Whether the two may change places and both sites still hold what they get."""
    sites, parts = scene.sites, scene.parts
    if not parts.movable[two]:
        return False
    here, there = standing.site[one], standing.site[two]
    if not sites.allowed[parts.kind[two], here]:
        return False
    for resource in range(parts.demand.shape[1]):
        more = parts.demand[one, resource] - parts.demand[two, resource]
        if more > 0.0 and more > standing.free[there, resource]:
            return False
        if more < 0.0 and -more > standing.free[here, resource]:
            return False
    return True


def draw(members: Members, site: int, chance: float) -> int:
    """One of the parts on a site."""
    after = members.after
    part: int = members.first[site]
    for _ in range(int(chance * members.number[site])):
        part = after[part]
    return part


def move(parts: Parts, standing: Standing, members: Members, part: int, site: int) -> None:
    """Put the part on the site, and keep room and members true."""
    old = standing.site[part]
    for resource in range(parts.demand.shape[1]):
        standing.free[old, resource] += parts.demand[part, resource]
        standing.free[site, resource] -= parts.demand[part, resource]
    leave(members, part, old)
    join(members, part, site)
    standing.site[part] = site


def leave(members: Members, part: int, site: int) -> None:
    """Take the part off the site's list."""
    before, after = members.before[part], members.after[part]
    if before >= 0:
        members.after[before] = after
    else:
        members.first[site] = after
    if after >= 0:
        members.before[after] = before
    members.number[site] -= 1


def join(members: Members, part: int, site: int) -> None:
    """Put the part first on the site's list."""
    first = members.first[site]
    members.before[part] = -1
    members.after[part] = first
    if first >= 0:
        members.before[first] = part
    members.first[site] = part
    members.number[site] += 1


def enlist(standing: Standing, members: Members) -> None:
    """List the parts of every site anew."""
    members.first[:] = -1
    members.number[:] = 0
    for part in range(len(standing.site)):
        if standing.site[part] >= 0:
            join(members, part, standing.site[part])


KERNELS = (
    seconds,
    exchanged,
    has_room,
    can_swap,
    draw,
    leave,
    join,
    move,
    enlist,
    priced,
    shift,
    change_of,
    anneal,
)
