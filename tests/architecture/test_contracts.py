"""The import contracts bite: each is broken on purpose in a copy of the packages."""

import configparser
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "operator/thalweg_operator",
    "scheduling/thalweg_scheduling",
    "spark/thalweg_spark",
    "runtime/thalweg_runtime",
    "testbed/thalweg_testbed",
)

# Contract, a module that the copy gets, and what that module wrongly imports.
VIOLATIONS = (
    ("The planner is pure", "thalweg_scheduling.model.intruder_a", "time"),
    ("The planner is pure", "thalweg_scheduling.model.intruder_b", "kubernetes"),
    ("The planner is pure", "thalweg_scheduling.model.intruder_c", "thalweg_operator"),
    (
        "Spark and the runtime do not know the operator",
        "thalweg_spark.intruder",
        "thalweg_operator.errors",
    ),
    (
        "Spark and the runtime do not know the operator",
        "thalweg_runtime.intruder",
        "thalweg_operator.errors",
    ),
    (
        "What is shipped does not need the test bed",
        "thalweg_operator.intruder",
        "thalweg_testbed.waiting",
    ),
    ("Only watch and running know Kopf", "thalweg_operator.observe.intruder_a", "kopf"),
    (
        "Only cluster knows the Kubernetes client",
        "thalweg_operator.observe.intruder_b",
        "kubernetes",
    ),
    ("Only Spark knows pyspark", "thalweg_runtime.intruder_b", "pyspark"),
    (
        "The operator's stages stand on each other in one order",
        "thalweg_operator.cluster.intruder",
        "thalweg_operator.observe.facts",
    ),
    (
        "Strategies are made of blocks, blocks of measures, all of the model",
        "thalweg_scheduling.model.intruder_d",
        "thalweg_scheduling.strategies",
    ),
)


@pytest.fixture(scope="module")
def verdict(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What lint-imports says of a copy that breaks every contract at once."""
    copy = tmp_path_factory.mktemp("broken")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / Path(package).name)
    shutil.copy(ROOT / ".importlinter", copy)
    for _, module, imported in VIOLATIONS:
        path = copy.joinpath(*module.split(".")).with_suffix(".py")
        path.write_text(f"import {imported}\n")
    # The path puts the copy before the checkout; the width keeps names on one line.
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "lint-imports", "--no-cache", "--no-logo"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("contract", "module", "imported"), VIOLATIONS)
def test_a_forbidden_import_breaks_its_contract(
    verdict: str, contract: str, module: str, imported: str
) -> None:
    summary, _, details = verdict.partition("Broken contracts")
    assert f"{contract} BROKEN" in summary
    section = details.partition(f"{contract}\n---")[2].partition("\n---")[0]
    assert f"{module} -> {imported}" in section


def test_every_contract_is_broken_by_something() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    names = {config[section]["name"] for section in config.sections() if ":contract:" in section}
    assert names == {contract for contract, _, _ in VIOLATIONS}
