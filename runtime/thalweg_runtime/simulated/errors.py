"""What can go wrong, by what the caller will do about it."""


class SimulationError(Exception):
    """The root of all errors of the simulated data plane."""


class InvalidOption(SimulationError):
    """An option, a file or a request cannot be understood; saying it again will not help."""


class Unreachable(SimulationError):
    """The API server did not answer; the next try may be luckier."""
