"""The rows once more at equal nodes: everybody gets the nodes of whoever needs fewest.

Even uses every node that there is, while the papers and Auto draw the tasks together. A lower
latency on twelve nodes than on six says little, so a row that is not about nodes is also run on the
nodes that the paper's strategy chose, or Auto where that one is content with fewer.
"""

from collections.abc import Sequence
from dataclasses import replace

from bench.papers.gates import verdict
from bench.papers.running import SEEDS, TRIES, Result, run_row
from bench.papers.systems import System
from bench.tables import percent, table


def at_equal_nodes(
    result: Result,
    systems: Sequence[System],
    name: str,
    *,
    seeds: Sequence[int] = SEEDS,
    tries: int = TRIES,
) -> Result | None:
    """The row on the fewest nodes; None where it is about nodes, or all used as many anyway."""
    row = result.row
    if row.measure.is_of_nodes or row.contradicts or name not in result.values:
        return None
    chosen = min((result.machines[each] for each in (name, "Auto")), key=len)
    if max(result.nodes.values()) <= len(chosen):
        return None
    machines = tuple(row.setting.machines[place] for place in chosen)
    setting = replace(row.setting, machines=machines)
    again = replace(row, setting=setting, fitted=())
    return run_row(again, systems, seeds=seeds, tries=tries)


def told_at_equal_nodes(results: Sequence[Result], systems: Sequence[System], name: str) -> str:
    """Everybody's number, and how much better than the paper's strategy Auto is."""
    names = [system.name for system in systems]
    rows = [
        (
            result.row.name,
            str(len(result.row.setting.machines)),
            *(_short(result, each) for each in names),
            f"{result.best:,.4g}" if result.best < 1000 else f"{result.best:,.0f}",
            verdict(result, name) if name in result.values else "no room",
            _ahead(result, name),
        )
        for result in results
    ]
    head = ("row", "nodes", *names, "best plan known", "what holds", f"Auto over {name}")
    return table(head, rows)


def _short(result: Result, name: str) -> str:
    if name not in result.values:
        return "no room"
    value = result.values[name]
    if value >= 1e6:
        return "overloaded"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _ahead(result: Result, name: str) -> str:
    if name not in result.values or "Auto" not in result.values:
        return "–"
    auto, paper = result.values["Auto"], result.values[name]
    return percent(auto / paper - 1 if result.row.measure.more_is_better else 1 - auto / paper)
