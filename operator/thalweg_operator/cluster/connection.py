"""Where the API server is and who we are there.

Credentials come from the official client's loaders, which know kubeconfig files, exec plugins and
service accounts whose token is renewed on disk. Its generated API classes are not imported: they
would take more memory than the whole operator.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from thalweg_operator.errors import InvalidSettings

_POOL_CONNECTIONS = 12
"""The loop writes eight at a time unless told otherwise; the elector and reads need the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """An API server and the credentials for it; `pool` is shared and safe for threads."""

    configuration: Configuration
    pool: urllib3.PoolManager
    user_agent: str

    @property
    def url(self) -> str:
        """The server's address, without a slash at its end."""
        return str(self.configuration.host).rstrip("/")

    @property
    def proxy_url(self) -> str | None:
        """The proxy on the way there, if there is one."""
        through_proxy = isinstance(self.pool, urllib3.ProxyManager)
        return str(self.configuration.proxy) if through_proxy else None

    def headers(self) -> Mapping[str, str]:
        """Return the headers of the next request; a token near its end is read anew."""
        headers = {"Accept": "application/json", "User-Agent": self.user_agent}
        token = self.configuration.auth_settings().get("BearerToken")
        if token and token["value"]:
            headers["Authorization"] = token["value"]
        elif self.configuration.username:
            basic = f"{self.configuration.username}:{self.configuration.password or ''}"
            headers.update(urllib3.make_headers(basic_auth=basic))
        return headers


def connect(
    kubeconfig: Path | str | None = None, *, context: str | None = None, user_agent: str = "thalweg"
) -> Connection:
    """Connect by the file given, else as a pod's service account, else by the user's kubeconfig."""
    configuration = Configuration()
    in_cluster = kubeconfig is None and context is None and "KUBERNETES_SERVICE_HOST" in os.environ
    try:
        if in_cluster:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            load_kube_config(  # type: ignore[no-untyped-call]
                config_file=str(kubeconfig) if kubeconfig else None,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
    except (ConfigException, OSError) as error:
        where = "the pod's service account" if in_cluster else f"{kubeconfig or 'the kubeconfig'}"
        raise InvalidSettings(f"cannot connect to a cluster by {where}: {error}") from error
    configuration.connection_pool_maxsize = _POOL_CONNECTIONS
    pool = RESTClientObject(configuration).pool_manager
    return Connection(configuration=configuration, pool=pool, user_agent=user_agent)
