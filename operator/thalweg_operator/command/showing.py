"""Answers as people and as programs read them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from thalweg_operator.command.offline import Answer
from thalweg_scheduling.model.plan import Prediction

UNKNOWN = "–"


def as_json(answer: Answer) -> dict[str, object]:
    """The fields that programs rely on; what is unknown is null."""
    plan = answer.plan
    return {
        "strategy": plan.strategy,
        "assignments": dict(plan.assignments),
        "processes": dict(plan.processes),
        "objective": _known(plan.objective),
        "overloaded": list(answer.overloaded),
        "replicas": dict(answer.replicas),
        "weights": [
            {"from": each.source, "to": each.target, "shares": dict(each.shares)}
            for each in plan.weights
        ],
        "asleep": list(plan.asleep),
        "predicted": _prediction(answer.prediction),
        "cross_domain_share": _known(answer.cross_domain_share),
        "nodes_used": answer.nodes_used,
        "missing": [asdict(lack) for lack in answer.missing],
        "reasons": [{"code": each.code, "message": each.message} for each in answer.reasons],
        "planning_seconds": answer.planning_s,
    }


def dump(value: object) -> str:
    """JSON that every reader takes: no NaN, stable order."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def show_plan(console: Console, answer: Answer) -> None:
    """Nodes with their tasks, then numbers, then reasons."""
    table = _table("DOMAIN", "NODE", "TASKS")
    for node, tasks in _by_node(answer.plan.assignments).items():
        table.add_row(answer.domain_of[node], node, " ".join(tasks))
    console.print(table)
    console.print()
    lines = [f"{word:<20} {value}" for word, value in _facts(answer)]
    lines += ["", *(f"{reason.code}: {reason.message}" for reason in answer.reasons)]
    # The terminal wraps better than we do, and a pipe should not wrap at all.
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def show_comparison(console: Console, answers: Sequence[Answer]) -> None:
    """One line a strategy."""
    table = _table("STRATEGY", "J", "X-DOMAIN", "LATENCY", "NODES", "OVERLOADED", "SECONDS")
    for each in answers:
        table.add_row(
            each.plan.strategy,
            number(each.plan.objective),
            percent(each.cross_domain_share),
            _latency(each.prediction),
            str(each.nodes_used),
            f"{len(each.overloaded)}" if not each.missing else f"{len(each.missing)} not placed",
            f"{each.planning_s:.3f}",
        )
    console.print(table)


def number(value: float) -> str:
    """Four digits, or a dash for the unknown."""
    return f"{value:.4g}" if math.isfinite(value) else UNKNOWN


def percent(share: float) -> str:
    """A share in per cent."""
    return f"{100 * share:.1f}%" if math.isfinite(share) else UNKNOWN


def seconds(value: float) -> str:
    """A time in the unit that reads best."""
    if not math.isfinite(value):
        return UNKNOWN
    return f"{value:.3g}s" if value >= 1 else f"{1000 * value:.3g}ms"


def _facts(answer: Answer) -> list[tuple[str, str]]:
    plan = answer.plan
    facts = [
        ("strategy", plan.strategy),
        ("objective J", f"{number(plan.objective)} (tuples/s × s)"),
        ("cross-domain share", percent(answer.cross_domain_share)),
        ("nodes used", f"{answer.nodes_used} of {len(answer.domain_of)}"),
        ("replicas", " ".join(f"{name}={count}" for name, count in answer.replicas.items())),
        ("overloaded", " ".join(answer.overloaded) or "none"),
        ("predicted latency", _latency(answer.prediction)),
    ]
    if answer.prediction is not None:
        facts.append(("predicted throughput", f"{number(answer.prediction.throughput_per_s)}/s"))
        facts.append(("busiest node", percent(answer.prediction.busiest_node)))
    if plan.asleep:
        facts.append(("may sleep", " ".join(plan.asleep)))
    return [*facts, ("planning", seconds(answer.planning_s))]


def _latency(prediction: Prediction | None) -> str:
    return seconds(prediction.latency_s) if prediction is not None else UNKNOWN


def _prediction(prediction: Prediction | None) -> dict[str, object] | None:
    if prediction is None:
        return None
    return {
        "latency_seconds": _known(prediction.latency_s),
        "throughput_per_second": _known(prediction.throughput_per_s),
        "cross_domain_share": _known(prediction.cross_domain_share),
        "busiest_node": _known(prediction.busiest_node),
        "nodes_used": prediction.nodes_used,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _by_node(assignments: Mapping[str, str]) -> dict[str, list[str]]:
    by_node: dict[str, list[str]] = {}
    for task, node in assignments.items():
        by_node.setdefault(node, []).append(task)
    return dict(sorted(by_node.items()))


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in {"TASKS"})
    return table
