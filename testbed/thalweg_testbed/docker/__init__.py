"""Docker for the kind bed: the one that runs, or one of our own where none does."""

from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.finding import use_engine

__all__ = ["Engine", "use_engine"]
