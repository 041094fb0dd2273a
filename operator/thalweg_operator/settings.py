"""What whoever runs the operator can set.

A YAML file has the names of the fields below, nested as they are. Each `--set lease.duration_s=30`
of the command line goes over the file. What belongs to one workload is in its StreamTopology.
"""

import re
import tomllib
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

    basic_file: str = ""
    """A file with `user:password`, read anew for each request. Empty: none is sent."""

    certificate_file: str = ""
    """A client certificate with its key, for mutual TLS. Empty: none."""

    tenant: str = ""
    """The tenant to ask Mimir or Thanos for, sent as their headers want it. Empty: none."""

    timeout_s: float = 20.0
    """Longest wait for one answer; above Prometheus' own usual query time."""

    most_series: int = 200_000
    """A query that answers with more series than this is refused."""

    most_mib: int = 64
    """An answer that is larger than this is refused before it is read."""

    def __post_init__(self) -> None:
        """Refuse what is no HTTP address."""
        if not self.url.startswith(("http://", "https://")):
            raise InvalidSettings(
                f"metrics source: url must be http:// or https://; got {self.url!r}"
            )
        for name in ("timeout_s", "most_series", "most_mib"):
            if getattr(self, name) <= 0:
                raise InvalidSettings(f"metrics source: {name} must be above 0")
        if self.token_file and self.basic_file:
            raise InvalidSettings("metrics source: give token_file or basic_file, not both")
        if not self.tenant.isprintable():
            raise InvalidSettings("metrics source: tenant must be one line of printable text")


_LEAST_NUMPY_BYTES = 256 * 2**20
"""Threads and their stacks come from this too."""
_PRESET_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""As the CRD has it."""
_ABOVE_ZERO = (
    *("interval_s", "timeout_s", "start_timeout_s", "recycle_passes", "keep_runs"),
    *("scaling_window_s", "placement_window_s", "spark_executors"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CondenseSettings:
    """How measurements become matrices."""

    folder: str = "/var/lib/thalweg"
    """Where the matrix store is kept. Lost, it is made anew; kept, it is history."""

    store: str = ""
    """Another place for the matrix store, such as `hdfs://…` or `s3://…`. Empty: in the folder."""

    keep_runs: int = 20
    """Runs that the matrix store keeps; a day's history by the default interval is 5760."""

    presets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Query presets of your own by the name that topologies use, each as TOML (docs/condensing.md).
    One that is called like one of ours goes before it."""

    engine: str = "spark"
    """What condenses: `spark`, or `numpy` where there is no Java. Numpy stands in for Spark."""

    interval_s: float = 15.0
    """Pause between the starts of two runs; as often as a pass may act on what they find."""

    timeout_s: float = 60.0
    """A run that takes longer is ended."""

    scaling_window_s: float = 30.0
    """How far back loads are measured: at least four scrapes. Shorter sees a change sooner."""

    placement_window_s: float = 300.0
    """How far back traffic and latencies are measured, and what is scraped seldom."""

    spark_master: str = "local[*]"
    """Where Spark runs: `local[*]`, `spark://…`, `k8s://…` or `sc://…` (Spark Connect). By the
    chart, `k8s://https://kubernetes.default.svc` makes its executors pods of the cluster."""

    spark_memory: str = "1g"
    """Heap of Spark's driver."""

    spark_executors: int = 2
    """Executors with `k8s://…`; as many as there are partitions to pull in."""

    spark_executor_memory: str = "512m"
    """Heap of each of them; its pod may use 512 MiB more."""

    spark_limit_bytes: int = 2 * 2**30
    """The Spark child is started anew when it holds more than this between two runs, and ended
    when it holds half as much again in the middle of one."""

    numpy_limit_bytes: int = 2**30
    """Most memory that samples may take in a numpy run; one that needs more ends and says so."""

    start_timeout_s: float = 180.0
    """A Spark that is not ready by then is ended; a loaded machine takes a minute."""

    recycle_passes: int = 2000
    """The Spark child is started anew after this many runs: eight hours of them."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.engine not in ("numpy", "spark"):
            raise InvalidSettings(f"condense: engine must be numpy or spark; got {self.engine!r}")
        for name in _ABOVE_ZERO:
            if getattr(self, name) <= 0:
                raise InvalidSettings(f"condense: {name} must be above 0")
        if self.numpy_limit_bytes < _LEAST_NUMPY_BYTES:
            raise InvalidSettings("condense: numpy_limit_bytes must be at least 256 MiB")
        if self.keep_runs < 2:
            raise InvalidSettings("condense: keep_runs must be at least 2: one is being read")
        for name, text in self.presets.items():
            _check_preset(name, text)


def _check_preset(name: str, text: str) -> None:
    """What can be said of a preset before it is used; the child knows what may be in it."""
    if not _PRESET_NAME.fullmatch(name) or "-with-" in name:
        raise InvalidSettings(
            f"condense.presets: {name!r} is no name: lower-case letters, digits and dashes, and no "
            "-with-, which joins two"
        )
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"condense.presets.{name}: this is not TOML: {error}") from error


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

    prove_after_s: float = 60.0
    """A plan is judged by what was measured this long after it was carried out: longer than the
    half minute that latencies are measured over."""

    writes_at_once: int = 8
    """Writes that do not depend on each other and may be under way together. Each waits for etcd's
    disk; more of them make a first start faster and load the API server more."""

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
        for name in ("debounce_s", "retire_grace_s", "placement_interval_s", "prove_after_s"):
            if getattr(self, name) < 0:
                raise InvalidSettings(f"{name} must not be negative; got {getattr(self, name)}")
        for name in ("stalled_after_passes", "surge_per_vertex", "writes_at_once"):
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
