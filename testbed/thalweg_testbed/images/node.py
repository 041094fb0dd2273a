"""The image of a node: kind's own where a registry gives it, else one made from packages.

What is made has Debian's containerd, runc and CNI plugins, the Kubernetes programs built from Go
modules, and the files that kind's module carries for its own images: it behaves as kindest/node
does. Its name ends with a key of everything that went into it.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from thalweg_testbed.binaries import (
    COREDNS,
    KUBERNETES_VERSION,
    NODE_PROGRAMS,
    PAUSE,
    RUNC_FRONT,
    SERVERS,
    Report,
    find_binaries,
    module_directory,
)
from thalweg_testbed.commands import call
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.host import Host
from thalweg_testbed.errors import CommandFailed
from thalweg_testbed.images import builtin
from thalweg_testbed.images.debian import debian_tar, scratch_directory, unpacked
from thalweg_testbed.images.registry import has_published
from thalweg_testbed.images.single import place

__all__ = ["PUBLISHED", "REPOSITORY", "find_node_image"]

PUBLISHED = "kindest/node:v1.34.0"
REPOSITORY = "thalweg-node"
_PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "procps", "util-linux", "mount", "kmod", "jq", "curl"),
    *("containerd", "runc", "containernetworking-plugins", "libseccomp2", "ca-certificates"),
    *("conntrack", "iptables", "nftables", "iproute2", "ethtool", "socat", "iputils-ping"),
)
_CLEARED = (
    "lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service",
    "lib/systemd/system/multi-user.target.wants/*",
    "lib/systemd/system/local-fs.target.wants/*",
    "lib/systemd/system/basic.target.wants/*",
    "lib/systemd/system/sockets.target.wants/*udev*",
    "lib/systemd/system/sockets.target.wants/*initctl*",
    "etc/systemd/system/*.wants/*",
)
"""What a container needs no unit for; the same list as in kind's own image."""

_STORAGE = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
"""


def find_node_image(engine: Engine, *, cache: Path, host: Host, report: Report) -> str:
    """Return the name of a node image that Docker has, pulling or making it if need be."""
    own = os.environ.get("THALWEG_NODE_IMAGE")
    if own:
        return own
    # Its runc gives privileged pods what such a machine does not have; only ours takes it out.
    why = "" if host.has_sys_resource else f"{PUBLISHED} needs CAP_SYS_RESOURCE, which is not here"
    if not why and has_published(engine, PUBLISHED, cache=cache, report=report):
        return PUBLISHED
    return _make(engine, cache=cache, host=host, report=report, why=why)


def _make(engine: Engine, *, cache: Path, host: Host, report: Report, why: str) -> str:
    programs = find_binaries(
        (*SERVERS, *NODE_PROGRAMS, COREDNS, PAUSE, RUNC_FRONT), assets=False, report=report
    )
    name = f"{REPOSITORY}:{_key(programs, host)}"
    if engine.has_image(name):
        return name
    if why:
        report(f"==> {why}: making a node image (or set THALWEG_NODE_IMAGE)")
    tar = debian_tar(_PACKAGES, cache=cache, host=host, report=report)
    report(f"==> making the node image {name} (about half a minute)")
    with unpacked(tar) as root, scratch_directory(tar.parent) as work:
        _fill(root, programs, host)
        builtin.add_images(engine, name, root=root, programs=programs, work=work)
    _remove_others(engine, name)
    return name


def _key(programs: Mapping[str, Path], host: Host) -> str:
    """Hash what decides the image: programs (their paths have keys), packages, this recipe."""
    digest = hashlib.sha256()
    words = [*_PACKAGES, *(str(p.parent.name) for p in programs.values())]
    digest.update("\0".join([*words, f"front={not host.has_sys_resource}"]).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name in {"builtin.py", "debian.py", "node.py", "single.py"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _remove_others(engine: Engine, name: str) -> None:
    """Remove node images of other keys, unless a cluster still uses them."""
    listing = engine.run("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", REPOSITORY)
    for other in set(listing.split()) - {name}:
        try:
            engine.run("image", "rm", other)
        except CommandFailed:
            continue


def _fill(root: Path, programs: Mapping[str, Path], host: Host) -> None:
    _copy_files_of_kind(root)
    _settle_containerd(root)
    if not host.has_sys_resource:
        (root / "usr/sbin/runc").rename(root / "usr/sbin/runc.real")
        place(programs[RUNC_FRONT.name], root / "usr/sbin/runc")
    _settle_systemd(root)
    for name in ("kubeadm", "kubelet", "kubectl"):
        place(programs[name], root / "usr/bin" / name)
    (root / "kind/version").write_text(f"v{KUBERNETES_VERSION}")
    (root / "etc/kubernetes/manifests").mkdir(parents=True, exist_ok=True)
    (root / "kind/manifests").mkdir(exist_ok=True)
    (root / "kind/manifests/default-storage.yaml").write_text(_STORAGE)


def _copy_files_of_kind(root: Path) -> None:
    """Files of Go's module cache are read-only and never executable."""
    source = module_directory("kind", "sigs.k8s.io/kind") / "images/base/files"
    for path in sorted(source.rglob("*")):
        target = root / path.relative_to(source)
        if path.is_dir():
            target.mkdir(exist_ok=True)
            continue
        shutil.copyfile(path, target)
        is_program = target.parent in {root / "usr/local/bin", root / "kind/bin"}
        target.chmod(0o755 if is_program else 0o644)


def _settle_containerd(root: Path) -> None:
    """Debian's containerd and CNI plugins, where kind's units and the kubelet look for them."""
    for name in ("containerd", "ctr"):
        (root / "usr/local/bin" / name).symlink_to(f"/usr/bin/{name}")
    shutil.copytree(root / "usr/lib/cni", root / "opt/cni/bin", dirs_exist_ok=True)
    (root / "etc/cni/net.d").mkdir(parents=True, exist_ok=True)
    configuration = root / "etc/containerd/config.toml"
    text = configuration.read_text()
    configuration.write_text(
        text.replace("restrict_oom_score_adj = false", "restrict_oom_score_adj = true")
    )
    spec = json.loads(call(["chroot", root, "ctr", "oci", "spec"]))
    hook = {"path": "/kind/bin/mount-product-files.sh"}
    spec.setdefault("hooks", {}).setdefault("createContainer", []).append(hook)
    spec["process"].pop("rlimits", None)
    (root / "etc/containerd/cri-base.json").write_text(json.dumps(spec))


def _settle_systemd(root: Path) -> None:
    for pattern in _CLEARED:
        for path in root.glob(pattern):
            path.unlink()
    with (root / "etc/systemd/journald.conf").open("a") as journal:
        journal.write("ReadKMsg=no\n")
    # After the clearing, which removes every unit that is enabled.
    units = ["kubelet.service", "containerd.service", "undo-mount-hacks.service"]
    call(["chroot", root, "systemctl", "enable", *units])
    call(["chroot", root, "systemctl", "mask", "systemd-binfmt.service"])
