"""What can go wrong in the test bed, by what the reader will do about it.

BedError
├── BuildFailed       the programs could not be built: read the last lines, or install Go
├── ProcessDied       a server ended by itself: its log's last lines are in the message
├── NotInTime         something did not come about before the deadline
├── CommandFailed     kubectl, docker or another program refused; carries what it printed
├── NotPossible       this machine lacks something: the message says what to install or change
├── WrongLatency      what was measured between two domains is not what was asked for
└── NotOurs           the cluster is borrowed: it has no servers or nodes of ours to play with
"""

__all__ = [
    "BedError",
    "BuildFailed",
    "CommandFailed",
    "NotInTime",
    "NotOurs",
    "NotPossible",
    "ProcessDied",
    "WrongLatency",
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
    """A program that the bed called ended with an error."""


class NotPossible(BedError):
    """What was asked cannot be done on this machine, and the bed may not or cannot change that."""


class WrongLatency(BedError):
    """The network does not do what it was told to do."""


class NotOurs(BedError):
    """Asked of a borrowed cluster what only a control plane of our own can do."""
