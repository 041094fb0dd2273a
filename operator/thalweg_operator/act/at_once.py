"""Several writes at a time: each waits for the API server's disk, and these waits can overlap.

Only writes that do not depend on each other, and a bounded number: the API server has others to
serve. Each write asks the Lease for itself, in the client.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def at_once(calls: Sequence[Callable[[], T]], most: int) -> Iterator[T]:
    """Call all, at most so many at a time; gives what they return in their order.

    The first one in this order that fails is the error of all: those that have not begun by then
    are left out, and nothing is under way any more when it is raised.
    """
    if len(calls) == 1:
        yield calls[0]()
    elif calls:
        with ThreadPoolExecutor(max_workers=min(most, len(calls))) as pool:
            yield from pool.map(lambda call: call(), calls)
