"""What can go wrong, by what whoever started the run does about it.

CondenseError
├── InvalidInput        a preset, an expectation or an option is wrong: exit code 2
├── SparkUnavailable    there is no Java, or Spark has died: exit code 3
├── SourceUnavailable   Prometheus does not answer, or not with what was asked: exit code 4
└── StoreUnwritable     the matrices cannot be written: exit code 5
"""


class CondenseError(Exception):
    """Anything that a run refuses or cannot do."""

    exit_code = 1


class InvalidInput(CondenseError):
    """What the caller gave is wrong."""

    exit_code = 2


class SparkUnavailable(CondenseError):
    """Spark cannot be had; the engine numpy can."""

    exit_code = 3


class SourceUnavailable(CondenseError):
    """The metrics cannot be had at the moment."""

    exit_code = 4


class StoreUnwritable(CondenseError):
    """The matrices cannot be kept."""

    exit_code = 5
