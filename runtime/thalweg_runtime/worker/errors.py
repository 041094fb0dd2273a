"""What can go wrong, by what the caller will do about it.

WorkerError
├── InvalidSettings    the process cannot start; somebody has to write something else
├── InvalidRoutes      the file is not taken; the routes before it stay in force
├── Garbage            the peer does not speak our language; its connection is closed
├── Unsendable         a step made what nobody could read; the process ends and says so
│   └── TooLarge       it does not fit into a frame; a part of it may
└── Unfinished         the process ends, though it still had something in hand
"""


class WorkerError(Exception):
    """The root of all errors of the worker."""


class InvalidSettings(WorkerError):
    """An option or a variable of the environment is wrong; starting again will not help."""


class InvalidRoutes(WorkerError):
    """A routes file cannot be understood."""


class Garbage(WorkerError):
    """Bytes that are no frame, or a frame that is out of place."""


class Unfinished(WorkerError):
    """Draining took too long."""


class Unsendable(WorkerError):
    """A record or a state that is not made of what MessagePack knows."""


class TooLarge(Unsendable):
    """More than one frame may hold."""
