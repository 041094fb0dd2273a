"""A fake of the operator's client: one dict of objects that keeps the API server's promises.

Names are unique, a uid or resourceVersion that does not match is a Conflict, a missing object is
NotFound. Every write is noted, also one that failed.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import Object, Resource
from thalweg_operator.errors import AlreadyExists, Conflict, NotFound, OperatorError

Key = tuple[str, str, str]


class FakeClient(Client):
    """Holds objects in memory. `refuse` makes the next writes of a verb fail."""

    def __init__(self, *objects: tuple[Resource, Mapping[str, Any]]) -> None:
        self.objects: dict[Key, Object] = {}
        self.writes: list[tuple[str, str, str]] = []
        """Verb, plural with subresource, and name, in order."""
        self.reads: list[str] = []
        self._failures: dict[str, list[OperatorError | None]] = {}
        self._version = 100
        for resource, body in objects:
            self.put(resource, body)

    def put(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Have an object, without a write."""
        self.objects[self._key(resource, body["metadata"])] = deepcopy(dict(body))

    def fail(self, verb: str, *answers: OperatorError | None) -> None:
        """Answer the next writes of a verb so; None lets one through."""
        self._failures[verb] = list(answers)

    def found(self, resource: Resource, namespace: str, name: str) -> Object:
        """The object as it is now."""
        return self.objects[(resource.plural, namespace, name)]

    def server_now_s(self) -> float | None:
        return None

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        self.reads.append(f"{resource.plural}/{name}")
        return deepcopy(self.objects.get((resource.plural, namespace or "", name)))

    def create(self, resource: Resource, body: Mapping[str, Any]) -> Object:
        metadata = dict(body["metadata"])
        metadata.setdefault("name", f"{metadata.get('generateName', '')}x{self._version}")
        self._note("create", resource, metadata["name"])
        key = self._key(resource, metadata)
        if key in self.objects:
            raise AlreadyExists(f"{metadata['name']} exists", status=409, reason="AlreadyExists")
        made = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            **deepcopy(dict(body)),
            "metadata": {"uid": f"made-{metadata['name']}", **metadata},
        }
        return self._store(key, made)

    def apply(
        self,
        resource: Resource,
        body: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        metadata = body["metadata"]
        there = self._checked("apply", resource, metadata, (uid, resource_version), subresource)
        return self._store(self._key(resource, metadata), _merged(there, body))

    def merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        metadata = {"namespace": namespace, "name": name}
        there = self._checked("merge", resource, metadata, (uid, resource_version), subresource)
        return self._store(self._key(resource, metadata), _merged(there, patch))

    def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str,
        resource_version: str | None = None,
        grace_s: int | None = None,  # noqa: ARG002
    ) -> None:
        metadata = {"namespace": namespace, "name": name}
        try:
            self._checked("delete", resource, metadata, (uid, resource_version))
        except NotFound:
            return
        del self.objects[self._key(resource, metadata)]

    def _checked(
        self,
        verb: str,
        resource: Resource,
        metadata: Mapping[str, Any],
        pins: tuple[str | None, str | None],
        subresource: str = "",
    ) -> Object:
        self._note(verb, resource, metadata["name"], subresource)
        there = self.objects.get(self._key(resource, metadata))
        if there is None:
            raise NotFound(f"{metadata['name']} is not there", status=404)
        actual = (there["metadata"].get("uid"), there["metadata"].get("resourceVersion"))
        for wanted, found in zip(pins, actual, strict=True):
            if wanted is not None and wanted != found:
                raise Conflict(f"{metadata['name']} is another", status=409, reason="Conflict")
        return deepcopy(there)

    def _note(self, verb: str, resource: Resource, name: str, subresource: str = "") -> None:
        what = f"{resource.plural}/{subresource}" if subresource else resource.plural
        self.writes.append((verb, what, name))
        answers = self._failures.get(verb)
        answer = answers.pop(0) if answers else None
        if answer is not None:
            raise answer

    def _store(self, key: Key, body: Object) -> Object:
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        self.objects[key] = body
        return deepcopy(body)

    @staticmethod
    def _key(resource: Resource, metadata: Mapping[str, Any]) -> Key:
        return resource.plural, str(metadata.get("namespace") or ""), str(metadata["name"])


def _merged(before: Object, patch: Mapping[str, Any]) -> Object:
    """A merge patch; also near enough to server-side apply for objects that only we write."""
    after = dict(before)
    for key, value in patch.items():
        if isinstance(value, Mapping) and isinstance(after.get(key), Mapping):
            after[key] = _merged(after[key], value)
        else:
            after[key] = deepcopy(value)
    return after
