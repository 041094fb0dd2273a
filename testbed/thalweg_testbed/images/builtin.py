"""The images that a node has from the start: the control plane's, kube-proxy, DNS and pause.

Each is one program, under the very name by which kubeadm and containerd ask for it.
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from thalweg_testbed.binaries import KUBERNETES_VERSION
from thalweg_testbed.commands import call
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.images.single import copy_with_libraries, import_directory, place

__all__ = ["add_images", "program_of"]

_LOCAL = "thalweg-build"
_IMPORT = """\
containerd >/dev/null 2>&1 & pid=$!
until ctr version >/dev/null 2>&1 </dev/null; do sleep 0.2; done
ctr -n k8s.io images import --all-platforms --no-unpack --digests - >/dev/null
while [ $# -gt 0 ]; do ctr -n k8s.io images tag --force "$1" "$2"; shift 2; done
ctr -n k8s.io images ls -q | grep thalweg-build | xargs ctr -n k8s.io images rm >/dev/null
kill "$pid"; wait "$pid" || true
"""
_PACKET_FILTERS = ("xtables-nft-multi", "xtables-legacy-multi", "nft", "conntrack")
_COMMIT_S = 600.0


def add_images(
    engine: Engine, name: str, *, root: Path, programs: Mapping[str, Path], work: Path
) -> None:
    """Import a node's root file system, put the images into its containerd, commit it as `name`."""
    built = {image: f"{_LOCAL}/{program_of(image)}:1" for image in _image_names(programs, root)}
    container = f"{_LOCAL}-{name.rpartition(':')[2]}"
    _forget(engine, container)
    try:
        for local in sorted(set(built.values())):
            _one_program(engine, local, root=root, programs=programs, work=work)
        import_directory(engine, f"{_LOCAL}/root:1", root, changes=["ENV container=docker"])
        # `import` knows no STOPSIGNAL, but `commit` keeps that of the container.
        settings = ["--stop-signal", "SIGRTMIN+3", "--network", "none", "--entrypoint", "sleep"]
        unconfined = ["--security-opt", "seccomp=unconfined"]
        engine.run(
            *("run", "--detach", "--name", container, *settings, *unconfined),
            *(f"{_LOCAL}/root:1", "infinity"),
        )
        # One shell for all of it: `sleep` as process 1 reaps no children, so that a containerd
        # that had ended would look alive for ever.
        pairs = [word for image, local in built.items() for word in (f"docker.io/{local}", image)]
        engine.pipe_into(
            ["docker", "save", *sorted(set(built.values()))],
            *("exec", "--interactive", container, "bash", "-euc", _IMPORT, "-", *pairs),
        )
        engine.run(
            *("commit", "--change", 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]'),
            *("--change", "CMD []", container, name),
            timeout_s=_COMMIT_S,
        )
    finally:
        _forget(engine, container)


def program_of(image: str) -> str:
    """Return the program that an image is named after: registry.k8s.io/pause:3.10 has pause."""
    return image.rpartition("/")[2].partition(":")[0]


def _image_names(programs: Mapping[str, Path], root: Path) -> list[str]:
    """Return the names by which kubeadm and containerd will ask."""
    version = f"--kubernetes-version=v{KUBERNETES_VERSION}"
    names = call([programs["kubeadm"], "config", "images", "list", version]).split()
    settings = (root / "etc/containerd/config.toml").read_text()
    return [*names, *re.findall(r'sandbox_image = "(.+)"', settings)]


def _one_program(
    engine: Engine, local: str, *, root: Path, programs: Mapping[str, Path], work: Path
) -> None:
    name = program_of(local)
    directory = work / name
    (directory / "tmp").mkdir(parents=True)
    # Where kubeadm's manifests name a path, it is one of these two.
    path = "coredns" if name == "coredns" else f"usr/local/bin/{name}"
    place(programs[name], directory / path)
    if name == "kube-proxy":
        _add_packet_filters(root, directory)
    import_directory(engine, local, directory, changes=[f'ENTRYPOINT ["/{path}"]'])
    shutil.rmtree(directory)


def _add_packet_filters(root: Path, directory: Path) -> None:
    """Add what kube-proxy calls and the extensions that it opens, with the libraries of both."""
    extensions = sorted(root.glob("usr/lib/*/xtables/*.so"))
    files = [f"usr/sbin/{name}" for name in _PACKET_FILTERS]
    files += [str(path.relative_to(root)) for path in extensions]
    copy_with_libraries(root, directory, files)
    patterns = ("usr/sbin/ip*tables*", "etc/alternatives/ip*tables*")
    for path in (found for pattern in patterns for found in sorted(root.glob(pattern))):
        target = directory / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target, follow_symlinks=False)
    (directory / "run").mkdir()


def _forget(engine: Engine, container: str) -> None:
    """Remove what a build, finished or not, leaves in Docker beside the node image."""
    engine.remove_containers(engine.containers(f"name=^{container}$"))
    format_ = "{{.Repository}}:{{.Tag}}"
    names = engine.run("image", "ls", "--format", format_, f"{_LOCAL}/*").split()
    if names:
        engine.run("image", "rm", "--force", *names)
