"""Latency between domains: what is asked for, how the network is told, and what is measured."""

from thalweg_testbed.latency.links import Link, Links, parse_duration_s
from thalweg_testbed.latency.means import Means
from thalweg_testbed.latency.measuring import Measured

__all__ = ["Link", "Links", "Means", "Measured", "parse_duration_s"]
