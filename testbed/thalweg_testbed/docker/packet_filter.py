"""What a Docker of ours changes in the machine's packet filter, and how it is undone.

Docker leaves its chains, a policy and IP forwarding behind when it ends. Where there was nothing of
Docker's before, there shall be nothing afterwards. What was there before is kept in a file, since
the daemon may be killed and only the next one end in peace.
"""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from thalweg_testbed.commands import call
from thalweg_testbed.errors import CommandFailed

__all__ = ["remember", "restore", "undoing"]

_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_BRIDGE = re.compile(r"\bbr-[0-9a-f]{12}\b")
_HAIRPIN = re.compile(r"-s (\S+)/32 -d \1/32 .*-j MASQUERADE")
_CHAIN = re.compile(r":(DOCKER\S*) ")
_POLICY = re.compile(r"^:FORWARD (\w+)", re.MULTILINE)


def remember(file: Path) -> None:
    """Write down what the machine has before a Docker of ours starts, once."""
    if file.exists():
        return
    saved = _saved()
    policy = _POLICY.search(saved)
    before = {
        "had_docker": _CHAIN.search(saved) is not None,
        "policy": policy[1] if policy else "ACCEPT",
        "forwarding": _FORWARDING.read_text().strip(),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(before))


def restore(file: Path) -> None:
    """Undo what Docker did since `remember`; where another Docker's chains were, leave all."""
    try:
        before = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return
    file.unlink()
    if before["had_docker"]:
        return
    present = {path.name for path in Path("/sys/class/net").iterdir()}
    script = undoing(_saved(), policy=before["policy"], interfaces=present)
    try:
        call(["iptables-restore", "--noflush"], stdin=script)
    except CommandFailed:
        # Somebody changed the rules between our two commands; they are harmless, and stay.
        return
    _FORWARDING.write_text(before["forwarding"])


def undoing(saved: str, *, policy: str, interfaces: Collection[str]) -> str:
    """Return what iptables-restore must do so that nothing of Docker's is left in `saved`."""
    lines: list[str] = []
    for table in re.findall(r"^\*.*?^COMMIT$", saved, re.MULTILINE | re.DOTALL):
        name, *rules, _ = table.splitlines()
        chains = [found[1] for line in rules if (found := _CHAIN.match(line))]
        lines += [name]
        if name == "*filter":
            lines += [f":FORWARD {policy} [0:0]"]
        lines += [f"-D {rule.removeprefix('-A ')}" for rule in _dockers(rules, interfaces)]
        lines += [f"-F {chain}" for chain in chains] + [f"-X {chain}" for chain in chains]
        lines += ["COMMIT"]
    return "\n".join(lines) + "\n"


def _dockers(rules: list[str], interfaces: Collection[str]) -> Iterator[str]:
    """Return the rules in others' chains that Docker wrote and that lead nowhere any more."""
    for rule in rules:
        if not rule.startswith("-A ") or rule.startswith("-A DOCKER"):
            continue
        bridges = _BRIDGE.findall(rule)
        is_dangling = bool(bridges) and not set(bridges) & set(interfaces)
        if " -j DOCKER" in rule or is_dangling or _HAIRPIN.search(rule):
            yield rule


def _saved() -> str:
    return call(["iptables-save"])
