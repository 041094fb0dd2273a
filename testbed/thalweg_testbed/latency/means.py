"""How a node is told to hold packets back: by the kernel's netem, or by a queue of our own.

Both sort packets by their destination with the same chain of packet filter rules. Behind it is
either a netem queue of the kernel for each class, or an NFQUEUE that the program `latency serve`
holds (testbed/go/latency). Everything here returns text; nothing is run.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.links import Link, Links

__all__ = ["PORT", "Means", "TrafficClass", "classes_for", "detection_script", "latency_script"]

PORT = 4797
"""Where `latency serve` answers probes, on every node."""

PROGRAM = "/usr/local/bin/thalweg-latency"
_SETTINGS = "/etc/thalweg-latency.json"
_UNIT = "thalweg-latency.service"
_CHAIN = "THALWEG-LATENCY"
_LIMIT_PACKETS = 100_000
_RATE = "100gbit"
"""More than any link between containers carries: the classes are there to sort, not to slow."""

_NO_NETEM = (
    "qdisc kind is unknown",
    "qdisc not found",
    "RTNETLINK answers: No such file",
    "RTNETLINK answers: Operation not supported",
)
"""How kernels, new and old, say that they lack netem, the last that they sort no traffic at all."""

_UNIT_TEXT = f"""\
[Unit]
Description=Latency between domains, and answers to probes
[Service]
ExecStart={PROGRAM} serve {_SETTINGS}
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=200ms
Nice=-10
"""


class Means(StrEnum):
    """What holds packets back."""

    NETEM = "netem"
    QUEUE = "nfqueue"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficClass:
    """What one node sends to one other domain."""

    number: int
    domain: str
    link: Link
    destinations: tuple[str, ...]


def classes_for(node: Node, nodes: Sequence[Node], links: Links) -> tuple[TrafficClass, ...]:
    """Return what a node must hold back: towards each other domain, its pods and its nodes.

    Numbers depend on the domains alone, so that a class keeps its queue when others come or go.
    """
    others = sorted({other.domain for other in nodes} - {node.domain})
    return tuple(
        TrafficClass(
            number=number,
            domain=domain,
            link=links.between(node.domain, domain),
            destinations=tuple(
                place
                for other in nodes
                if other.domain == domain
                for place in (str(other.pods), f"{other.address}/32")
            ),
        )
        for number, domain in enumerate(others, start=1)
        if not links.between(node.domain, domain).is_plain
    )


def detection_script() -> str:
    """Return a script that prints which means the kernel has; it leaves nothing behind.

    Only the kernel's own word speaks against netem: any other failure is one, and is not hidden.
    """
    unknown = "|".join(f'*"{words}"*' for words in _NO_NETEM)
    return "\n".join(
        [
            # Not `add`: what a run that was killed here left would look like another error.
            "if answer=$(tc qdisc replace dev lo root handle 7e: netem delay 1ms 2>&1); then",
            # Another process may have tried at the same time, and removed it already.
            "tc qdisc del dev lo root handle 7e: 2>/dev/null || true",
            f"echo {Means.NETEM}",
            'else case "$answer" in',
            f"{unknown}) echo {Means.QUEUE} ;;",
            '*) echo "$answer" >&2; exit 1 ;;',
            "esac; fi",
            "",
        ]
    )


def latency_script(classes: Sequence[TrafficClass], means: Means) -> str:
    """Return the script that makes a node hold back exactly these classes."""
    queues = classes if means is Means.QUEUE else ()
    settings = {"address": f"0.0.0.0:{PORT}", "queues": [_queue(one) for one in queues]}
    return "\n".join(
        [
            *_put(f"/etc/systemd/system/{_UNIT}", _UNIT_TEXT),
            *_put(_SETTINGS, json.dumps(settings) + "\n"),
            "systemctl daemon-reload",
            f"systemctl reload-or-restart {_UNIT}",
            *(_netem(classes) if means is Means.NETEM else ()),
            *_rules(classes, means),
            "",
        ]
    )


def _queue(one: TrafficClass) -> dict[str, object]:
    link = one.link
    return {
        "number": one.number,
        "delay_us": round(link.latency_s * 1e6),
        "jitter_us": round(link.jitter_s * 1e6),
        "loss": link.loss,
    }


def _rules(classes: Sequence[TrafficClass], means: Means) -> list[str]:
    """Replace the chain in one step: no packet meets half of it."""
    lines = ["*mangle", f":{_CHAIN} - [0:0]"]
    for one in classes:
        # Without its program, a queue lets packets pass instead of losing them.
        target = (
            f"NFQUEUE --queue-num {one.number} --queue-bypass"
            if means is Means.QUEUE
            else f"CLASSIFY --set-class 1:{one.number:x}"
        )
        lines += [f"-A {_CHAIN} -d {place} -j {target}" for place in one.destinations]
    jump = f"POSTROUTING -j {_CHAIN}"
    return [
        *("iptables-restore -w --noflush <<'END'", *lines, "COMMIT", "END"),
        f"iptables -w -t mangle -C {jump} 2>/dev/null || iptables -w -t mangle -A {jump}",
    ]


def _netem(classes: Sequence[TrafficClass]) -> list[str]:
    """One class for each domain below one root. What is already there is changed, not remade."""
    # Packets of no class pass the root directly.
    root = "tc qdisc add dev eth0 root handle 1: htb"
    lines = [f"tc qdisc show dev eth0 | grep -q 'qdisc htb 1:' || {root}"]
    for one in classes:
        link, minor = one.link, f"{one.number:x}"
        options = f"delay {round(link.latency_s * 1e6)}us"
        options += f" {round(link.jitter_s * 1e6)}us" if link.jitter_s else ""
        options += f" loss {link.loss * 100:g}%" if link.loss else ""
        parent = f"dev eth0 parent 1:{minor} handle {one.number + 0x10:x}:"
        lines += [
            f"tc class replace dev eth0 parent 1: classid 1:{minor} htb rate {_RATE}",
            f"tc qdisc replace {parent} netem {options} limit {_LIMIT_PACKETS}",
        ]
    return lines


def _put(path: str, text: str) -> list[str]:
    return [f"cat >{path} <<'END'", text.rstrip("\n"), "END"]
