"""A fake of Docker, kind and kubectl: containers with states, and delays as scripts set them.

Nodes do what their scripts say: a rule with a queue delays packets to its destinations by what the
queue's settings say. `deaf` nodes take scripts and do nothing.
"""

import json
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from types import SimpleNamespace

import pytest

from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.errors import CommandFailed
from thalweg_testbed.kind import cluster as cluster_module
from thalweg_testbed.kind import lifetime as lifetime_module
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.lifetime import Clusters
from thalweg_testbed.kind.shape import CONTROL_DOMAIN
from thalweg_testbed.nodes import ZONE_LABEL

_LABEL = "label=io.x-k8s.kind.cluster"


class FakeDocker(Engine):
    """Containers by name; every command is noted."""

    def __init__(self, host: str = "") -> None:
        super().__init__(host=host)
        self.states: dict[str, str] = {}
        """running, paused, exited; in the order of their making."""
        self.clusters: dict[str, str] = {}
        self.domains: dict[str, str] = {}
        self.asked: list[tuple[str, ...]] = []
        self.detected = "nfqueue\n"
        """What the script that looks for netem prints; it fails if this begins with `error`."""
        self.deaf: set[str] = set()
        self.unready: set[str] = set()
        """Nodes that run, but that the control plane does not hear."""
        self._delays: dict[str, dict[IPv4Network, float]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        """The real one is frozen."""
        object.__setattr__(self, name, value)

    def forget(self) -> None:
        """Let all nodes lose their rules, and not hear of others."""
        self._delays.clear()
        self.deaf.update(self.states)

    def make(self, cluster: str, domains: Sequence[str]) -> None:
        """Have the nodes of a cluster, the control plane's first."""
        names = [f"{cluster}-control-plane", f"{cluster}-worker"]
        names += [f"{cluster}-worker{number}" for number in range(2, len(domains) + 1)]
        for name, domain in zip(names, (CONTROL_DOMAIN, *domains), strict=False):
            self.states[name] = "running"
            self.clusters[name] = cluster
            self.domains[name] = domain

    def verbs(self) -> list[str]:
        """Return what was asked, without its words."""
        return [words[0] for words in self.asked]

    def run(
        self,
        *arguments: str,
        stdin: str | None = None,
        timeout_s: float = 300.0,  # noqa: ARG002 - the real one has it
    ) -> str:
        """Answer as `docker` would."""
        self.asked.append(arguments)
        verb, *words = arguments
        if verb == "ps":
            return self._listed(words)
        if verb == "image":
            return ""
        if verb == "rm":
            for name in words:
                self.states.pop(name, None)
            return ""
        if verb == "exec":
            return self._executed(words, stdin or "")
        changes = {"pause": "paused", "unpause": "running", "kill": "exited", "start": "running"}
        if verb in changes:
            self._present(words[-1])
            self.states[words[-1]] = changes[verb]
        if verb == "inspect":
            return self._present(words[-1])
        return ""

    def _present(self, name: str) -> str:
        if name not in self.states:
            raise CommandFailed(f"docker: no such container: {name}")
        return self.states[name]

    def _listed(self, words: Sequence[str]) -> str:
        filters = [word.split("=") for word in words if "=" in word]
        wanted = {one[-1] for one in filters if one[0] == "label" and len(one) == 3}
        is_running = ["status", "running"] in filters
        format_ = words[words.index("--format") + 1]
        return "\n".join(
            f"{name} {self.clusters[name]}" if ".Label" in format_ else name
            for name, state in self.states.items()
            if (not wanted or self.clusters[name] in wanted)
            and (state == "running" or not is_running)
        )

    def _executed(self, words: Sequence[str], script: str) -> str:
        name = next(word for word in words if not word.startswith("--"))
        if self._present(name) != "running":
            raise CommandFailed(f"docker exec {name}: the container is {self.states[name]}")
        if "netem delay 1ms" in script:
            if self.detected.startswith("error"):
                raise CommandFailed(self.detected)
            return self.detected
        if "THALWEG-LATENCY" in script and name not in self.deaf:
            self._delays[name] = dict(_delays(script))
        return self._probed(name, words) if "probe" in words else "active"

    def _probed(self, name: str, words: Sequence[str]) -> str:
        options = dict(zip(words[3::2], words[4::2], strict=False))
        targets = words[words.index("-patience") + 2 :]
        count = int(options["-count"])
        answers = []
        for target in targets:
            other = next(
                n
                for n in self.states
                if IPv4Address(target) in _pods(n, self) or target == _at(n, self)
            )
            alive = count * (self.states[other] == "running")
            forward = [self._delay(name, target)] * alive
            backward = [self._delay(other, options["-from"])] * alive
            answers.append(
                {"target": target, "sent": count, "forward_s": forward, "backward_s": backward}
            )
        return json.dumps(answers)

    def _delay(self, name: str, target: str) -> float:
        found = self._delays.get(name, {})
        return next((s for net, s in found.items() if IPv4Address(target) in net), 0.0)


def _delays(script: str) -> Iterator[tuple[IPv4Network, float]]:
    settings = json.loads(next(x for x in script.splitlines() if x.startswith('{"address"')))
    queues = {queue["number"]: queue["delay_us"] / 1e6 for queue in settings["queues"]}
    for line in script.splitlines():
        if line.startswith("-A THALWEG-LATENCY"):
            words = line.split()
            number = int(words[words.index("--queue-num") + 1])
            yield IPv4Network(words[words.index("-d") + 1]), queues[number]


def _number(name: str, docker: FakeDocker) -> int:
    return list(docker.domains).index(name) + 1


def _at(name: str, docker: FakeDocker) -> str:
    return f"172.18.0.{_number(name, docker)}"


def _pods(name: str, docker: FakeDocker) -> IPv4Network:
    return IPv4Network(f"10.244.{_number(name, docker)}.0/24")


def _node(name: str, docker: FakeDocker) -> dict[str, object]:
    domain = docker.domains[name]
    is_ready = str(docker.states[name] == "running" and name not in docker.unready)
    return {
        "metadata": {
            "name": name,
            "labels": {} if domain == CONTROL_DOMAIN else {ZONE_LABEL: domain},
        },
        "spec": {"podCIDR": str(_pods(name, docker))},
        "status": {
            "addresses": [{"type": "InternalIP", "address": _at(name, docker)}],
            "conditions": [{"type": "Ready", "status": is_ready}],
        },
    }


def _kubectl(self: KindCluster, *arguments: str, **_: object) -> str:
    docker = self.engine
    assert isinstance(docker, FakeDocker)
    assert arguments[:2] == ("get", "nodes")
    own = [name for name in docker.states if docker.clusters[name] == self.name]
    return json.dumps({"items": [_node(name, docker) for name in own]})


def _kind(self: Clusters, *arguments: str) -> str:
    docker = self.engine
    assert isinstance(docker, FakeDocker)
    words = list(arguments)
    configuration = json.loads(Path(words[words.index("--config") + 1]).read_text())
    zones = [node["labels"][ZONE_LABEL] for node in configuration["nodes"][1:]]
    docker.make(words[words.index("--name") + 1], zones)
    return ""


def use_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clusters be made of a FakeDocker's containers, by no program at all."""

    def find(programs: Sequence[object], **_: object) -> dict[str, Path]:
        return {str(getattr(one, "name", "")): Path("/no/program") for one in programs}

    monkeypatch.setattr(lifetime_module, "find_binaries", find)
    monkeypatch.setattr(cluster_module, "find_binaries", find)
    monkeypatch.setattr(lifetime_module, "find_node_image", lambda *_, **__: "node:1")
    monkeypatch.setattr(lifetime_module, "raise_limits", list)
    monkeypatch.setattr(KindCluster, "kubectl", _kubectl)
    monkeypatch.setattr(Clusters, "_kind", _kind)
    # Whoever measures again a second later finds the same here.
    still = SimpleNamespace(sleep=lambda _: None)
    monkeypatch.setattr("thalweg_testbed.kind.cluster.time", still)
