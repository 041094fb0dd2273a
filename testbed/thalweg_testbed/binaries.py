"""The programs of a control plane, built once from Go modules into a cache outside the checkout.

Each program is one file at `<cache>/bin/<module>-<key>/<program>`. The key hashes everything that
decides what comes out: go.mod, go.sum, our own Go files, the flags and Go's version. A build writes
to a temporary name and renames, so that a file under its final name is always whole. A user's
`KUBEBUILDER_ASSETS` comes first, for the programs that it has.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from thalweg_testbed.errors import BuildFailed
from thalweg_testbed.processes import Process

__all__ = [
    "COREDNS",
    "HELM",
    "KIND",
    "KUBERNETES_VERSION",
    "LATENCY",
    "METRICS_SERVER",
    "NODE_PROGRAMS",
    "OBJECTS",
    "PAUSE",
    "PLACEHOLDER",
    "PROGRAMS",
    "RUNC_FRONT",
    "SERVERS",
    "TARGETS",
    "Program",
    "Report",
    "build_key",
    "cache_directory",
    "find_binaries",
    "module_directory",
    "print_progress",
]

Report = Callable[[str], None]

KUBERNETES_VERSION = "1.34.2"
_GO_DIRECTORY = Path(__file__).resolve().parents[1] / "go"
_PROGRESS_EVERY_S = 10.0
_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")
_ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program: its file name, the Go module under `go/` that pins it, its package."""

    name: str
    module: str
    package: str


PROGRAMS = (
    Program(name="certificates", module="certificates", package="."),
    Program(name="etcd", module="kubernetes", package="go.etcd.io/etcd/server/v3"),
    *(
        Program(name=name, module="kubernetes", package=f"k8s.io/kubernetes/cmd/{name}")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    ),
    Program(name="kwok", module="kwok", package="sigs.k8s.io/kwok/cmd/kwok"),
)
"""What the control-plane bed needs."""

SERVERS = tuple(p for p in PROGRAMS if p.module == "kubernetes")
NODE_PROGRAMS = tuple(
    Program(name=name, module="nodes", package=f"k8s.io/kubernetes/cmd/{name}")
    for name in ("kubeadm", "kubelet", "kube-proxy")
)
COREDNS = Program(name="coredns", module="coredns", package=".")
HELM = Program(name="helm", module="helm", package="helm.sh/helm/v3/cmd/helm")
KIND = Program(name="kind", module="kind", package="sigs.k8s.io/kind")
LATENCY = Program(name="latency", module="latency", package=".")
METRICS_SERVER = Program(
    name="metrics-server",
    module="metricsserver",
    package="sigs.k8s.io/metrics-server/cmd/metrics-server",
)
PAUSE = Program(name="pause", module="pause", package=".")
PLACEHOLDER = Program(name="placeholder", module="placeholder", package=".")
RUNC_FRONT = Program(name="runc-front", module="runcfront", package=".")
TARGETS = Program(name="targets", module="targets", package=".")
"""What the kind bed needs, each where it is needed; see thalweg_testbed.kind."""
OBJECTS = Program(
    name="versitygw", module="objects", package="github.com/versity/versitygw/cmd/versitygw"
)
"""An object store, for the tests of condensing."""

