"""What queueing theory says of waits, for tests: Lindley's recursion, and Crommelin's mean for M/D/k."""

import heapq
import math
from collections.abc import Iterable


def waits(arrivals: Iterable[float], service: float, servers: int = 1) -> list[float]:
    """Return how long each arrival waits for the first free of some servers: first come, first served.

    `arrivals` are moments in order; each is served for the same time (Lindley 1952; for several servers
    Kiefer and Wolfowitz 1955).
    """
    free = [0.0] * servers
    found = []
    for at in arrivals:
        begins = max(at, heapq.heappop(free))
        heapq.heappush(free, begins + service)
        found.append(begins - at)
    return found


def mean_wait(load: float, servers: int = 1) -> float:
    """Return the mean wait of M/D/k in service times, where each server is busy for a share of the time.

    It is Crommelin's formula (1934), which is that of Pollaczek and Khinchine for one server.
    """
    offered = load * servers
    return math.fsum(
        _more(turn * offered, turn * servers) - servers / offered * _more(turn * offered, turn * servers + 1)
        for turn in range(1, 400)
    )


def _more(mean: float, least: int) -> float:
    """Return the chance that a Poisson number is not below a least one."""
    return math.fsum(
        math.exp(number * math.log(mean) - mean - math.lgamma(number + 1))
        for number in range(least, least + 200)
    )
