"""Columns that are made once a session.

PySpark gives the variables of every lambda a number of their own, and the numbers stand in the code
that Spark generates. Made anew at each pass, the same step would be new code each time: to be
compiled, to be warmed up, and never to be found in the cache. For a pass over little data that is
most of the work. Constants that change from pass to pass do the same, so time comes as a column.
"""

from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame

_made: "WeakKeyDictionary[Any, dict[tuple[Hashable, ...], Column]]" = WeakKeyDictionary()


def once(frame: DataFrame, make: Callable[..., Column], *words: Hashable) -> Column:
    """What `make` makes of the words, in the session of a DataFrame; `make` is no closure."""
    made = _made.setdefault(frame.sparkSession, {})
    key = (make, *words)
    if key not in made:
        # Of two threads the first to come is right: one and the same column is what counts.
        made.setdefault(key, make(*words))
    return made[key]
