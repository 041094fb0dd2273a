"""Which spec is in force: the present one if it is valid, else the last one that was."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.structure import GENERATION_KEY, SPEC_KEY
from thalweg_operator.api.fields import InvalidManifest
from thalweg_operator.api.topology import Processes, TopologySpec, parse_topology
from thalweg_operator.api.validation import Fault, Offer, find_problems
from thalweg_operator.observe.world import TopologyFacts
from thalweg_operator.report.status import Judgement
from thalweg_scheduling.strategies import STRATEGIES

OFFER = Offer(strategies=tuple(STRATEGIES), shared_processes=True)

_REGROUPS = (
    "placement.processes cannot change while pods run; set it back, then suspend the topology, "
    "change it once all pods are gone, and resume"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The spec to carry out, and what to say about the present one."""

    spec: TopologySpec | None
    """None where no valid spec was ever seen."""
    judgement: Judgement


def judge(facts: TopologyFacts, offer: Offer = OFFER) -> Verdict:
    """Look at the present spec; where it is wrong, fall back to the last valid one."""
    generation = int(facts.topology["metadata"].get("generation") or 0)
    spec, reason, message = _read(facts.topology.get("spec") or {}, offer)
    if spec is not None and _regroups(spec, facts):
        spec, reason, message = None, str(Fault.NOT_AVAILABLE), _REGROUPS
    if spec is not None:
        return Verdict(spec=spec, judgement=Judgement(generation=generation, in_force=generation))
    before = _last_valid(facts, offer, generation)
    if before is None:
        judgement = Judgement(generation=generation, in_force=None, reason=reason, message=message)
        return Verdict(spec=None, judgement=judgement)
    kept, kept_generation = before
    judgement = Judgement(
        generation=generation,
        in_force=kept_generation,
        reason=reason,
        message=f"{message}. Generation {kept_generation} stays in force",
    )
    return Verdict(spec=kept, judgement=judgement)


def _regroups(spec: TopologySpec, facts: TopologyFacts) -> bool:
    """Whether pods of the other kind run: tasks cannot go over from one kind to the other."""
    living = [pod.labels for pod in facts.pods if pod.phase not in ("Failed", "Succeeded")]
    if spec.placement.processes is Processes.SHARED:
        return any(naming.task_of(labels) is not None for labels in living)
    return any(naming.process_index_of(labels) is not None for labels in living)


def _read(spec: Mapping[str, Any], offer: Offer) -> tuple[TopologySpec | None, str, str]:
    try:
        parsed = parse_topology(spec)
    except InvalidManifest as error:
        return None, "Unreadable", str(error)
    problems = find_problems(parsed, offer)
    if problems:
        return None, str(problems[0].reason), "; ".join(problem.message for problem in problems)
    return parsed, "", ""


def _last_valid(
    facts: TopologyFacts, offer: Offer, present: int
) -> tuple[TopologySpec, int] | None:
    """The remembered spec, if nobody has spoilt it: it is readable, valid and of an earlier day."""
    kept = facts.config_maps.get(naming.last_valid_object(facts.name))
    data = (kept or {}).get("data") or {}
    try:
        spec, generation = json.loads(data[SPEC_KEY]), int(data[GENERATION_KEY])
    except (KeyError, ValueError, RecursionError):
        return None
    if not 0 < generation < present:
        return None
    parsed, _, _ = _read(spec, offer)
    return None if parsed is None else (parsed, generation)
