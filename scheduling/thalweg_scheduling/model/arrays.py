"""Arrays that nobody can change behind a value's back."""

from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

Kind = TypeVar("Kind", bound=np.generic)


def frozen_floats(values: npt.ArrayLike) -> Floats:
    """A read-only array of float64; copies only what could still be written elsewhere."""
    return _frozen(np.asarray(values, dtype=np.float64))


def frozen_ints(values: npt.ArrayLike) -> Ints:
    """A read-only array of int64."""
    return _frozen(np.asarray(values, dtype=np.int64))


def frozen_bools(values: npt.ArrayLike) -> Bools:
    """A read-only array of booleans."""
    return _frozen(np.asarray(values, dtype=np.bool_))


def _frozen(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
