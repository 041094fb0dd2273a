"""The queueing theory that the simulator stands on; everything works on arrays."""

import numpy as np
import scipy  # Its parts are loaded when they are first used, which takes a while.

from thalweg_scheduling.model.arrays import Floats


def erlang_c(servers: Floats, load: Floats) -> Floats:
    """The probability of having to wait in M/M/m.

    Parameters
    ----------
    servers
        m, at least 1. Nodes offer fractions of cores, so it need not be a whole number; between
        whole numbers it is Erlang's formula written with the incomplete gamma function.
    load
        λ/μ, in servers. From m upwards everybody waits.

    Examples
    --------
    >>> float(erlang_c(np.array(1.0), np.array(0.5)))
    0.5
    """
    safe = np.clip(load, 1e-300, np.maximum(servers * (1 - 1e-15), 1e-300))
    with np.errstate(under="ignore"):
        blocked = np.exp(
            servers * np.log(safe) - safe - scipy.special.gammaln(servers + 1)
        ) / scipy.special.gammaincc(servers + 1, safe)
    waits = blocked / (1 - safe / servers * (1 - blocked))
    chance = np.where(load <= 0, 0.0, np.where(load >= servers, 1.0, waits))
    return np.where(np.isfinite(load + servers), chance, np.nan)


def slowdown(servers: Floats, others: Floats) -> Floats:
    """By what factor a job takes longer beside `others` (in servers) than alone.

    One server gives processor sharing, 1 / (1 - load), exactly; more give the mean response of
    M/M/m, in which a job only waits when all servers are taken.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1 + erlang_c(servers, others) / (servers - others)
    crowded = np.where(others >= servers, np.inf, factor)
    return np.where(np.isfinite(others + servers), crowded, np.nan)


def waiting_s(
    utilization: Floats, service_s: Floats, *, arrival_cv2: float, service_cv2: float
) -> Floats:
    """Mean time in the queue by Allen and Cunneen; exact for M/M/1 and M/D/1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        waits = (arrival_cv2 + service_cv2) / 2 * utilization * service_s / (1 - utilization)
    return np.where(utilization >= 1, np.inf, waits)


def harmonic(count: Floats) -> Floats:
    """H(n): the mean of the largest of n exponential times, in units of the mean of one.

    Examples
    --------
    >>> round(float(harmonic(np.array(3.0))), 6)
    1.833333
    """
    number: Floats = scipy.special.psi(np.asarray(count) + 1) + np.euler_gamma
    return number
