"""What happens when tasks do not fit, or no longer fit where they were planned."""

import pytest

from thalweg_operator import naming
from thalweg_operator.cluster.resources import PODS, Object
from thalweg_stories import Story, chain, node_name, vertex

pytestmark = pytest.mark.control_plane


def _required_terms(pod: Object) -> list[dict[str, object]]:
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    terms: list[dict[str, object]] = affinity["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    return terms


def _foreign_pod(story: Story, name: str, node: str, cpu: str) -> dict[str, object]:
    """A pod that somebody put on a node past every scheduler."""
    container = {"name": "it", "image": "example.org/it", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": story.namespace},
        "spec": {"nodeName": node, "containers": [container]},
    }


def test_a_task_that_fits_nowhere_waits_for_a_node(story: Story) -> None:
    story.add_nodes(domains=1, cpu="1")
    large = vertex("work", 2, requests={"cpu": "900m"}, **story.here)
    story.apply(chain("large", large))
    story.until(lambda: story.condition("large", "Scheduled")[0] == "False", what="no room")
    _, reason, message = story.condition("large", "Scheduled")
    assert reason == "Infeasible"
    assert "work-1" in message
    assert "cpu" in message
    story.until(
        lambda: story.topology("large")["status"]["tasks"]["summary"] == "1/2", what="one of two"
    )
    waiting = story.pod_of("large", "work-1")
    assert waiting["status"]["phase"] == "Pending"
    assert not node_name(waiting)
    assert naming.PLANNED_NODE not in waiting["metadata"].get("annotations", {})
    assert not any("matchFields" in term for term in _required_terms(waiting))
    assert story.condition("large", "Ready")[:2] == ("False", "TasksNotReady")
    story.until_still()

    (added,) = story.add_nodes(domains=1, first=1, cpu="1")
    story.until_ready("large")
    assert story.pod_of("large", "work-1")["metadata"]["uid"] == waiting["metadata"]["uid"]
    assert story.nodes_of("large")["work-1"] == added
    assert story.condition("large", "Scheduled")[0] == "True"


def test_a_waiting_task_takes_the_room_that_another_leaves(story: Story) -> None:
    story.add_nodes(domains=1, cpu="1")
    most = {"requests": {"cpu": "900m"}, **story.here}
    story.apply(chain("early", vertex("work", **most)))
    story.until_ready("early")
    story.apply(chain("late", vertex("work", **most)))
    story.until(lambda: story.condition("late", "Scheduled")[0] == "False", what="no room")
    story.kubectl("delete", "stopo", "early", "--wait=false")
    story.until_ready("late")


def test_a_node_that_fills_up_between_plan_and_binding(story: Story) -> None:
    first, second = story.add_nodes(domains=2, cpu="1")
    came: list[str] = []

    def intrude() -> None:
        """Stand before every write: at the first one the plan is made, and no pod is."""
        if not came:
            came.append(first)
            story.user.create(PODS, _foreign_pod(story, "stranger", first, "900m"))

    story.loop = story.operator(guard=intrude)
    story.apply(chain("small", vertex("work", requests={"cpu": "500m"}, **story.here)))
    story.turn()
    refused = story.pod_of("small", "work-0")
    assert refused["metadata"]["annotations"][naming.PLANNED_NODE] == first
    story.until_ready("small")
    assert story.nodes_of("small") == {"work-0": second}
    assert "Unschedulable" in {reason for reason, _ in story.events("small")}
    stranger = story.user.get(PODS, story.namespace, "stranger")
    assert stranger is not None
    assert node_name(stranger) == first


def test_a_planned_node_that_goes_before_the_pod_is_bound(story: Story) -> None:
    first, second = story.add_nodes(domains=2, cpu="1")
    gone: list[str] = []

    def remove() -> None:
        if not gone:
            gone.append(first)
            story.cluster.remove_nodes(first)

    story.loop = story.operator(guard=remove)
    story.apply(chain("small", vertex("work", requests={"cpu": "500m"}, **story.here)))
    story.turn()
    story.until_ready("small")
    assert story.nodes_of("small") == {"work-0": second}


def test_a_task_keeps_to_its_domain_where_nodes_come_and_go(story: Story) -> None:
    """With `binding: Domain` kube-scheduler picks the node within the planned domain."""
    first, second = story.add_nodes(domains=1, per_domain=2, cpu="1")
    placement = {"binding": "Domain"}
    story.apply(chain("loose", vertex("work", 2, **story.here), placement=placement))
    story.until_ready("loose")
    for pod in story.pods("loose"):
        assert not any("matchFields" in term for term in _required_terms(pod))
        assert node_name(pod) in (first, second)
