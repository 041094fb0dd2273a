"""Which cluster to use: one that the user lends, or one of our own.

A test suite creates and deletes things. So an ambient KUBECONFIG, which may well point at
production, counts only when the user says so as well.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from thalweg_testbed.binaries import PROGRAMS, Report, find_binaries, print_progress
from thalweg_testbed.cluster import BorrowedCluster
from thalweg_testbed.controlplane import ControlPlane
from thalweg_testbed.errors import BedError

__all__ = ["borrowed_kubeconfig", "open_cluster"]


def borrowed_kubeconfig(environment: Mapping[str, str]) -> Path | None:
    """Return the kubeconfig that the user lends us, if any."""
    named = environment.get("THALWEG_KUBECONFIG")
    if not named and environment.get("THALWEG_USE_KUBECONFIG") == "1":
        named = environment.get("KUBECONFIG")
        if not named:
            raise BedError("THALWEG_USE_KUBECONFIG=1, but KUBECONFIG is not set")
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_file():
        raise BedError(f"no such kubeconfig: {named} (name one file in THALWEG_KUBECONFIG)")
    return path.resolve()


def open_cluster(
    *, crds: Sequence[Path] = (), report: Report = print_progress
) -> ControlPlane | BorrowedCluster:
    """Return a cluster with `crds` installed: the borrowed one, or a new one of our own."""
    kubeconfig = borrowed_kubeconfig(os.environ)
    if kubeconfig is None:
        return ControlPlane(crds=crds, report=report)
    cluster = BorrowedCluster(kubeconfig=kubeconfig, kubectl=_kubectl(report))
    cluster.install(crds)
    return cluster


def _kubectl(report: Report) -> Path:
    own = shutil.which("kubectl")
    if own:
        return Path(own)
    wanted = [program for program in PROGRAMS if program.name == "kubectl"]
    return find_binaries(wanted, report=report)["kubectl"]
