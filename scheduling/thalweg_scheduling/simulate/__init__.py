"""Trying a placement on paper, before anything moves.

`predict` says what to expect of a placement from what was measured of the present one.
`simulate_analytically` says more, of any workload: measured, or declared by profiles.
"""

from thalweg_scheduling.simulate.analytic import Analysis, predict, simulate_analytically
from thalweg_scheduling.simulate.declared import EdgeProfile, VertexProfile, declared_workload
from thalweg_scheduling.simulate.measured import measured_workload
from thalweg_scheduling.simulate.parameters import DEFAULTS, Parameters
from thalweg_scheduling.simulate.workload import Workload

__all__ = [
    "DEFAULTS",
    "Analysis",
    "EdgeProfile",
    "Parameters",
    "VertexProfile",
    "Workload",
    "declared_workload",
    "measured_workload",
    "predict",
    "simulate_analytically",
]
