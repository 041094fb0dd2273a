"""The operator in the cluster: installed by its chart, with its own rights and no more."""

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.installation import NAMESPACE


def test_two_replicas_and_one_leader(operator: KindCluster) -> None:
    deployment = operator.get("deployment", "thalweg", "-n", NAMESPACE)
    assert deployment["status"]["readyReplicas"] == 2

    def leader() -> str:
        lease = operator.get("lease", "thalweg", "-n", NAMESPACE)
        return str(lease["spec"].get("holderIdentity") or "")

    holder = eventually(leader, what="a leader")
    pods = operator.get("pods", "-n", NAMESPACE)["items"]
    assert sum(pod["metadata"]["name"] in holder for pod in pods) == 1


def test_the_api_is_served(operator: KindCluster) -> None:
    names = operator.kubectl("api-resources", "--api-group=thalweg.dev", "-o", "name").split()
    assert {"streamtopologies.thalweg.dev", "streamvertices.thalweg.dev"} <= set(names)


def test_the_operator_may_not_read_secrets(operator: KindCluster) -> None:
    account = f"system:serviceaccount:{NAMESPACE}:thalweg"
    words = ("auth", "can-i", "--list", "--as", account)
    rights = operator.kubectl(*words)
    assert "secrets" not in rights
    assert "streamtopologies" in rights
