"""One story a test: its own namespace, its own operator, one control plane for all."""

from collections.abc import Iterator

import pytest

from thalweg_stories import Story
from thalweg_testbed import Cluster


@pytest.fixture
def story(control_plane: Cluster, namespace: str) -> Iterator[Story]:
    """A namespace with an operator that turns when told."""
    told = Story(control_plane, namespace)
    yield told
    told.close()