_KUBERNETES_MODULES = {"kubernetes", "nodes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The Go that builds: its path, and what of it decides the result."""

    go: str
    identity: str


def cache_directory() -> Path:
    """Return where builds and background clusters live: `$THALWEG_CACHE` or `~/.cache/thalweg`."""
    own = os.environ.get("THALWEG_CACHE")
    return Path(own).resolve() if own else Path.home() / ".cache" / "thalweg"


def print_progress(line: str) -> None:
    """Show one line of progress to whoever is waiting."""
    print(line, file=sys.stderr, flush=True)


def find_binaries(
    programs: Sequence[Program] = PROGRAMS,
    *,
    cache: Path | None = None,
    go: str = "go",
    modules: Path = _GO_DIRECTORY,
    report: Report = print_progress,
    assets: bool = True,
) -> Mapping[str, Path]:
    """Return the path of every program, building what is missing.

    With `assets` false, what KUBEBUILDER_ASSETS has does not count: a node image is one release.
    """
    lent = _assets() if assets else {}
    found = {name: path for name, path in lent.items() if name in {p.name for p in programs}}
    wanted = [program for program in programs if program.name not in found]
    directory = (cache or cache_directory()) / "bin"
    toolchains = {m: _toolchain(go, modules / m) for m in {p.module for p in wanted}}
    targets = {
        program: directory
        / f"{program.module}-{build_key(modules / program.module, toolchains[program.module])}"
        / program.name
        for program in wanted
    }
    if any(not path.exists() for path in targets.values()):
        with _only_builder(directory, report):
            missing = {program: path for program, path in targets.items() if not path.exists()}
            for index, (program, path) in enumerate(missing.items(), start=1):
                label = f"{program.name} ({index} of {len(missing)})"
                _build(program, path, modules / program.module, go=go, report=report, label=label)
    return found | {program.name: path for program, path in targets.items()}


def module_directory(module: str, dependency: str) -> Path:
    """Return where Go keeps the source of a dependency of one of our modules."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", dependency]
    environment = {**os.environ, **_ENVIRONMENT, "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        command,
        cwd=_GO_DIRECTORY / module,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not done.stdout.strip():
        raise BuildFailed(f"no source of {dependency}: {done.stderr.strip()}")
    return Path(done.stdout.strip())


def build_key(module: Path, toolchain: Toolchain) -> str:
    """Hash what decides the result of building in `module`; changes exactly when that does."""
    digest = hashlib.sha256()
    for path in sorted([*module.glob("go.*"), *module.glob("*.go")]):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    environment = [f"{name}={value}" for name, value in sorted(_ENVIRONMENT.items())]
    recipe = [*_FLAGS, _linker_flags(module.name), *environment, toolchain.identity]
    digest.update("\0".join(recipe).encode())
    return digest.hexdigest()[:12]


def _linker_flags(module: str) -> str:
    """Kubernetes programs tell their version by variables that its own build sets; so must ours."""
    flags = ["-s", "-w"]
    if module in _KUBERNETES_MODULES:
        major, minor, _ = KUBERNETES_VERSION.split(".")
        values = {
            "gitVersion": f"v{KUBERNETES_VERSION}",
            "gitMajor": major,
            "gitMinor": minor,
            "gitTreeState": "clean",
        }
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
            flags += [f"-X {package}.{name}={value}" for name, value in values.items()]
    return " ".join(flags)


def _assets() -> dict[str, Path]:
    """Return what the user's KUBEBUILDER_ASSETS has of a control plane."""
    directory = os.environ.get("KUBEBUILDER_ASSETS")
    if not directory:
        return {}
    paths = {name: Path(directory) / name for name in ("etcd", "kube-apiserver", "kubectl")}
    return {name: path for name, path in paths.items() if os.access(path, os.X_OK)}


def _toolchain(go: str, module: Path) -> Toolchain:
    required = _required_version(module)
    hint = f"the test bed is built with Go {required} or later (https://go.dev/dl)"
    path = shutil.which(go)
    if path is None:
        raise BuildFailed(f"no `{go}` on the PATH: {hint}")
    answer = subprocess.run(
        [path, "env", "-json", "GOVERSION", "GOOS", "GOARCH"],
        cwd=module,
        env={**os.environ, **_ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode:
        # Go itself refuses a module that asks for a later version; its first line says so.
        reason = (answer.stderr.strip() or "go env failed").splitlines()[0]
        raise BuildFailed(f"{reason}: {hint}")
    values = json.loads(answer.stdout)
    version = str(values["GOVERSION"])
    if _numbers(version.removeprefix("go")) < _numbers(required):
        raise BuildFailed(f"{path} is {version}: {hint}")
    return Toolchain(go=path, identity=f"{version} {values['GOOS']}/{values['GOARCH']}")


def _required_version(module: Path) -> str:
    for line in (module / "go.mod").read_text().splitlines():
        if line.startswith("go "):
            return line.split()[1]
    raise BuildFailed(f"{module / 'go.mod'} does not say which Go it needs")


def _numbers(version: str) -> tuple[int, ...]:
    """Return 1.26rc1 as (1, 26): enough to tell too old from recent."""
    parts = version.split(maxsplit=1)[0].split(".")[:2]
    return tuple(int("".join(c for c in part if c.isdigit())[:2] or 0) for part in parts)


@contextmanager
def _only_builder(directory: Path, report: Report) -> Iterator[None]:
    """Hold the build lock; the kernel drops it with us, so nothing can stay locked."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("==> another process is building the test bed: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        # We hold the lock, so whatever is partial was left by a build that died.
        for leftover in directory.glob("*/.partial-*"):
            leftover.unlink()
        yield


def _build(
    program: Program, target: Path, module: Path, *, go: str, report: Report, label: str
) -> None:
    target.parent.mkdir(exist_ok=True)
    partial = target.with_name(f".partial-{program.name}")
    log = target.with_name(f"{program.name}.log")
    log.unlink(missing_ok=True)
    flags = (*_FLAGS, "-ldflags", _linker_flags(program.module))
    command = [go, "build", "-C", str(module), *flags, "-o", str(partial), program.package]
    started = time.monotonic()
    report(f"==> building {label} into {target.parent}")
    with Process(f"go build {program.name}", command, log=log, env=_ENVIRONMENT) as build:
        while (code := _wait(build)) is None:
            report(f"    building {label}: {time.monotonic() - started:.0f} s")
        if code or not partial.exists():
            raise BuildFailed(f"go build of {program.name} failed; from {log}:\n{build.log_tail()}")
    partial.rename(target)
    report(f"    built {label} in {time.monotonic() - started:.0f} s")


def _wait(build: Process) -> int | None:
    try:
        return build.wait(_PROGRESS_EVERY_S)
    except subprocess.TimeoutExpired:
        return None
