"""What can go wrong, by what the caller will do about it.

WorkerError
├── InvalidSettings    the process cannot start; somebody has to write something else
├── InvalidRoutes      the file is not taken; the routes before it stay in force
└── Garbage            the peer does not speak our language; its connection is closed
"""


class WorkerError(Exception):
    """The root of all errors of the worker."""


class InvalidSettings(WorkerError):
    """An option or a variable of the environment is wrong; starting again will not help."""


class InvalidRoutes(WorkerError):
    """A routes file cannot be understood."""


class Garbage(WorkerError):
    """Bytes that are no frame, or a frame that is out of place."""
