"""Putting parts on sites and moving them while that lowers J.

What a part costs on a site is the sum over those it talks with. Sites of one group are equally far
from all others, so it is added up by group once, and each site then costs one addition.
"""

import numpy as np

from thalweg_scheduling.kernels.layout import Desk, Graph, Parts, Scene, Sites, Standing
from thalweg_scheduling.model.arrays import Bools, Ints


def lay_out(graph: Graph, sites: Sites, standing: Standing, desk: Desk, part: int) -> None:
    """Note what the part exchanges with each site and each group."""
    # Arrays by name of their own: numba counts references at each look into a tuple.
    site, other, weight, group_of = standing.site, graph.other, graph.weight, sites.group_of
    at, sent, got = desk.at, desk.sent, desk.got
    split = graph.split[part]
    site_count = 0
    group_count = 0
    for entry in range(graph.indptr[part], graph.indptr[part + 1]):
        there = site[other[entry]]
        if there < 0 or weight[entry] <= 0.0:
            continue
        group = group_of[there]
        if at[there] == 0.0:
            desk.sites[site_count] = there
            site_count += 1
        if sent[group] == 0.0 and got[group] == 0.0:
            desk.groups[group_count] = group
            group_count += 1
        at[there] += weight[entry]
        if entry < split:
            sent[group] += weight[entry]
        else:
            got[group] += weight[entry]
    desk.counts[0] = site_count
    desk.counts[1] = group_count


def clear_up(desk: Desk) -> None:
    """Make the desk zero again."""
    at, sent, got = desk.at, desk.sent, desk.got
    for position in range(desk.counts[0]):
        at[desk.sites[position]] = 0.0
    for position in range(desk.counts[1]):
        group = desk.groups[position]
        sent[group] = 0.0
        got[group] = 0.0


def weigh_groups(sites: Sites, desk: Desk) -> None:
    """Note what the part would cost in each group it talks with, alone on its site."""
    for position in range(desk.counts[1]):
        desk.base[desk.groups[position]] = cost_in_group(sites, desk, desk.groups[position])


def cost_in_group(sites: Sites, desk: Desk, group: int) -> float:
    """What the part would cost anywhere in the group, alone on its site."""
    groups, sent, got, between = desk.groups, desk.sent, desk.got, sites.between
    total = 0.0
    for position in range(desk.counts[1]):
        other = groups[position]
        total += sent[other] * between[group, other]
        total += got[other] * between[other, group]
    return total


def cost_here(sites: Sites, desk: Desk, parts: Parts, part: int, site: int) -> float:
    """What the part costs where it stands, whether it talks with that group or not."""
    group = sites.group_of[site]
    cost: float = cost_in_group(sites, desk, group)
    cost += desk.at[site] * (sites.same[site] - sites.between[group, group])
    if parts.home[part] >= 0 and parts.home[part] != site:
        cost += parts.price[part]
    return cost


def fits(sites: Sites, parts: Parts, standing: Standing, part: int, site: int) -> bool:
    """Whether the part may go there and there is room."""
    if not sites.allowed[parts.kind[part], site]:
        return False
    for resource in range(parts.demand.shape[1]):
        demand = parts.demand[part, resource]
        if demand > 0.0 and demand > standing.free[site, resource]:
            return False
    return True


def put(parts: Parts, standing: Standing, part: int, site: int) -> None:
    """Move the part, from where it is, if it is anywhere."""
    old = standing.site[part]
    for resource in range(parts.demand.shape[1]):
        demand = parts.demand[part, resource]
        if old >= 0:
            standing.free[old, resource] += demand
        standing.free[site, resource] -= demand
    standing.site[part] = site


def roomiest(sites: Sites, standing: Standing, room: Ints) -> None:
    """Note the site of each group that has the most left of its scarcest resource."""
    free, group_of = standing.free, sites.group_of
    most = np.full(len(room), -np.inf)
    room[:] = -1
    for site in range(len(group_of)):
        least = np.inf
        for resource in range(free.shape[1]):
            least = min(least, free[site, resource])
        group = group_of[site]
        if least > most[group]:
            most[group] = least
            room[group] = site


def best_site(
    scene: Scene, standing: Standing, desk: Desk, room: Ints, part: int
) -> tuple[int, float]:
    """The cheapest site with room among those it talks with and the roomiest of their groups."""
    sites, parts = scene.sites, scene.parts
    group_of, between, same = sites.group_of, sites.between, sites.same
    base, at, talking = desk.base, desk.at, desk.counts[0]
    here, home, price = standing.site[part], parts.home[part], parts.price[part]
    best = -1
    least = np.inf
    for position in range(talking + desk.counts[1]):
        nearby = position < talking
        site = desk.sites[position] if nearby else room[desk.groups[position - talking]]
        if site < 0 or site == here:
            continue
        group = group_of[site]
        cost = base[group] + at[site] * (same[site] - between[group, group])
        if home >= 0 and home != site:
            cost += price
        if cost < least and fits(sites, parts, standing, part, site):
            best = site
            least = cost
    return best, least


