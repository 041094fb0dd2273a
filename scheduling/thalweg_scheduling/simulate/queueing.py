"""The queueing theory that the simulator stands on; everything works on arrays."""

import numpy as np
import scipy  # Its parts are loaded when they are first used, which takes a while.

from thalweg_scheduling.model.arrays import Floats

_FEWER = 0.95


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


def slowdown(servers: Floats, others: Floats, several: Floats | float = np.inf) -> Floats:
    """By what factor a job takes longer beside `others` than alone.

    Parameters
    ----------
    servers
        m, at least 1.
    others
        What they use, in servers.
    several
        How many the others are, n. Each has one job at a time, so n < m never take all servers.

    Notes
    -----
    One server is shared evenly, which takes 1 / (1 - others) times as long. In M/M/m, which is
    n = ∞, a job only waits when all servers are taken; of that wait n others cause about
    1 - (m - 1) / n: all of it where there is one server, and next to nothing if they are too few.
    `_FEWER` is fitted to runs tuple by tuple; while jobs and servers are less than .8 busy,
    response times are within 5 % of those. When nobody rests, a job has what the others leave.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        in_the_way = np.clip(1 - _FEWER * (servers - 1) / several, 0.0, 1.0)
        in_the_way = np.where(servers <= 1, 1.0, in_the_way)
        left = servers - others
        factor = np.maximum(1 + in_the_way * erlang_c(servers, others) / left, 1 / left)
    crowded = np.where(left <= 0, np.inf, factor)
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
