"""The compiled twin of a module of kernels."""

from functools import cache
from importlib.util import find_spec
from types import FunctionType, ModuleType

SEARCH_FROM = 3_000
"""Task pairs up to which searching with interpreted kernels is quicker than loading numba."""
SUM_FROM = 50_000
"""The same for going over all pairs once, which numpy is good at."""


@cache
def can_compile() -> bool:
    """Whether numba is installed; it is imported only when something is compiled."""
    return find_spec("numba") is not None


class Warmth:
    """Whether kernels have been compiled in this process; it changes how fast, never what comes."""

    compiled = False


@cache
def compiled(module: ModuleType) -> ModuleType:
    """The same functions under the same names, compiled when first called.

    They are copied into a namespace of their own, so that the interpreted ones stay what they are
    and kernels that call kernels find the compiled ones.
    """
    twin = ModuleType(module.__name__)
    twin.__dict__.update(vars(module))
    for kernel in module.KERNELS:
        copy = FunctionType(kernel.__code__, twin.__dict__, kernel.__name__, kernel.__defaults__)
        copy.__module__ = module.__name__
        copy.__qualname__ = kernel.__qualname__
        setattr(twin, kernel.__name__, _compiled(copy))
    return twin


def _compiled(kernel: FunctionType) -> object:
    import numba

    try:
        return numba.njit(cache=True)(kernel)
    except RuntimeError:
        # Nowhere to keep a cache, as in a container with a read-only file system.
        return numba.njit(kernel)
