"""A cluster in memory that does what the operator's survey and plan say, and what Kubernetes does.

Every pod asks for one core. Nodes, pods and time change only by the methods below; `turn` is the
operator's part, `settle` the part of kube-scheduler, the kubelets and the garbage collector.
"""

from dataclasses import dataclass, field, replace

from thalweg_operator import naming
from thalweg_operator.act.carry_out import Post, posts_for, without_room_for_two
from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.deciding import Situation, fits_instead, place_tasks
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.survey import Patience, Survey, Wanted, survey
from thalweg_operator_worlds import NOW_S, node, pod, topology_spec, vertex_body

STEP_S = 5.0
PATIENCE = Patience(not_ready_s=10, unschedulable_s=10, retire_s=10, surge=1)
_DOMAINS = "ab"
_DELETING_STEPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one turn of the operator found and did."""

    survey: Survey
    posts: tuple[Post, ...]
    crowded: tuple[PodFact, ...]

    @property
    def did_nothing(self) -> bool:
        """Whether no write followed."""
        return not (self.posts or self.survey.retire or self.survey.delete or self.crowded)


@dataclass(kw_only=True)
class TinyCluster:
    """Nodes of a few cores, one vertex, and the time."""

    cores: tuple[int, ...]
    replicas: int
    surge: int = 1
    template_hash: str = "t0"
    now_s: float = NOW_S
    nodes: dict[str, NodeFact] = field(default_factory=dict)
    pods: dict[str, PodFact] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)
    """Node to cores that somebody else takes."""
    next_incarnation: int = 1
    going: dict[str, int] = field(default_factory=dict)
    """Pods that are being deleted, to the steps they still take."""

    def __post_init__(self) -> None:
        for number, _ in enumerate(self.cores):
            self.add_node(number)

    def add_node(self, number: int) -> None:
        """A node, new or as new."""
        domain = _DOMAINS[number % len(_DOMAINS)]
        made = node(f"n{number}", domain=domain, cpu=float(self.cores[number]))
        self.nodes[made.name] = replace(made, ready_changed_at_s=self.now_s)

    def change_node(self, name: str, *, ready: bool = True, cordoned: bool = False) -> None:
        """Let a node fall silent, come back, be cordoned or not."""
        if name in self.nodes:
            before = self.nodes[name]
            changed_at_s = before.ready_changed_at_s if before.is_ready is ready else self.now_s
            self.nodes[name] = replace(
                before, is_ready=ready, is_cordoned=cordoned, ready_changed_at_s=changed_at_s
            )

    def delete_pod(self, name: str) -> None:
        """Begin to delete a pod, whoever asks for it."""
        if not self.pods[name].is_deleting:
            self.pods[name] = replace(self.pods[name], is_deleting=True)
            self.going[name] = _DELETING_STEPS

    def fail_pod(self, name: str) -> None:
        """Let a pod fail, as an evicting kubelet does."""
        self.pods[name] = replace(self.pods[name], phase="Failed", is_ready=False)

    @property
    def spec(self) -> TopologySpec:
        """The topology: this one vertex."""
        return topology_spec(vertex_body("split", replicas=1))

    def look(self) -> Survey:
        """What the operator sees now."""
        wanted = Wanted(vertex="split", replicas=self.replicas, template_hash=self.template_hash)
        patience = replace(PATIENCE, surge=self.surge)
        return survey(wanted, self.pods.values(), self.nodes, patience, self.now_s)

    def turn(self) -> Turn:
        """One turn of the operator."""
        found = self.look()
        situation = Situation(
            name="tiny",
            spec=self.spec,
            replicas={"split": self.replicas},
            surveys={"split": found},
            nodes=self.nodes,
            ledger=self._ledger(),
            now_s=self.now_s,
        )
        plan = place_tasks(situation)
        posts = posts_for(found.needs, plan.assignments, self.nodes, self.spec, binds_node=True)
        endings = without_room_for_two(
            found.needs,
            posts,
            disrupted=found.disrupted,
            fits_instead=lambda need: fits_instead(situation, need),
        )
        crowded = tuple(end.pod for end in endings)
        for one in (*(end.pod for end in found.delete), *crowded):
            self.delete_pod(one.name)
        for end in found.retire:
            self._retire(end.pod)
        for post in posts:
            self._make(post)
        return Turn(survey=found, posts=posts, crowded=crowded)

    def settle(self) -> None:
        """One step of everybody else, and of time."""
        self.now_s += STEP_S
        for name in list(self.going):
            self.going[name] -= 1
            if self.going[name] == 0:
                del self.going[name], self.pods[name]
        for name, one in list(self.pods.items()):
            if one.node is not None and one.node not in self.nodes:
                self.going.pop(name, None)
                del self.pods[name]
            elif one.node is None:
                self.pods[name] = self._scheduled(one)
            elif one.phase == "Running" and not one.is_deleting:
                self.pods[name] = replace(one, is_ready=self.nodes[one.node].is_ready)

    def free(self, name: str) -> float:
        """Cores left on a node, as kube-scheduler counts them."""
        taken = sum(one.node == name and one.phase == "Running" for one in self.pods.values())
        return self.nodes[name].allocatable["cpu"] - self.foreign.get(name, 0) - taken

    def _scheduled(self, one: PodFact) -> PodFact:
        pinned = one.annotations.get(naming.PLANNED_NODE)
        for name, each in sorted(self.nodes.items()):
            if pinned not in (None, name) or one.is_deleting:
                continue
            if each.is_ready and not each.is_cordoned and self.free(name) >= 1:
                return replace(one, node=name, phase="Running", unschedulable_since_s=None)
        since_s = one.unschedulable_since_s or self.now_s
        return replace(one, is_unschedulable=True, unschedulable_since_s=since_s)

    def _ledger(self) -> Ledger:
        ledger = Ledger(one for one in self.pods.values() if one.phase != "Failed")
        for name, cores in self.foreign.items():
            ledger.reserve(name, {"cpu": float(cores)})
        return ledger

    def _retire(self, one: PodFact) -> None:
        self.pods[one.name] = replace(
            one,
            labels={**one.labels, naming.STATE: naming.RETIRING},
            annotations={**one.annotations, naming.RETIRED_AT: str(int(self.now_s))},
        )

    def _make(self, post: Post) -> None:
        task = post.need.task
        made = pod(
            task.index,
            self.next_incarnation,
            on=None,
            planned=post.planned_node,
            template_hash=self.template_hash,
            created_at_s=self.now_s,
        )
        self.next_incarnation += 1
        self.pods[made.name] = made
