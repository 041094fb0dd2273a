"""Scripts that cut nodes off: by domain, or one node from everything. Pure."""

from collections.abc import Iterable, Sequence

from thalweg_testbed.latency.endpoints import Node

__all__ = ["partition_script", "silence_script", "voice_script"]

_CHAIN = "THALWEG-PARTITION"
_SILENT = "-m comment --comment thalweg-asleep -j DROP"
_ENDS = ("PREROUTING", "OUTPUT")


def partition_script(
    node: Node, nodes: Sequence[Node], partitions: Iterable[tuple[str, str]]
) -> str:
    """Return the script after which a node hears nothing from the domains it is cut off from.

    Each side drops what it receives: a sender sees its packets leave, as on a broken link.
    """
    cut = {b if a == node.domain else a for a, b in partitions if node.domain in (a, b)}
    sources = [
        place
        for other in nodes
        if other.domain in cut
        for place in (str(other.pods), f"{other.address}/32")
    ]
    jump = f"PREROUTING -j {_CHAIN}"
    return "\n".join(
        [
            *("iptables-restore -w --noflush <<'END'", "*raw", f":{_CHAIN} - [0:0]"),
            *(f"-A {_CHAIN} -s {source} -j DROP" for source in sources),
            *("COMMIT", "END"),
            f"iptables -w -t raw -C {jump} 2>/dev/null || iptables -w -t raw -A {jump}",
            "",
        ]
    )


def silence_script() -> str:
    """Return the script after which a node neither hears nor says anything.

    A paused container's kernel would still answer pings and accept connections for it.
    """
    return "".join(f"iptables -w -t raw -I {end} {_SILENT}\n" for end in _ENDS)


def voice_script() -> str:
    """Return the script that undoes `silence_script`, however often that was run."""
    return "".join(
        f"while iptables -w -t raw -D {end} {_SILENT} 2>/dev/null; do :; done\n" for end in _ENDS
    )
