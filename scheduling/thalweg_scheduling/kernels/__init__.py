"""Plain loops over arrays, compiled by numba where it is installed and interpreted where not.

Each module is closed in itself: a kernel calls only kernels of its own file, because numba's cache
notices a change of the file that a kernel is in and of no other. `compiling` makes the twin.
"""