def refine(scene: Scene, standing: Standing, desk: Desk, awake: Bools, passes: int) -> int:
    """Move parts to cheaper sites until none gains; returns how many moves were made."""
    graph, sites, parts = scene.graph, scene.sites, scene.parts
    room = np.empty(len(sites.between), dtype=np.int64)
    moves = 0
    for _ in range(passes):
        roomiest(sites, standing, room)
        before = moves
        for part in range(len(standing.site)):
            if not awake[part] or not parts.movable[part] or standing.site[part] < 0:
                continue
            awake[part] = False
            lay_out(graph, sites, standing, desk, part)
            weigh_groups(sites, desk)
            present = cost_here(sites, desk, parts, part, standing.site[part])
            site, cost = best_site(scene, standing, desk, room, part)
            clear_up(desk)
            if site >= 0 and cost < present - 1e-12 * abs(present):
                put(parts, standing, part, site)
                wake(graph, awake, part)
                moves += 1
        if moves == before:
            break
    return moves


def wake(graph: Graph, awake: Bools, part: int) -> None:
    """Everyone who talks with the part has to look again, and it too."""
    awake[part] = True
    for entry in range(graph.indptr[part], graph.indptr[part + 1]):
        awake[graph.other[entry]] = True


def fill(scene: Scene, standing: Standing, desk: Desk, order: Ints) -> int:
    """Put parts down in order, each on the cheapest site with room; returns how many found none.

    A part that talks with nobody placed yet goes where most is left.
    """
    graph, sites, parts = scene.graph, scene.sites, scene.parts
    room = np.empty(len(sites.between), dtype=np.int64)
    homeless = 0
    for part in order:
        if standing.site[part] >= 0:
            continue
        lay_out(graph, sites, standing, desk, part)
        weigh_groups(sites, desk)
        roomiest(sites, standing, room)
        site, _ = best_site(scene, standing, desk, room, part)
        clear_up(desk)
        if site < 0:
            site = any_site(sites, parts, standing, part)
        if site < 0:
            homeless += 1
            continue
        put(parts, standing, part, site)
    return homeless


def any_site(sites: Sites, parts: Parts, standing: Standing, part: int) -> int:
    """The site with the most left of its scarcest resource among those with room, or -1."""
    best = -1
    most = -np.inf
    for site in range(len(sites.group_of)):
        least = np.inf
        for resource in range(standing.free.shape[1]):
            least = min(least, standing.free[site, resource])
        if least > most and fits(sites, parts, standing, part, site):
            best = site
            most = least
    return best


def pack(scene: Scene, standing: Standing, order: Ints) -> int:
    """Put parts down in order, each where least is left afterwards; returns how many found no room.

    It looks at no traffic: where room is tight, this is what makes everything fit.
    """
    sites, parts = scene.sites, scene.parts
    homeless = 0
    for part in order:
        best = -1
        tightest = np.inf
        for site in range(len(sites.group_of)):
            left = 0.0
            for resource in range(standing.free.shape[1]):
                left += standing.free[site, resource]
            if left < tightest and fits(sites, parts, standing, part, site):
                best = site
                tightest = left
        if best < 0:
            homeless += 1
        else:
            put(parts, standing, part, best)
    return homeless


def level(scene: Scene, standing: Standing, order: Ints) -> int:
    """Put parts down in order, each where the fullest resource stays lowest; returns who is left.

    It looks at no traffic either: where unlike resources are tight at once, this fits best.
    """
    sites, parts = scene.sites, scene.parts
    homeless = 0
    for part in order:
        best = -1
        lowest = np.inf
        for site in range(len(sites.group_of)):
            height = height_with(scene, standing, part, site)
            if height < lowest and fits(sites, parts, standing, part, site):
                best = site
                lowest = height
        if best < 0:
            homeless += 1
        else:
            put(parts, standing, part, best)
    return homeless


def height_with(scene: Scene, standing: Standing, part: int, site: int) -> float:
    """How full the fullest resource of the site would be with the part, and a bit of the others."""
    capacity, demand, free = scene.sites.capacity, scene.parts.demand, standing.free
    fullest = 0.0
    total = 0.0
    for resource in range(demand.shape[1]):
        whole = capacity[site, resource]
        if whole > 0.0:
            used = 1.0 - (free[site, resource] - demand[part, resource]) / whole
            fullest = max(fullest, used)
            total += used
    return fullest + 1e-3 * total


KERNELS = (
    lay_out,
    clear_up,
    cost_in_group,
    weigh_groups,
    cost_here,
    fits,
    put,
    roomiest,
    best_site,
    wake,
    refine,
    any_site,
    fill,
    pack,
    height_with,
    level,
)
