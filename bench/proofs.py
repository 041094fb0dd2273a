"""The proven optima of the small instances, kept in a file: proving them takes an hour or more.

`python -m bench optima` proves them again. Each line belongs to an instance by a fingerprint of all
its numbers, so a proof is never taken for another instance.
"""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.instances import Instance, small_instances
from bench.optimum import prove
from thalweg_scheduling.model.snapshot import Snapshot

FILE = Path(__file__).with_name("optima.csv")
LIMIT_S = 300.0
COLUMNS = ("instance", "fingerprint", "value", "bound", "proven", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What CP-SAT said about one instance."""

    fingerprint: str
    value: float
    bound: float
    proven: bool
    seconds: float


def fingerprint(snapshot: Snapshot) -> str:
    """The same for the same numbers, on every machine."""
    assert snapshot.traffic is not None
    digest = hashlib.sha256()
    for array in (
        snapshot.demand,
        snapshot.capacity,
        snapshot.node_cost_s,
        snapshot.traffic.indptr,
        snapshot.traffic.targets,
        snapshot.traffic.tuples_per_s,
    ):
        # Rounded, because the last digit of a product differs between processors.
        digest.update(np.round(array, 6).astype("<f8").tobytes())
    return digest.hexdigest()[:16]


def read_proofs(path: Path = FILE) -> dict[str, Proof]:
    """Instance to proof."""
    with path.open(encoding="utf-8", newline="") as lines:
        return {
            row["instance"]: Proof(
                fingerprint=row["fingerprint"],
                value=float(row["value"]),
                bound=float(row["bound"]),
                proven=row["proven"] == "yes",
                seconds=float(row["seconds"]),
            )
            for row in csv.DictReader(lines)
        }


def proof_of(instance: Instance, proofs: dict[str, Proof]) -> Proof | None:
    """The instance's proof, if the file has one for exactly these numbers."""
    proof = proofs.get(instance.name)
    same = proof is not None and proof.fingerprint == fingerprint(instance.snapshot)
    return proof if same else None


def main() -> None:
    """Prove what is not in the file yet; delete the file to prove everything."""
    proofs = read_proofs() if FILE.exists() else {}
    kept: dict[str, Proof] = {}
    for instance in small_instances():
        proof = proof_of(instance, proofs) or _prove(instance)
        kept[instance.name] = proof
        word = "proven" if proof.proven else f"bound {proof.bound:.6g}"
        print(f"{instance.name:<24} {proof.value:.6g} {word} {proof.seconds:.1f} s", flush=True)
        _write(kept)


def _prove(instance: Instance) -> Proof:
    found = prove(instance.snapshot, limit_s=LIMIT_S)
    return Proof(
        fingerprint=fingerprint(instance.snapshot),
        value=found.value,
        bound=found.bound,
        proven=found.proven,
        seconds=found.seconds,
    )


def _write(proofs: dict[str, Proof]) -> None:
    with FILE.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, proof in proofs.items():
            word = "yes" if proof.proven else "no"
            row = (proof.fingerprint, repr(float(proof.value)), repr(float(proof.bound)), word)
            writer.writerow((name, *row, f"{proof.seconds:.1f}"))
