"""What can go wrong in the operator, by what the caller will do about it.

OperatorError
├── InvalidSettings     the settings are wrong: tell the user, do not start
├── NameTaken           an object that should be ours is somebody else's: tell, touch nothing
├── StoreUnreadable     the matrix store cannot be read: decide without measurements
├── NotLeader           the Lease is not ours any more: write nothing, leave
│   └── Stopping        we were asked to end and give the Lease up: write nothing more, leave well
└── ApiError            the API server's answer, or that there was none
    ├── NotFound        gone: often fine
    ├── AlreadyExists   somebody made it first: read it
    ├── Conflict        a uid or resourceVersion did not match: read again, decide again
    ├── Refused         the request is wrong or forbidden: report the server's words, do not repeat
    └── Unavailable     overload, fault, network or time-out: later; a write may have happened
"""


class OperatorError(Exception):
    """Anything that the operator raises on purpose."""


class InvalidSettings(OperatorError):
    """A setting is unknown, of the wrong type or out of its range."""


class NameTaken(OperatorError):
    """An object of the name that we need belongs to somebody else."""


class StoreUnreadable(OperatorError):
    """The matrix store is there, but what it holds cannot be read."""


class NotLeader(OperatorError):
    """The Lease cannot be proved to be ours for long enough to write."""


class Stopping(NotLeader):
    """The process was asked to end: to whoever wants to write, the same as a lost Lease."""


class ApiError(OperatorError):
    """The API server said no, or nothing.

    `status` is the HTTP status (0 when there was no answer), `reason` the server's own word for it.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NotFound(ApiError):
    """There is no such object, or no such resource."""


class AlreadyExists(ApiError):
    """An object of that name is there."""


class Conflict(ApiError):
    """A precondition did not hold."""


class Refused(ApiError):
    """The server will answer the same next time."""


class Unavailable(ApiError):
    """No answer, or one that says later."""
