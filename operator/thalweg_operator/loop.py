"""The loop: observe, decide, act, report, on one screen.

A turn is level-triggered: it reads the cluster as it is, and does what is missing. It needs nothing
from the turn before, so it can be ended after any write and started again anywhere; what it keeps
all the same, matrices and how long a lull has lasted, only makes a fresh start more patient.
"""

import logging

from thalweg_operator.clock import Clock
from thalweg_operator.cluster.client import Client
from thalweg_operator.errors import Conflict, NotLeader, OperatorError
from thalweg_operator.judging import Verdict, judge
from thalweg_operator.measuring import Measures, Measuring
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.world import TopologyFacts, World, observe
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.report.publish import Publisher
from thalweg_operator.settings import Settings
from thalweg_operator.tending import Tending, counted, failed
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.place.warming import warm

log = logging.getLogger(__name__)


class Loop:
    """Turns over all topologies, one after the other, in a fixed order."""

    def __init__(
        self,
        *,
        client: Client,
        settings: Settings,
        clock: Clock,
        metrics: Metrics,
        measuring: Measures | None = None,
    ) -> None:
        """Take what every turn needs; without `measuring`, the settings' sources are asked."""
        self._client = client
        self._settings = settings
        self._clock = clock
        self._metrics = metrics
        self._publisher = Publisher(client)
        self._measuring = measuring or Measuring(settings, clock, metrics)
        self._memories: dict[str, Memory | None] = {}
        self._looked_s: dict[str, float] = {}

    def prepare(self) -> None:
        """Load or compile the planner's kernels: seconds that no topology should wait for."""
        warm()

    def turn(self) -> None:
        """Bring every topology one turn closer to what its spec says."""
        with self._metrics.stage("observe"):
            world = observe(self._client, self._settings.namespaces, self._clock.now_s())
        # Owner references take away all that a topology owns once it is deleted.
        living = [one for one in world.topologies if not one.is_deleting]
        uids = {one.uid for one in living}
        self._memories = {uid: self._memories.get(uid) for uid in uids}
        self._looked_s = {uid: at for uid, at in self._looked_s.items() if uid in uids}
        judged = [(facts, judge(facts)) for facts in living]
        with self._metrics.stage("measure"):
            self._measuring.look(world, judged)
        ledger = Ledger(world.pods)
        desired = ready = 0
        for facts, verdict in judged:
            tasks = self._tend(world, facts, verdict, ledger)
            desired, ready = desired + tasks[0], ready + tasks[1]
        self._metrics.topologies.set(len(world.topologies))
        self._metrics.tasks_desired.set(desired)
        self._metrics.tasks_ready.set(ready)

    def _is_time_to_look(self, uid: str) -> bool:
        before_s = self._looked_s.get(uid)
        pause_s = self._settings.placement_interval_s
        return before_s is None or self._clock.monotonic_s() - before_s >= pause_s

    def close(self) -> None:
        """End what the loop has started."""
        self._measuring.close()

    def _tend(
        self, world: World, facts: TopologyFacts, verdict: Verdict, ledger: Ledger
    ) -> tuple[int, int]:
        """One topology. Its trouble is its own: the others get their turn all the same."""
        tending = Tending(
            client=self._client,
            settings=self._settings,
            metrics=self._metrics,
            world=world,
            facts=facts,
            verdict=verdict,
            ledger=ledger,
            measuring=self._measuring,
            memory=self._memories.get(facts.uid),
            look_for_moves=self._is_time_to_look(facts.uid),
        )
        try:
            outcome = tending.tend()
        except NotLeader:
            raise
        except Conflict as error:
            # Somebody else wrote meanwhile. That is no trouble: the next turn reads it.
            log.info("%s/%s: %s", facts.namespace, facts.name, error)
            return counted(facts)
        except OperatorError as error:
            log.warning("%s/%s: %s", facts.namespace, facts.name, error)
            self._metrics.count_error(error)
            outcome = failed(facts, error)
        self._memories[facts.uid] = tending.memory
        if tending.has_looked:
            self._looked_s[facts.uid] = self._clock.monotonic_s()
        with self._metrics.stage("report"):
            return self._publisher.publish(world, facts, outcome, tending.happenings)
