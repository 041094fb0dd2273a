"""What can be wrong with an input.

ValueError
└── SchedulingError
    ├── InvalidSnapshot     the facts contradict each other: the caller built them wrongly
    ├── InvalidParameters   a strategy's parameter is outside its declared range
    └── StrategyUnavailable no strategy has that name

That a topology does not fit is no error: it is a value, `Infeasible`.
"""


class SchedulingError(ValueError):
    """Anything that this package refuses."""


class InvalidSnapshot(SchedulingError):
    """The facts contradict each other."""


class InvalidParameters(SchedulingError):
    """A parameter is outside its declared range."""


class StrategyUnavailable(SchedulingError):
    """No strategy of that name can be run here."""
