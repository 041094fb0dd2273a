"""A user's step: a function, or a class whose objects can be called.

    def split(record): ...            any number of records for each one that comes
    def count(record, state): ...     the same, with the state of the record's key group
    def read(sequence): ...           a source: the record of a number

What comes back is a record, any number of them, or nothing.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from thalweg_runtime.worker.errors import InvalidSettings

SOURCE_WORD = "sequence"
"""The name of the parameter that makes a function a source."""

_KEYED_PARAMETERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a vertex does."""

    call: Callable[..., Any]
    is_source: bool
    is_keyed: bool
    """Whether it wants the state of the record's key group."""


def load_step(name: str, options: Mapping[str, Any]) -> Step:
    """Find `module:name`; a class is made with the options."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise InvalidSettings(f"{name!r} is no step: it must be module:function or module:Class")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
        call: Any = found(**options) if inspect.isclass(found) else found
        parameters = list(inspect.signature(call).parameters.values())
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InvalidSettings(f"the step {name!r} cannot be loaded: {error}") from error
    needed = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    if len(needed) not in (1, _KEYED_PARAMETERS):
        raise InvalidSettings(
            f"the step {name!r} must take (record), (record, state) or (sequence)"
        )
    return Step(
        call=call,
        is_source=needed == [SOURCE_WORD],
        is_keyed=len(needed) == _KEYED_PARAMETERS,
    )


def step_of(vertex: str, *, step: str | None, program: str | None) -> str:
    """The name of a vertex' step; in a program it is called like the vertex."""
    if step is not None:
        return step
    if program is None:
        raise InvalidSettings("say what to do: --step module:name or --program module")
    return f"{program}:{vertex.replace('-', '_')}"
