"""What can go wrong in the test bed, by what the reader will do about it.

BedError
├── BuildFailed       the programs could not be built: read the last lines, or install Go
├── ProcessDied       a server ended by itself: its log's last lines are in the message
├── NotInTime         something did not come about before the deadline
├── CommandFailed     kubectl refused; carries what it printed
└── NotOurs           the cluster is borrowed: it has no servers or nodes of ours to play with
"""

__all__ = [
    "BedError",
    "BuildFailed",
    "CommandFailed",
    "NotInTime",
    "NotOurs",
    "ProcessDied",
]


class BedError(Exception):
    """Anything that the test bed reports; the message is meant for a person."""


class BuildFailed(BedError):
    """The Go programs are not there and could not be made."""


class ProcessDied(BedError):
    """A child process ended when it should have been running."""


class NotInTime(BedError, AssertionError):
    """A condition did not hold before its deadline: an assertion, and shown as one by pytest."""


class CommandFailed(BedError):
    """A kubectl call ended with an error."""


class NotOurs(BedError):
    """Asked of a borrowed cluster what only a control plane of our own can do."""
