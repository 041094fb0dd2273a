"""What whoever runs the operator can set.

A YAML file has the names of the fields below, nested as they are. Each `--set lease.duration_s=30`
of the command line goes over the file. What belongs to one workload is in its StreamTopology.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import yaml

from thalweg_operator.errors import InvalidSettings
from thalweg_operator.parsing import parse_settings, put


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Who leads, and how soon another replica may."""

    name: str = "thalweg"
    """The Lease object's name. One operator leads a cluster, so every installation shares it."""

    namespace: str = ""
    """Its namespace. Empty: the operator's own pod's, or `default` outside a cluster."""

    duration_s: float = 15.0
    """A replica may take a Lease that it has seen unchanged this long; the usual default."""

    renew_deadline_s: float = 10.0
    """The leader stops writing this long after it last began a renewal that succeeded."""

    retry_s: float = 2.0
    """Pause between attempts to take or renew; a few must fit into the renew deadline."""

    margin_s: float = 1.0
    """A write needs at least this much left before the renew deadline, for its own way there."""

    def __post_init__(self) -> None:
        """Refuse times with which two replicas could lead at once."""
        if not 0 < self.retry_s < self.renew_deadline_s < self.duration_s:
            raise InvalidSettings(
                "lease: retry_s < renew_deadline_s < duration_s must hold, all above 0; "
                f"got {self.retry_s}, {self.renew_deadline_s}, {self.duration_s}"
            )
        if not 0 <= self.margin_s <= self.renew_deadline_s / 2:
            raise InvalidSettings("lease: margin_s must be between 0 and half of renew_deadline_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSettings:
    """Where probes and metrics are answered."""

    host: str = "0.0.0.0"  # noqa: S104
    """Address to listen on; the kubelet and Prometheus come from other addresses."""

    port: int = 8080
    """TCP port; 0 takes any free one and logs it."""

    def __post_init__(self) -> None:
        """Refuse what is no port."""
        if not 0 <= self.port <= 65535:
            raise InvalidSettings(f"serving: port must be between 0 and 65535; got {self.port}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSource:
    """A Prometheus that topologies may name in `metrics.source`. Tenants never write URLs."""

    url: str
    """Base address of its HTTP API, such as `http://prometheus.monitoring:9090`."""

    token_file: str = ""
    """A file with a bearer token, read anew for each request. Empty: none is sent."""

    ca_file: str = ""
    """Certificates to trust. Empty: the system's."""

    timeout_s: float = 20.0
    """Longest wait for one answer; above Prometheus' own usual query time."""

    def __post_init__(self) -> None:
        """Refuse what is no HTTP address."""
        if not self.url.startswith(("http://", "https://")):
            raise InvalidSettings(
                f"metrics source: url must be http:// or https://; got {self.url!r}"
            )
        if self.timeout_s <= 0:
            raise InvalidSettings("metrics source: timeout_s must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class CondenseSettings:
    """How measurements become matrices."""

    folder: str = "/var/lib/thalweg"
    """Where the matrix store is kept. Lost, it is made anew; kept, it is history."""

    engine: str = "numpy"
    """What condenses: `numpy` or `spark`."""

    interval_s: float = 15.0
    """Pause between the starts of two runs; as often as a pass may act on what they find."""

    timeout_s: float = 60.0
    """A run that takes longer is ended."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.engine not in ("numpy", "spark"):
            raise InvalidSettings(f"condense: engine must be numpy or spark; got {self.engine!r}")
        if self.interval_s <= 0 or self.timeout_s <= 0:
            raise InvalidSettings("condense: interval_s and timeout_s must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that the operator can be told."""

    pass_interval_s: float = 15.0
    """Longest pause between two passes; a change in the cluster starts one sooner."""

    debounce_s: float = 0.5
    """Pause between a change and the pass it starts, so that a burst of events is one pass."""

    stalled_after_passes: int = 8
    """Liveness fails when no pass ended well for this many intervals: two minutes by default,
    longer than an API server takes to restart."""

    namespaces: tuple[str, ...] = ()
    """Namespaces whose topologies are served; empty: all. Capacity is the whole cluster's."""

    lease: LeaseSettings = field(default_factory=LeaseSettings)
    """Who leads."""

    serving: ServingSettings = field(default_factory=ServingSettings)
    """Probes and metrics."""

    domain_label: str = "topology.kubernetes.io/zone"
    """The node label whose values are the domains, unless a topology names another."""

    replace_after_not_ready_s: float = 30.0
    """A task on a node that is NotReady this long gets a new pod, whether the old one is gone or
    not: shorter than the 300 s of Kubernetes, longer than a kubelet's restart."""

    retire_grace_s: float = 60.0
    """A replaced pod is ended this long after its routes changed even if a sender still uses it."""

    unschedulable_after_s: float = 15.0
    """A pod that kube-scheduler could not bind for this long is planned anew."""

    surge_per_vertex: int = 1
    """Tasks of one vertex that may have an extra pod at a time while they roll or move."""

    placement_interval_s: float = 60.0
    """Pause between two looks for a better placement of one topology: that search costs up to half
    a second of CPU, and what it goes by changes in minutes."""

    metrics_sources: Mapping[str, MetricsSource] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Prometheus servers by the name that topologies use; without any, nothing is measured."""

    condense: CondenseSettings = field(default_factory=CondenseSettings)
    """How measurements become matrices."""

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        for name in ("pass_interval_s", "replace_after_not_ready_s", "unschedulable_after_s"):
            if getattr(self, name) <= 0:
                raise InvalidSettings(f"{name} must be above 0; got {getattr(self, name)}")
        for name in ("debounce_s", "retire_grace_s", "placement_interval_s"):
            if getattr(self, name) < 0:
                raise InvalidSettings(f"{name} must not be negative; got {getattr(self, name)}")
        for name in ("stalled_after_passes", "surge_per_vertex"):
            if getattr(self, name) < 1:
                raise InvalidSettings(f"{name} must be at least 1; got {getattr(self, name)}")

    @property
    def stalled_after_s(self) -> float:
        """How old the last good pass may be."""
        return self.pass_interval_s * self.stalled_after_passes


def load_settings(file: Path | None = None, overrides: Mapping[str, str] | None = None) -> Settings:
    """Read the file, put `overrides` (dotted name to YAML text) over it, check everything."""
    values = {} if file is None else _read(file)
    for name, text in (overrides or {}).items():
        try:
            put(values, name, yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise InvalidSettings(f"{name}: {text!r} is not YAML: {error}") from error
    return parse_settings(Settings, values)


def _read(file: Path) -> dict[str, object]:
    try:
        values = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidSettings(f"cannot read the settings file {file}: {error}") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InvalidSettings(f"the settings file {file} must hold a mapping of names to values")
    return values
