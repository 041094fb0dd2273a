"""What a rehearsed run begins with."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thalweg_operator.command import rehearsing
from thalweg_operator.command.offline import Files, answer, read_case
from thalweg_operator.command.rehearsing import Wish, rehearse
from thalweg_scheduling.model.matrices import LatencyClasses
from thalweg_scheduling.simulate.profiles import constant
from thalweg_scheduling.simulate.trial import Mode, Scenario

WISH = Wish(
    strategy="Auto",
    profile=constant(20),
    profile_words="constant:20",
    minutes=1,
    seed=1,
    fixed=False,
    pause_s=0.1,
    mode=Mode.EVENTS,
)


@pytest.mark.parametrize("shared", [True, False])
def test_tasks_that_share_a_process_stay_together(
    word_count: Path, monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    files = Files(topology=word_count / "topology.yaml", nodes=word_count / "nodes.yaml")
    case = read_case(files, LatencyClasses())
    placement = replace(case.snapshot.limits.placement, shared_processes=shared)
    limits = replace(case.snapshot.limits, placement=placement)
    case = replace(case, snapshot=replace(case.snapshot, limits=limits))
    begun: list[Scenario] = []
    monkeypatch.setattr(rehearsing, "run_trial", lambda scenario, *_, **__: begun.append(scenario))
    rehearse(case, answer(case, "Auto", seed=1, scale=False), WISH, lambda _: None)
    snapshot = begun[0].snapshot
    assert snapshot.limits.placement.whole_processes is shared
    assert snapshot.process is not None
    together = len(np.unique(snapshot.process)) < len(snapshot.process)
    assert together is shared
