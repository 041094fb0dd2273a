"""One topology's turn: judge its spec, keep what it owns, place what has no pod, write routes."""

from dataclasses import dataclass, field, replace
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.carry_out import (
    Happening,
    Post,
    end_pods,
    make_pods,
    posts_for,
    retire_pods,
    without_room_for_two,
)
from thalweg_operator.act.keeping import create_owned, keep
from thalweg_operator.act.manifests import Owner, template_hash
from thalweg_operator.act.progress import Progress
from thalweg_operator.act.routes import (
    RoutedEdge,
    receiver_of,
    routes_document,
    routes_text,
)
from thalweg_operator.act.structure import (
    budget_manifest,
    clamped,
    last_valid_manifest,
    routes_manifest,
    topology_owner,
    vertex_manifest,
)
from thalweg_operator.api.topology import Binding, EdgeSpec, TopologySpec, VertexSpec
from thalweg_operator.bettering import Bettering
from thalweg_operator.changing import Changing
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import (
    CONFIG_MAPS,
    POD_DISRUPTION_BUDGETS,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.deciding import Situation, domain_of, fits_instead, place_tasks
from thalweg_operator.errors import OperatorError
from thalweg_operator.judging import Verdict
from thalweg_operator.measuring import Measuring
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.requests import requests_of
from thalweg_operator.observe.survey import Patience, Survey, Wanted, Why, survey
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.report.status import Decision, Judgement, Outcome
from thalweg_operator.settings import Settings
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import Plan


@dataclass(kw_only=True)
class Tending:
    """What one topology's turn works with."""

    client: Client
    settings: Settings
    metrics: Metrics
    world: World
    facts: TopologyFacts
    verdict: Verdict
    ledger: Ledger
    measuring: Measuring
    memory: Memory | None = None
    """What the last decision handed over; what this one hands over, once it is made."""
    look_for_moves: bool = True
    """Whether it is time to look for a better placement."""
    has_looked: bool = False
    """Whether that was done in this turn."""
    happenings: list[Happening] = field(default_factory=list)
    """What was done, also if the turn fails half-way."""
    made: set[str] = field(default_factory=set)
    """Tasks that got a pod in this turn."""

    def tend(self) -> Outcome:
        """Bring the topology one turn closer to what its spec says."""
        verdict, spec = self.verdict, self.verdict.spec
        if spec is None:
            return Outcome(judgement=verdict.judgement, surveys={}, domains={})
        with self.metrics.stage("act"):
            self._remember(verdict)
            vertices = self._keep_vertices(spec)
            changing = self._changing(spec)
            progress = changing.resume(_replicas(vertices))
        wanted = {
            vertex.name: self._wanted(spec, vertex, vertices, progress) for vertex in spec.vertices
        }
        surveys = {name: self._survey(spec, wish) for name, wish in wanted.items()}
        situation = self._situation(spec, wanted, surveys)
        with self.metrics.stage("decide"):
            plan = place_tasks(situation)
        with self.metrics.stage("act"):
            self._carry_out(situation, vertices, plan)
            self._write_routes(spec, vertices, wanted, surveys)
            lapsed = changing.go_on(progress, vertices)
        outcome = Outcome(
            judgement=verdict.judgement,
            wanted=tuple(wanted.values()),
            surveys=surveys,
            domains=self._domains(spec),
            missing=tuple(lack.message for lack in plan.missing),
            suspended=spec.suspend,
            decision=_decision(plan, self.made) or lapsed,
            running_plan=changing.running.name if changing.running else "",
        )
        return self._better(outcome, situation, changing)

    def _better(self, outcome: Outcome, situation: Situation, changing: Changing) -> Outcome:
        """Look at what was measured, and propose what could be better once all stands still."""
        bettering = Bettering(
            facts=self.facts,
            reading=self.measuring.reading(situation.spec),
            situation=situation,
            memory=self.memory,
        )
        improvement = None
        if changing.running is None and bettering.is_at_rest(outcome):
            with self.metrics.stage("decide"):
                improvement = bettering.improve(changing.states, look_for_moves=self.look_for_moves)
                self.has_looked = improvement.looked_for_moves
                self.memory = improvement.plan.memory
        with self.metrics.stage("act"):
            decided = changing.propose(improvement, situation.replicas) if improvement else None
        return replace(
            outcome,
            decision=decided or outcome.decision,
            further=bettering.conditions(improvement),
            measured=bettering.figures(),
        )

    def _changing(self, spec: TopologySpec) -> Changing:
        return Changing(
            client=self.client,
            world=self.world,
            facts=self.facts,
            spec=spec,
            refused_after_s=self.settings.unschedulable_after_s,
        )

    def _remember(self, verdict: Verdict) -> None:
        """Keep a valid spec, for the day on which the next one is not."""
        if not verdict.judgement.is_valid:
            return
        manifest = last_valid_manifest(
            self.facts.namespace,
            topology_owner(self.facts.topology),
            self.facts.topology["spec"],
            verdict.judgement.generation,
        )
        found = self.facts.config_maps.get(manifest["metadata"]["name"])
        keep(self.client, CONFIG_MAPS, manifest, found)

    def _keep_vertices(self, spec: TopologySpec) -> dict[str, Object]:
        """Have a StreamVertex and a budget for each vertex, and none for others."""
        for name in sorted(set(self.facts.vertices) - {vertex.name for vertex in spec.vertices}):
            self._end(STREAM_VERTICES, self.facts.vertices[name])
        kept = {}
        for vertex in spec.vertices:
            kept[vertex.name] = self._keep_vertex(vertex)
            owner = vertex_owner(kept[vertex.name])
            budget = budget_manifest(self.facts.namespace, owner, self.facts.name, vertex.name)
            found = self.facts.budgets.get(budget["metadata"]["name"])
            keep(self.client, POD_DISRUPTION_BUDGETS, budget, found)
        return kept

    def _keep_vertex(self, vertex: VertexSpec) -> Object:
        """Have the StreamVertex. Its replicas are others' to set; only bounds clamp them."""
        found = self.facts.vertices.get(vertex.name)
        replicas = vertex.replicas.initial if found is None else found["spec"]["replicas"]
        manifest = vertex_manifest(
            self.facts.namespace,
            topology_owner(self.facts.topology),
            vertex,
            clamped(replicas, vertex),
        )
        if found is None:
            return create_owned(self.client, STREAM_VERTICES, manifest)
        if found["spec"] == manifest["spec"]:
            return found
        # Whole and with the resourceVersion: bounds and clamped replicas change in one write, and
        # a `kubectl scale` that came in between is not undone.
        return self.client.replace(STREAM_VERTICES, {**found, "spec": manifest["spec"]})

    def _end(self, resource: Resource, found: Object) -> None:
        """Delete what the spec has no place for any more, and what it owns."""
        metadata = found["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        self.client.delete(
            resource,
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )

    def _wanted(
        self,
        spec: TopologySpec,
        vertex: VertexSpec,
        vertices: dict[str, Object],
        progress: Progress,
    ) -> Wanted:
        return Wanted(
            vertex=vertex.name,
            replicas=0 if spec.suspend else int(vertices[vertex.name]["spec"]["replicas"]),
            template_hash=template_hash(vertex.template, sends=_sends(spec, vertex.name)),
            targets={t: node for t, node in progress.targets.items() if t.vertex == vertex.name},
        )

    def _survey(self, spec: TopologySpec, wanted: Wanted) -> Survey:
        surge = next(v.max_surge for v in spec.vertices if v.name == wanted.vertex)
        patience = Patience(
            not_ready_s=self.settings.replace_after_not_ready_s,
            unschedulable_s=self.settings.unschedulable_after_s,
            retire_s=self.settings.retire_grace_s,
            surge=surge,
        )
        return survey(wanted, self.facts.pods, self.world.nodes, patience, self.world.now_s)

    def _situation(
        self, spec: TopologySpec, wanted: dict[str, Wanted], surveys: dict[str, Survey]
    ) -> Situation:
        return Situation(
            name=f"{self.facts.namespace}/{self.facts.name}",
            spec=spec,
            replicas={name: wish.replicas for name, wish in wanted.items()},
            surveys=surveys,
            nodes=self.world.nodes,
            ledger=self.ledger,
            now_s=self.world.now_s,
        )

    def _carry_out(self, situation: Situation, vertices: dict[str, Object], plan: Plan) -> None:
        spec = situation.spec
        default = Binding.DOMAIN if self.world.is_autoscaled else Binding.NODE
        binds_node = (spec.placement.binding or default) is Binding.NODE
        for vertex in spec.vertices:
            found = situation.surveys[vertex.name]
            posts = posts_for(
                found.needs, plan.assignments, self.world.nodes, spec, binds_node=binds_node
            )
            crowded = without_room_for_two(
                found.needs,
                posts,
                disrupted=found.disrupted,
                fits_instead=lambda need: fits_instead(situation, need),
            )
            self.happenings += end_pods(self.client, (*found.delete, *crowded))
            self.happenings += retire_pods(self.client, found.retire, self.world.now_s)
            self._reserve(spec, posts, plan)
            sends = _sends(spec, vertex.name)
            done = len(self.happenings)
            self.happenings += make_pods(
                self.client, vertices[vertex.name], vertex, posts, sends=sends
            )
            self.made |= {one.task for one in self.happenings[done:] if one.why is not Why.REFUSED}

    def _reserve(self, spec: TopologySpec, posts: tuple[Post, ...], plan: Plan) -> None:
        """Let the topologies that come after this one know what it takes."""
        requests = {v.name: requests_of(v.template["spec"]) for v in spec.vertices}
        for post in posts:
            node = plan.assignments.get(post.need.task.name)
            if node is not None:
                self.ledger.reserve(node, requests[post.need.task.vertex])

    def _write_routes(
        self,
        spec: TopologySpec,
        vertices: dict[str, Object],
        wanted: dict[str, Wanted],
        surveys: dict[str, Survey],
    ) -> None:
        """Tell each sending vertex which tasks serve now."""
        domains = self._domains(spec)
        for vertex in spec.vertices:
            edges = [
                RoutedEdge(
                    to=edge.target,
                    grouping=_grouping(edge),
                    replicas=max(1, wanted[edge.target].replicas),
                    receivers=tuple(
                        receiver
                        for task, pod in sorted(surveys[edge.target].serving.items())
                        if (receiver := receiver_of(task, pod, domains)) is not None
                    ),
                )
                for edge in spec.edges
                if edge.source == vertex.name
            ]
            stale = self.facts.config_maps.get(naming.routes_object(self.facts.name, vertex.name))
            if edges:
                self._write_vertex_routes(vertices[vertex.name], vertex.name, edges)
            elif stale is not None:
                self._end(CONFIG_MAPS, stale)

    def _write_vertex_routes(self, vertex: Object, name: str, edges: list[RoutedEdge]) -> None:
        found = self.facts.config_maps.get(naming.routes_object(self.facts.name, name))
        text = routes_document(self.facts.name, name, edges, routes_text(found))
        owner = vertex_owner(vertex)
        manifest = routes_manifest(self.facts.namespace, owner, self.facts.name, name, text)
        keep(self.client, CONFIG_MAPS, manifest, found)

    def _domains(self, spec: TopologySpec) -> dict[str, str]:
        label = spec.placement.domain_label
        return {name: domain_of(node, label) for name, node in self.world.nodes.items()}


def vertex_owner(vertex: Object) -> Owner:
    """A StreamVertex as the owner of others."""
    return topology_owner(vertex)


def failed(facts: TopologyFacts, error: OperatorError) -> Outcome:
    """What is reported of a topology whose turn failed: only that."""
    generation = int(facts.topology["metadata"].get("generation") or 0)
    before = (facts.topology.get("status") or {}).get("lastValidGeneration")
    judgement = Judgement(generation=generation, in_force=before)
    return Outcome(judgement=judgement, surveys={}, domains={}, trouble=str(error))


def _replicas(vertices: dict[str, Object]) -> dict[str, int]:
    return {name: int(vertex["spec"]["replicas"]) for name, vertex in vertices.items()}


def counted(facts: TopologyFacts) -> tuple[int, int]:
    """The desired and the ready tasks as the status last had them."""
    tasks = (facts.topology.get("status") or {}).get("tasks") or {}
    return int(tasks.get("desired") or 0), int(tasks.get("ready") or 0)


def _sends(spec: TopologySpec, vertex: str) -> bool:
    return any(edge.source == vertex for edge in spec.edges)


def _grouping(edge: EdgeSpec) -> dict[str, Any]:
    grouping: dict[str, Any] = {"type": str(edge.grouping.type)}
    if edge.grouping.keys:
        grouping["keys"] = list(edge.grouping.keys)
    return grouping


def _decision(plan: Plan, made: set[str]) -> Decision | None:
    """What was decided, if anything came of it: not one at every turn while a pod waits."""
    if not made & set(plan.placed):
        return None
    reason = plan.reasons[0]
    return Decision(reason=str(reason.code), message=reason.message)
