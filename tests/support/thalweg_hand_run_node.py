"""A node whose kubelet is the test itself."""

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from thalweg_operator.cluster.resources import NODES, PODS
from thalweg_stories import STORY_LABEL, Story
from thalweg_testbed import eventually
from thalweg_testbed.nodes import node_manifest
from thalweg_testbed.servers import KWOK_LABEL


class HandRunNode:
    """A Ready node that nobody simulates: its pods become ready when the story says so."""

    def __init__(self, story: Story, name: str, *, is_here: bool = True) -> None:
        """Add the node; `is_here` says whether `Story.here` selects it."""
        self._story = story
        self.name = f"{story.namespace}-{name}"
        manifest: dict[str, Any] = node_manifest(
            self.name,
            number=240,
            domain=self.name,
            capacity={"cpu": "4", "memory": "16Gi", "pods": "110"},
            labels={STORY_LABEL: story.namespace} if is_here else {},
        )
        del manifest["metadata"]["labels"][KWOK_LABEL]
        story.user.create(NODES, manifest)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=self.name, daemon=True)

    def __enter__(self) -> "HandRunNode":
        self._thread.start()
        eventually(lambda: self.name in self._story.cluster.ready_nodes(), what=self.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for pod in self._story.user.list(PODS, fields=f"spec.nodeName={self.name}"):
            self.finish(pod)
        self._story.cluster.remove_nodes(self.name)

    def start(self, pod: Mapping[str, Any], address: str) -> None:
        """Make a pod ready."""
        self._story.set_pod_status(
            pod,
            {
                "phase": "Running",
                "podIP": address,
                "podIPs": [{"ip": address}],
                "conditions": [
                    {"type": kind, "status": "True"} for kind in ("Ready", "PodScheduled")
                ],
            },
        )

    def finish(self, pod: Mapping[str, Any]) -> None:
        """Take a pod away, as a kubelet does when its containers have ended."""
        metadata = pod["metadata"]
        self._story.user.delete(
            PODS, metadata["namespace"], metadata["name"], uid=metadata["uid"], grace_s=0
        )

    def _beat(self) -> None:
        """Renew the heartbeat well within the grace that the controller manager gives."""
        while not self._ended.is_set():
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            ready = {
                "type": "Ready",
                "status": "True",
                "reason": "ByHand",
                "lastHeartbeatTime": now,
            }
            self._story.user.merge(
                NODES, None, self.name, {"status": {"conditions": [ready]}}, subresource="status"
            )
            self._ended.wait(3.0)
