"""What pods' images are built on where no registry answers."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.images import Images, pods

FAKE = """\
#!/bin/sh
# Stands in for docker: it has no image, and writes down what it is asked.
echo "$*" >>"{log}"
"""
JAVA = "openjdk-17-jre-headless"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the log of a Docker without images on a machine without a registry."""
    log = tmp_path / "asked"
    program = tmp_path / "docker"
    program.write_text(FAKE.format(log=log))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "no-registry").touch()
    certificates = tmp_path / "ca-certificates.crt"
    certificates.touch()
    monkeypatch.setattr(pods, "_CERTIFICATES", certificates)
    return log


@pytest.fixture
def bootstrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Give the sets of packages that root file systems were made of."""
    found: list[tuple[str, ...]] = []

    def tar(packages: Sequence[str], **_: object) -> Path:
        found.append(tuple(packages))
        return tmp_path / "debian.tar"

    monkeypatch.setattr(pods, "debian_tar", tar)
    return found


def test_only_the_operators_image_has_java(
    tmp_path: Path, asked: Path, bootstrapped: list[tuple[str, ...]]
) -> None:
    images = Images(Engine(), cache=tmp_path, report=lambda _: None)
    operator, runtime = images.operator(), images.runtime()
    with_java, without = bootstrapped
    assert JAVA in with_java
    assert set(without) == set(with_java) - {JAVA}
    builds = [line for line in asked.read_text().splitlines() if "PYTHON_IMAGE=" in line]
    bases = {word for line in builds for word in line.split() if "PYTHON_IMAGE=" in word}
    assert len(bases) == 2, "each has a base image of its own"
    assert [any(tag in line for line in builds) for tag in (operator, runtime)] == [True, True]


def test_a_registry_that_refused_is_not_asked_again(
    tmp_path: Path, asked: Path, bootstrapped: list[tuple[str, ...]]
) -> None:
    images = Images(Engine(), cache=tmp_path, report=lambda _: None)
    images.runtime()
    assert "pull" not in asked.read_text()
    (tmp_path / "images" / "no-registry").unlink()
    images.runtime()
    assert f"pull --quiet {pods.PUBLISHED_PYTHON}" in asked.read_text()


def test_the_dockerfile_installs_java_where_the_base_has_none() -> None:
    text = (Path(__file__).parents[3] / "Dockerfile.operator").read_text()
    assert "if ! command -v java" in text
    assert f"apt-get install --yes --no-install-recommends {JAVA}" in text
