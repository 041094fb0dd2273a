"""The control-plane test bed: real Kubernetes servers, simulated nodes, on one machine.

For working on Thalweg; not shipped. See docs/testbed.md.
"""

from thalweg_testbed.audit import AuditLog, AuditRecord
from thalweg_testbed.borrowing import open_cluster
from thalweg_testbed.cluster import BorrowedCluster, Cluster
from thalweg_testbed.controlplane import OPERATOR_USER, ControlPlane
from thalweg_testbed.errors import (
    BedError,
    BuildFailed,
    CommandFailed,
    NotInTime,
    NotOurs,
    ProcessDied,
)
from thalweg_testbed.processes import Process
from thalweg_testbed.servers import Tuning
from thalweg_testbed.waiting import eventually

__all__ = [
    "OPERATOR_USER",
    "AuditLog",
    "AuditRecord",
    "BedError",
    "BorrowedCluster",
    "BuildFailed",
    "Cluster",
    "CommandFailed",
    "ControlPlane",
    "NotInTime",
    "NotOurs",
    "Process",
    "ProcessDied",
    "Tuning",
    "eventually",
    "open_cluster",
]
