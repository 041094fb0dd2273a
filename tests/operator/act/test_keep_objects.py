"""An object is made, changed or left alone; what is somebody else's is not touched."""

from typing import Any

import pytest

from thalweg_fake_client import FakeClient
from thalweg_operator.act.keeping import create_owned, keep
from thalweg_operator.act.structure import routes_manifest
from thalweg_operator.cluster.resources import CONFIG_MAPS
from thalweg_operator.errors import Conflict, NameTaken
from thalweg_operator_worlds import NAMESPACE, TOPOLOGY, owner

NAME = "word-count-split-routes"


def wanted(text: str = "one", *, uid: str = "uid-topology") -> dict[str, Any]:
    return routes_manifest(NAMESPACE, owner(uid=uid), TOPOLOGY, "split", text)


def there(text: str = "one", *, by: str = "uid-topology", **metadata: Any) -> dict[str, Any]:
    made = wanted(text, uid=by)
    made["metadata"] |= {"uid": "u1", "resourceVersion": "5", **metadata}
    return made


def test_made_where_there_is_none() -> None:
    client = FakeClient()
    made = keep(client, CONFIG_MAPS, wanted(), None)
    assert made["data"] == {"routes.json": "one"}
    assert client.writes == [("create", "configmaps", NAME)]


def test_left_alone_where_it_agrees() -> None:
    client = FakeClient()
    found = there() | {"data": {"routes.json": "one", "note": "by somebody else"}}
    assert keep(client, CONFIG_MAPS, wanted(), found) is found
    assert client.writes == []


@pytest.mark.parametrize(
    "spoilt",
    [there("two"), there(labels={}), there(ownerReferences=[])],
    ids=["content", "labels", "owner"],
)
def test_changed_where_it_differs(spoilt: dict[str, Any]) -> None:
    client = FakeClient((CONFIG_MAPS, spoilt))
    keep(client, CONFIG_MAPS, wanted(), spoilt)
    assert client.writes == [("apply", "configmaps", NAME)]
    now = client.found(CONFIG_MAPS, NAMESPACE, NAME)
    assert now["data"] == wanted()["data"]
    assert wanted()["metadata"]["labels"].items() <= now["metadata"]["labels"].items()


@pytest.mark.parametrize("changed", [{"resourceVersion": "6"}, {"uid": "u2"}])
def test_what_changed_since_it_was_found_is_not_changed(changed: dict[str, str]) -> None:
    client = FakeClient((CONFIG_MAPS, there("newer", **changed)))
    with pytest.raises(Conflict):
        keep(client, CONFIG_MAPS, wanted("two"), there("one"))
    assert client.found(CONFIG_MAPS, NAMESPACE, NAME)["data"] == {"routes.json": "newer"}


def test_ours_that_was_not_seen_is_set_right() -> None:
    """Somebody took our label away, so that no list shows it."""
    client = FakeClient((CONFIG_MAPS, there("two", labels={})))
    keep(client, CONFIG_MAPS, wanted("one"), None)
    assert client.writes == [("create", "configmaps", NAME), ("apply", "configmaps", NAME)]
    now = client.found(CONFIG_MAPS, NAMESPACE, NAME)
    assert now["data"] == {"routes.json": "one"}
    assert now["metadata"]["labels"] == wanted()["metadata"]["labels"]


def test_ours_that_was_made_a_moment_ago_is_taken() -> None:
    client = FakeClient((CONFIG_MAPS, there("two")))
    assert create_owned(client, CONFIG_MAPS, wanted("one"))["data"] == {"routes.json": "two"}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (there(by="uid-other"), "belongs to somebody else"),
        (there(ownerReferences=[]), "belongs to somebody else"),
        (there(by="uid-other", deletionTimestamp="2026-03-01T12:00:00Z"), "being deleted"),
    ],
)
def test_somebody_elses_is_not_touched(found: dict[str, Any], words: str) -> None:
    client = FakeClient((CONFIG_MAPS, found))
    with pytest.raises(NameTaken, match=words):
        keep(client, CONFIG_MAPS, wanted(), None)
    assert client.found(CONFIG_MAPS, NAMESPACE, NAME) == found


def test_a_name_that_was_taken_is_looked_at_before_it_is_written_to() -> None:
    client = FakeClient((CONFIG_MAPS, there(by="uid-other")))
    with pytest.raises(NameTaken, match="belongs to somebody else"):
        keep(client, CONFIG_MAPS, wanted(), None, look_first=True)
    assert client.writes == []
    free = FakeClient()
    keep(free, CONFIG_MAPS, wanted(), None, look_first=True)
    assert free.writes == [("create", "configmaps", NAME)]
