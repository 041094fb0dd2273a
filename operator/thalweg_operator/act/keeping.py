"""Making an object what it should be: create it, change it, or leave it alone."""

from collections.abc import Mapping
from typing import Any

from thalweg_operator.act.agreeing import agrees
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import Object, Resource
from thalweg_operator.errors import AlreadyExists, NameTaken
from thalweg_operator.observe.world import controller_uid


def keep(
    client: Client,
    resource: Resource,
    wanted: Mapping[str, Any],
    found: Object | None,
    *,
    look_first: bool = False,
) -> Object:
    """Have the object as wanted, by server-side apply where it exists and differs.

    Conflict if it has changed since it was found: whoever applies late applies nothing.
    """
    there = found
    if there is None:
        there = create_owned(client, resource, wanted, look_first=look_first)
    if agrees(wanted, there):
        return there
    metadata = there["metadata"]
    return client.apply(
        resource, wanted, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
    )


def create_owned(
    client: Client, resource: Resource, wanted: Mapping[str, Any], *, look_first: bool = False
) -> Object:
    """Create; if one of ours is there already, that one; somebody else's is not touched.

    `look_first` where the name may be taken: a write that is bound to fail is not made at every
    turn.
    """
    metadata = wanted["metadata"]
    there = client.get(resource, metadata["namespace"], metadata["name"]) if look_first else None
    if there is None:
        try:
            return client.create(resource, wanted)
        except AlreadyExists:
            there = client.get(resource, metadata["namespace"], metadata["name"])
    if there is not None and controller_uid(there) == controller_uid(wanted):
        return there
    raise NameTaken(_whose(resource, metadata["name"], there))


def _whose(resource: Resource, name: str, there: Object | None) -> str:
    if there is None or there["metadata"].get("deletionTimestamp"):
        return f"{resource.kind} {name} of an earlier topology is still being deleted"
    return (
        f"{resource.kind} {name} belongs to somebody else; rename the topology or the vertex, or "
        f"delete that {resource.kind}"
    )
