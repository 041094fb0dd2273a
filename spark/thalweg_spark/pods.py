"""Executors as pods: what Spark is told where its master is a Kubernetes API server.

The driver stays in the process that asks (client mode): in a cluster, the operator's own pod. Its
chart says by the environment which pod that is and what executors run in. They belong to that pod
and go with it; those of a driver that was killed before it are removed when the next one starts.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from thalweg_spark.errors import InvalidInput, SparkUnavailable

SCHEME = "k8s://"
TEMPLATE = Path(__file__).with_name("executor.yaml")
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_DRIVER_LABEL = "thalweg.dev/spark-driver"
_LABEL_LENGTH = 63
_CPU_REQUEST = "100m"
"""Executors work for a second or two of every fifteen; a whole core each would stand idle."""
_BESIDE_HEAP = "512m"
"""Java's own memory and a Python worker with pyarrow: about 200 MB each."""
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    """How many pods there are, and how large each is."""

    count: int = 2
    memory: str = "512m"
    """Heap of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """Where executors run, and whose they are."""

    image: str
    namespace: str = "default"
    template: Path = TEMPLATE
    service_account: str = ""
    """Empty: what the template says, else the namespace's default. They ask the API for nothing."""
    driver_pod: str = ""
    """The pod that the driver is in. Empty outside a cluster: executors then belong to nobody."""
    driver_host: str = ""
    """Where executors reach the driver; empty: as Spark finds it."""


def pods_of(environment: Mapping[str, str]) -> Pods:
    """Read what the chart says; by hand, at least the image must be named."""
    image = environment.get("THALWEG_EXECUTOR_IMAGE", "")
    if not image:
        raise InvalidInput(
            "with a master k8s://… the environment must name the executors' image:"
            " THALWEG_EXECUTOR_IMAGE, an image made from Dockerfile.operator"
        )
    return Pods(
        image=image,
        namespace=environment.get("THALWEG_POD_NAMESPACE") or "default",
        template=Path(environment.get("THALWEG_EXECUTOR_TEMPLATE") or TEMPLATE),
        service_account=environment.get("THALWEG_EXECUTOR_ACCOUNT", ""),
        driver_pod=environment.get("THALWEG_POD_NAME", ""),
        driver_host=environment.get("THALWEG_POD_IP", ""),
    )


def pod_settings(pods: Pods, executors: Executors) -> dict[str, str]:
    """What Spark's Kubernetes scheduler is told; pods are all that it makes."""
    settings = {
        "spark.submit.deployMode": "client",
        # Whoever reaches the driver's port could otherwise have it run what they like.
        "spark.authenticate": "true",
        "spark.executor.instances": str(executors.count),
        "spark.executor.cores": "1",
        "spark.executor.memory": executors.memory,
        "spark.executor.memoryOverhead": _BESIDE_HEAP,
        "spark.executor.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError -XX:+UseSerialGC",
        "spark.kubernetes.namespace": pods.namespace,
        "spark.kubernetes.container.image": pods.image,
        "spark.kubernetes.executor.request.cores": _CPU_REQUEST,
        "spark.kubernetes.executor.podTemplateFile": str(pods.template),
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        "spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "false",
        # Executors get these settings from the driver: no ConfigMap, so no right to make one.
        "spark.kubernetes.executor.disableConfigMap": "true",
        # There is no service and no volume to delete, and no right to.
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
    }
    if pods.service_account:
        account = "spark.kubernetes.authenticate.executor.serviceAccountName"
        settings[account] = pods.service_account
    if pods.driver_host:
        settings["spark.driver.host"] = pods.driver_host
    if pods.driver_pod:
        settings["spark.kubernetes.driver.pod.name"] = pods.driver_pod
        settings[f"spark.kubernetes.executor.label.{_DRIVER_LABEL}"] = _label(pods.driver_pod)
    return settings


def remove_left_over(master: str, pods: Pods, *, account: Path = _ACCOUNT) -> None:
    """Delete the executors of drivers that were killed in this pod: their owner is still there."""
    if not pods.driver_pod:
        return
    ours = f"spark-role=executor,{_DRIVER_LABEL}={_label(pods.driver_pod)}"
    where = f"{master.removeprefix(SCHEME)}/api/v1/namespaces/{pods.namespace}/pods"
    try:
        token = (account / "token").read_text().strip()
        trusted = ssl.create_default_context(cafile=str(account / "ca.crt"))
        asked = Request(  # noqa: S310
            f"{where}?{urlencode({'labelSelector': ours})}",
            method="DELETE",
            headers={"Authorization": f"Bearer {token}"},
        )
        with urlopen(asked, timeout=_ANSWER_S, context=trusted):  # noqa: S310
            pass
    except HTTPError as error:
        raise SparkUnavailable(f"executors cannot be managed: {error}") from error
    except OSError as error:
        raise SparkUnavailable(f"the API server cannot be asked for pods: {error}") from error


def _label(pod: str) -> str:
    """A pod's name as the value of a label; what tells pods apart is at the end of it."""
    return pod[-_LABEL_LENGTH:].lstrip("-.")
