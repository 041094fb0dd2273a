"""A StreamVertex becomes a value once."""

import pytest

from thalweg_operator.api.fields import InvalidManifest
from thalweg_operator.api.vertex import StreamVertex, parse_vertex

SPEC = {"topology": "words", "vertex": "split", "replicas": 2, "min": 1, "max": 4}


def test_a_new_vertex_has_used_no_incarnation() -> None:
    assert parse_vertex({"spec": SPEC}) == StreamVertex(
        topology="words", vertex="split", replicas=2, min=1, max=4, next_incarnation=0
    )


def test_the_counter_is_read_from_the_status() -> None:
    assert parse_vertex({"spec": SPEC, "status": {"nextIncarnation": 7}}).next_incarnation == 7


@pytest.mark.parametrize("missing", sorted(SPEC))
def test_every_field_is_needed(missing: str) -> None:
    spec = {key: value for key, value in SPEC.items() if key != missing}
    with pytest.raises(InvalidManifest, match=rf"spec\.{missing} must be"):
        parse_vertex({"spec": spec})
