"""Whether an object already is as we want it, so that an idle turn writes nothing."""

from collections.abc import Mapping
from typing import Any


def agrees(wanted: Any, found: Any) -> bool:  # noqa: ANN401
    """Whether everything that is wanted stands in what was found, which may hold more.

    Fields that others set, and defaults that the server filled in, are not ours to judge. Lists
    are: they must be as long as ours. An empty value agrees with none: the server drops many.

    >>> agrees({"a": 1}, {"a": 1, "b": 2}), agrees({"a": [1]}, {"a": [1, 2]})
    (True, False)
    """
    if found is None:
        return wanted is None or wanted in ({}, [], ())
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            agrees(value, found.get(key)) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(agrees(ours, theirs) for ours, theirs in zip(wanted, found, strict=True))
        )
    return bool(wanted == found)
