"""Images for pods: ours, from their Dockerfiles, and those of what stands around them in a test.

Where a registry answers, Dockerfiles build on its Python. Elsewhere they build on a Python made
from Debian packages, and fetch Python packages as this machine does: with its certificates and its
index. Prometheus is Debian's, metrics-server is built from its Go module.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from thalweg_testbed.binaries import (
    HELM,
    METRICS_SERVER,
    PLACEHOLDER,
    TARGETS,
    Program,
    Report,
    cache_directory,
    find_binaries,
    print_progress,
)
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.host import read_host
from thalweg_testbed.images.debian import debian_tar, scratch_directory, unpacked
from thalweg_testbed.images.registry import has_published
from thalweg_testbed.images.single import copy_with_libraries, import_directory, place

__all__ = ["PUBLISHED_PROMETHEUS", "PUBLISHED_PYTHON", "Images"]

_ROOT = Path(__file__).resolve().parents[3]
PUBLISHED_PYTHON = "python:3.12-slim-bookworm"
PUBLISHED_PROMETHEUS = "prom/prometheus:v3.5.0"
_PACKAGES = ("ca-certificates", "python3", "python3-venv")
_JAVA = "openjdk-17-jre-headless"
"""For Spark, in the operator's image only: workers' images are loaded into every node."""
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "operator", "scheduling", "spark", "runtime")
_BUILD_S = 1800.0
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_USER = "USER 10001:10001"
_INDEX_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_DEFAULT_TIMEOUT")
_PROXY_SETTINGS = ("http_proxy", "https_proxy", "no_proxy")


class Images:
    """The pods' images of one Docker. A name stands for its content: tags are keys."""

    def __init__(
        self, engine: Engine, *, cache: Path | None = None, report: Report = print_progress
    ) -> None:
        self._engine = engine
        self._cache = cache or cache_directory()
        self._report = report

    def prepare(self, *, soak: bool = False) -> None:
        """Make the images that `make e2e` needs: minutes the first time, too long for a test."""
        self.placeholder()
        self.operator()
        self.runtime()
        self.prometheus()
        self.targets()
        find_binaries([HELM], report=self._report)
        if soak:
            self.metrics_server()

    def placeholder(self) -> str:
        """Return the image of a worker that does nothing but keep the contract."""
        return self._of_program(PLACEHOLDER)

    def targets(self) -> str:
        """Return the image of what tells Prometheus which pods to scrape."""
        return self._of_program(TARGETS)

    def metrics_server(self) -> str:
        """Return the image of metrics-server, which `kubectl top` and autoscalers ask."""
        return self._of_program(METRICS_SERVER)

    def prometheus(self) -> str:
        """Return the image of Prometheus: the published one, else Debian's program by itself."""
        if self._has(PUBLISHED_PROMETHEUS):
            return PUBLISHED_PROMETHEUS
        tar = debian_tar(("prometheus",), cache=self._cache, host=read_host(), report=self._report)
        name = f"thalweg-prometheus:{tar.stem.rpartition('-')[2]}"
        if not self._engine.has_image(name):
            with unpacked(tar) as root, scratch_directory(self._cache / "images") as directory:
                copy_with_libraries(root, directory, ["usr/bin/prometheus"])
                self._import(name, directory, "/usr/bin/prometheus")
        return name

    def _of_program(self, program: Program) -> str:
        path = find_binaries([program], report=self._report)[program.name]
        name = f"thalweg-{program.name}:{path.parent.name.rpartition('-')[2]}"
        if not self._engine.has_image(name):
            with scratch_directory(self._cache / "images") as directory:
                place(path, directory / program.name)
                self._import(name, directory, f"/{program.name}")
        return name

    def _import(self, name: str, directory: Path, program: str) -> None:
        (directory / "tmp").mkdir(mode=0o1777)
        changes = [f'ENTRYPOINT ["{program}"]', _USER]
        import_directory(self._engine, name, directory, changes=changes)

    def operator(self) -> str:
        """Return the operator's image, built from this checkout."""
        return self._built("operator", ["locks/operator.txt", *_SOURCES], packages=[_JAVA])

    def runtime(self) -> str:
        """Return the image of stream workers and the latency prober, built from this checkout."""
        return self._built("runtime", ["locks/runtime.txt", "runtime", "scheduling"])

    def _built(self, name: str, sources: Sequence[str], *, packages: Sequence[str] = ()) -> str:
        dockerfile = f"Dockerfile.{name}"
        paths = [_ROOT / one for one in (dockerfile, *sources)]
        tag = f"thalweg-{name}:{_key(paths)}"
        if self._engine.has_image(tag):
            return tag
        base = self._python(packages)
        self._report(f"==> building {tag} from {dockerfile}")
        with scratch_directory(self._cache / "images") as context:
            for path in paths:
                _copy(path, context / path.relative_to(_ROOT))
            build = ("build", "--quiet", "--force-rm", "--network", "host", *base)
            file = ("--file", str(context / dockerfile), str(context))
            # Under a name of their own, or they would go with the images that are removed below.
            kept = ("--target", "dependencies", "--tag", f"thalweg-{name}-dependencies:1")
            self._engine.run(*build, *kept, *file, timeout_s=_BUILD_S)
            self._engine.run(*build, "--tag", tag, *file, timeout_s=_BUILD_S)
        self._remove_others(tag)
        return tag

    def _remove_others(self, tag: str) -> None:
        """Remove images of the same name and other content: each is most of a gigabyte."""
        repository = tag.partition(":")[0]
        listing = self._engine.run(
            "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", repository
        )
        for other in set(listing.split()) - {tag}:
            self._engine.run("image", "rm", "--force", other)
        if self._engine.is_ours:
            self._engine.run("image", "prune", "--force")

    def _python(self, more: Sequence[str]) -> list[str]:
        """Return the options by which a Dockerfile gets its base images, with these packages."""
        if self._has(PUBLISHED_PYTHON):
            return []
        packages = (*_PACKAGES, *more)
        key = hashlib.sha256("\0".join(packages).encode()).hexdigest()[:12]
        base, build = f"thalweg-python:{key}", f"thalweg-python-build:{key}"
        if not self._engine.has_image(base):
            host = read_host()
            tar = debian_tar(packages, cache=self._cache, host=host, report=self._report)
            self._engine.run("import", str(tar), base)
        with scratch_directory(self._cache / "images") as directory:
            (directory / "Dockerfile").write_text(_build_image(base))
            shutil.copy(_CERTIFICATES, directory / _CERTIFICATES.name)
            self._engine.run("build", "--quiet", "--tag", build, str(directory))
        return ["--build-arg", f"PYTHON_IMAGE={base}", "--build-arg", f"BUILD_IMAGE={build}"]

    def _has(self, published: str) -> bool:
        return has_published(self._engine, published, cache=self._cache, report=self._report)


def _build_image(base: str) -> str:
    """A base image that fetches packages with this machine's certificates and settings."""
    inside = f"/etc/ssl/certs/{_CERTIFICATES.name}"
    settings = {"PIP_CERT": inside, "SSL_CERT_FILE": inside}
    settings |= {n: os.environ[n] for n in (*_INDEX_SETTINGS, *_PROXY_SETTINGS) if n in os.environ}
    words = " ".join(f'{name}="{value}"' for name, value in settings.items())
    return f"FROM {base}\nCOPY {_CERTIFICATES.name} {inside}\nENV {words}\n"


def _key(paths: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(_ROOT)}\0{file.stat().st_size}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
