"""The kind bed: real nodes in latency domains, on any machine. See docs/testbed.md."""

from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.lifetime import Clusters, kind_cluster
from thalweg_testbed.kind.shape import CONTROL_DOMAIN, Shape

__all__ = ["CONTROL_DOMAIN", "Clusters", "KindCluster", "Shape", "kind_cluster"]
