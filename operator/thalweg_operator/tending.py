"""One topology's turn: judge its spec, keep what it owns, place what has no pod, write routes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from thalweg_operator.act.carry_out import (
    Happening,
    Post,
    end_pods,
    posts_for,
    retire_pods,
    without_room_for_two,
)
from thalweg_operator.act.making import make_pods
from thalweg_operator.act.manifests import template_hash
from thalweg_operator.act.plans import EdgeName
from thalweg_operator.act.progress import Progress
from thalweg_operator.act.upkeep import Upkeep
from thalweg_operator.api.topology import Binding, Processes, TopologySpec, VertexSpec
from thalweg_operator.bettering import Bettering
from thalweg_operator.changing import Changing
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import CONFIG_MAPS, Object
from thalweg_operator.deciding import (
    Situation,
    domain_of,
    fits_instead,
    place_tasks,
    requests_for,
    vertex_of,
)
from thalweg_operator.errors import OperatorError
from thalweg_operator.improving import Improvement
from thalweg_operator.judging import Verdict
from thalweg_operator.measuring import Measures
from thalweg_operator.observe.facts import tasks_in
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.measured import measured_for
from thalweg_operator.observe.survey import (
    Patience,
    Survey,
    Wanted,
    Why,
    survey,
    survey_shared,
)
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.pools import Pool, separate_pools, shared_pool
from thalweg_operator.proving import figures_of
from thalweg_operator.releasing import Releasing
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.report.status import Decision, Judgement, Outcome
from thalweg_operator.routing import Routing
from thalweg_operator.settings import Settings
from thalweg_operator.sharing import Membership, membership_of, wishes_of
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
    measuring: Measures
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
    released: frozenset[str] = frozenset()
    """The uids of retiring pods that nobody sends to any more."""

    def tend(self) -> Outcome:
        """Bring the topology one turn closer to what its spec says."""
        verdict, spec = self.verdict, self.verdict.spec
        if spec is None:
            return Outcome(judgement=verdict.judgement, surveys={}, domains={})
        with self.metrics.stage("act"):
            upkeep = Upkeep(client=self.client, facts=self.facts)
            if verdict.judgement.is_valid:
                upkeep.remember(verdict.judgement.generation)
            vertices = upkeep.keep_vertices(spec)
            changing = self._changing(spec)
            routing = self._routing(spec)
            progress = changing.resume(_replicas(vertices), routing.weights())
            routing.planned = progress.weights
        wanted = {
            vertex.name: self._wanted(spec, vertex, vertices, progress) for vertex in spec.vertices
        }
        self.released = self._released(spec)
        seen = self._look(spec, wanted, progress)
        situation = self._situation(spec, seen, routing.weights())
        with self.metrics.stage("decide"):
            plan = place_tasks(situation)
            pools = self._pools(situation, vertices, plan, seen)
        with self.metrics.stage("act"):
            self._carry_out(situation, pools)
            for pool in pools:
                if pool.processes is not None:
                    upkeep.keep_shared_budget(pool.processes)
            for needless in routing.write(vertices, seen.wanted, seen.surveys):
                upkeep.end(CONFIG_MAPS, needless)
            lapsed = changing.go_on(progress, vertices)
        outcome = Outcome(
            judgement=verdict.judgement,
            wanted=tuple(seen.wanted.values()),
            surveys=seen.surveys,
            domains=self._domains(spec),
            missing=(
                *(lack.message for lack in plan.missing),
                *(lack for pool in pools for lack in pool.missing),
            ),
            suspended=spec.suspend,
            decision=_decision(plan, self.made) or lapsed,
            running_plan=changing.running.name if changing.running else "",
            stable_plan=changing.stable,
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
        improvement, decided, shown = None, None, bettering.figures()
        if changing.running is None and bettering.is_at_rest(outcome):
            with self.metrics.stage("act"):
                changing.prove(bettering.measured, shown)
            with self.metrics.stage("decide"):
                improvement = changing.undo(bettering.where) or self._improve(bettering, changing)
            with self.metrics.stage("act"):
                before = figures_of(bettering.measured)
                decided = changing.propose(improvement, situation.replicas, before)
        return replace(
            outcome,
            decision=decided or outcome.decision,
            further=bettering.conditions(improvement),
            measured=shown,
            stands_in="" if bettering.reading is None else bettering.reading.stands_in,
        )

    def _improve(self, bettering: Bettering, changing: Changing) -> Improvement:
        found = bettering.improve(changing.states, look_for_moves=self.look_for_moves)
        self.has_looked = found.looked_for_moves
        self.memory = found.plan.memory
        return found

    def _changing(self, spec: TopologySpec) -> Changing:
        return Changing(
            client=self.client,
            world=self.world,
            facts=self.facts,
            spec=spec,
            refused_after_s=self.settings.unschedulable_after_s,
            prove_after_s=self.settings.prove_after_s,
        )

    def _routing(self, spec: TopologySpec) -> Routing:
        return Routing(
            client=self.client,
            facts=self.facts,
            spec=spec,
            domains=self._domains(spec),
            now_s=self.world.now_s,
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
        patience = self._patience(surge)
        return survey(wanted, self.facts.pods, self.world.nodes, patience, self.world.now_s)

    def _patience(self, surge: int) -> Patience:
        return Patience(
            not_ready_s=self.settings.replace_after_not_ready_s,
            unschedulable_s=self.settings.unschedulable_after_s,
            retire_s=self.settings.retire_grace_s,
            released=self.released,
            surge=surge,
        )

    def _released(self, spec: TopologySpec) -> frozenset[str]:
        """By what senders follow, as far as that is measured."""
        releasing = Releasing(facts=self.facts, spec=spec)
        reading = self.measuring.reading(spec) if releasing.is_due else None
        if reading is None:
            return frozenset()
        key = (self.facts.namespace, self.facts.name)
        tasks = [task.name for pod in self.facts.pods for task in tasks_in(pod)]
        return releasing.released(measured_for(reading.matrices, key, tasks, {}).routes_versions)

    def _look(self, spec: TopologySpec, wanted: dict[str, Wanted], progress: Progress) -> "_Seen":
        """Look at the pods: of each vertex for itself, or at all that tasks share."""
        if spec.placement.processes is not Processes.SHARED:
            surveys = {name: self._survey(spec, wish) for name, wish in wanted.items()}
            return _Seen(wanted=wanted, surveys=surveys)
        facts, world = self.facts, self.world
        replicas = {name: wish.replicas for name, wish in wanted.items()}
        status = facts.topology.get("status") or {}
        membership = membership_of(status, facts.pods, spec, replicas)
        wishes = wishes_of(spec, membership, progress.targets)
        patience = self._patience(min(vertex.max_surge for vertex in spec.vertices))
        found = survey_shared(wishes, facts.pods, world.nodes, patience, world.now_s)
        hashes = {task: wish.template_hash for unit, wish in wishes.items() for task in unit.tasks}
        return _Seen(
            wanted={name: replace(wish, shared_hashes=hashes) for name, wish in wanted.items()},
            surveys={name: found.part(name) for name in wanted},
            shared=(found, membership),
        )

    def _pools(
        self,
        situation: Situation,
        vertices: dict[str, Object],
        plan: Plan,
        seen: "_Seen",
    ) -> tuple[Pool, ...]:
        if seen.shared is None:
            return separate_pools(situation, vertices, plan)
        return (shared_pool(situation, self.facts.topology, self.facts.pods, seen.shared, plan),)

    def _situation(
        self,
        spec: TopologySpec,
        seen: "_Seen",
        weights: dict[EdgeName, dict[str, float]],
    ) -> Situation:
        return Situation(
            name=f"{self.facts.namespace}/{self.facts.name}",
            spec=spec,
            replicas={name: wish.replicas for name, wish in seen.wanted.items()},
            surveys=seen.surveys,
            nodes=self.world.nodes,
            ledger=self.ledger,
            now_s=self.world.now_s,
            weights=weights,
        )

    def _carry_out(self, situation: Situation, pools: Sequence[Pool]) -> None:
        spec = situation.spec
        default = Binding.DOMAIN if self.world.is_autoscaled else Binding.NODE
        binds_node = (spec.placement.binding or default) is Binding.NODE
        batches, tasks = [], {}
        releasing = Releasing(facts=self.facts, spec=spec)
        for pool in pools:
            found = pool.survey
            posts = posts_for(pool.needs, pool.nodes, self.world.nodes, spec, binds_node=binds_node)
            crowded = without_room_for_two(
                pool.needs,
                posts,
                disrupted=found.disrupted,
                fits_instead=lambda need: fits_instead(situation, need),
            )
            self.happenings += end_pods(self.client, (*found.delete, *crowded))
            self.happenings += retire_pods(
                self.client, found.retire, self.world.now_s, releasing.last_routes
            )
            self._reserve(spec, posts, pool)
            batches.append(pool.batch(posts))
            tasks.update({post.need.task.name: post.need.task.tasks for post in posts})
        for made in make_pods(self.client, self.facts.topology, batches):
            self.happenings.append(made)
            if made.why is not Why.REFUSED:
                self.made.update(task.name for task in tasks[made.task])

    def _reserve(self, spec: TopologySpec, posts: tuple[Post, ...], pool: Pool) -> None:
        """Let the topologies that come after this one know what it takes."""
        asked: dict[tuple[str, int], dict[str, float]] = {}
        for post in posts:
            unit = post.need.task
            node, kind = pool.nodes.get(unit.name), (unit.tasks[0].vertex, len(unit.tasks))
            if kind not in asked:
                asked[kind] = requests_for(vertex_of(spec, unit), len(unit.tasks))
            if node is not None:
                self.ledger.reserve(node, asked[kind])

    def _domains(self, spec: TopologySpec) -> dict[str, str]:
        label = spec.placement.domain_label
        return {name: domain_of(node, label) for name, node in self.world.nodes.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What there should be of each vertex, and what there is."""

    wanted: dict[str, Wanted]
    surveys: dict[str, Survey]
    shared: tuple[Survey, Membership] | None = None
    """The pods that tasks share as a whole, and which tasks those are."""


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


def _decision(plan: Plan, made: set[str]) -> Decision | None:
    """What was decided, if anything came of it: not one at every turn while a pod waits."""
    if not made & set(plan.placed):
        return None
    reason = plan.reasons[0]
    return Decision(reason=str(reason.code), message=reason.message)
