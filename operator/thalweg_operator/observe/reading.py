"""Looks into API objects without trusting their shape.

A field may be missing, null or of another type in an object of a newer server or another
controller. It then reads as empty: one strange object must not stop a pass over the cluster.
"""

from collections.abc import Mapping
from types import MappingProxyType

_NOTHING: Mapping[str, object] = MappingProxyType({})


def mapping_at(obj: object, *path: str) -> Mapping[str, object]:
    """The mapping at `path`, or an empty one."""
    for key in path:
        obj = obj.get(key) if isinstance(obj, Mapping) else None
    return obj if isinstance(obj, Mapping) else _NOTHING


def mappings_at(obj: object, *path: str) -> tuple[Mapping[str, object], ...]:
    """The mappings in the list at `path`; anything else in it is left out."""
    return tuple(item for item in _list_at(obj, *path) if isinstance(item, Mapping))


def words_at(obj: object, *path: str) -> tuple[str, ...]:
    """The strings in the list at `path`."""
    return tuple(item for item in _list_at(obj, *path) if isinstance(item, str))


def word_at(obj: object, *path: str) -> str:
    """The string at `path`, or an empty one."""
    value = mapping_at(obj, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def labels_at(obj: object, *path: str) -> Mapping[str, str]:
    """A read-only copy of the labels or annotations at `path`."""
    pairs = mapping_at(obj, *path).items()
    return MappingProxyType({key: value for key, value in pairs if isinstance(value, str)})


def _list_at(obj: object, *path: str) -> list[object]:
    value = mapping_at(obj, *path[:-1]).get(path[-1])
    return value if isinstance(value, list) else []
