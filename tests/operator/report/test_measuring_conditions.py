"""MetricsAvailable says whether measurements may be acted on, and what the source warned of."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from thalweg_operator.observe.measured import Measured
from thalweg_operator.report.measuring import metrics_available
from thalweg_scheduling.model.limits import Trust
from thalweg_scheduling.model.matrices import DependencyMatrix, Observed, TaskLoad

NOW_S = 1000.0


def measured(
    *, at_s: float = NOW_S, coverage: float = 1.0, warnings: Sequence[str] = ()
) -> Measured:
    observed = Observed(at_s=at_s, window_s=30.0, samples=3, coverage=coverage)
    nothing = np.zeros(1)
    loads = TaskLoad(
        cpu_cores=nothing,
        memory_bytes=nothing,
        busy_share=nothing,
        backpressured_share=nothing,
        wait_s=nothing,
        processed_per_s=nothing,
        true_rate_per_s=nothing,
        queue_tuples=nothing,
        observed=observed,
    )
    traffic = DependencyMatrix.from_pairs(1, {(0, 0): (1.0, 1.0)}, observed)
    return Measured(loads=loads, traffic=traffic, warnings=tuple(warnings))


@pytest.mark.parametrize(
    ("found", "trouble", "reason", "message"),
    [
        (measured(), "", "Fresh", "loads and traffic are measured"),
        (
            measured(warnings=["left out: no cAdvisor", "x"]),
            "",
            "Fresh",
            "loads and traffic are measured; the metrics source warned: left out: no cAdvisor"
            " and 1 more",
        ),
        (
            measured(coverage=math.nan, warnings=["store gateway down"]),
            "",
            "MetricsPartial",
            "loads: only an unknown share of the series that ought to be there are"
            " (the metrics source warned: store gateway down)",
        ),
        (
            measured(coverage=0.5),
            "it takes long",
            "MetricsPartial",
            "loads: only 50% of the series that ought to be there are (it takes long)",
        ),
        (
            measured(at_s=NOW_S - 600),
            "",
            "MetricsStale",
            "loads: the newest sample is 600 s old",
        ),
        (Measured(), "", "MetricsMissing", "loads: nothing has been measured yet"),
    ],
)
def test_whether_metrics_may_be_acted_on(
    found: Measured, trouble: str, reason: str, message: str
) -> None:
    said = metrics_available(found, Trust(), NOW_S, trouble=trouble, has_source=True)
    assert (said.reason, said.message) == (reason, message)
    assert said.status is (reason == "Fresh")
