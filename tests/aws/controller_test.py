"""The controller with `provider: aws`: from a line in the kernel log of a node to the mark of its instance."""
import json

from detectors import Agent
from harness import FAULT, HEALTH, NODES, POLICIES, ROOT, cluster, eventually, incident_state
from stage import ZONE

POLICY = json.loads((ROOT / "deploy/aws/controller-policy.json").read_text())
USER = "controller"
MARK = "autoscaling:SetInstanceHealth"
INSTANCE_TYPE = {"node.kubernetes.io/instance-type": "trn1.32xlarge"}


def create_node(up, name, instance):
    """A node on an instance of moto's, beside those of the local cluster. Its kubelet is not needed for what follows."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    up.api.create(NODES, {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": INSTANCE_TYPE},
        "spec": {"providerID": f"aws:///{ZONE}/{instance}"},
        "status": {"conditions": [ready], "allocatable": {"cpu": "8", "pods": "110"}},
    })


def test_an_incident_marks_exactly_its_instance(aws, folder, programs):
    faulty, *sound = aws.create_group()
    environment = aws.environment(USER, POLICY)
    with cluster() as up:
        up.api.patch(f"{POLICIES}/default", {"spec": {"provider": "aws"}})
        create_node(up, "worker", faulty)
        up.controller(**environment)
        eventually(lambda: up.api.get(f"{NODES}/worker")["metadata"]["labels"].get(HEALTH) == "Schedulable", "the label")
        agent = Agent(folder, "worker", f"--kubeconfig={up.kubeconfig}", "--hostname-override=worker", "--port=0")
        programs.append(agent.program)
        agent.write(FAULT)
        eventually(lambda: aws.health()[faulty] == "Unhealthy", "the mark")
        assert [aws.health()[instance] for instance in sound] == ["Healthy", "Healthy"]
        eventually(lambda: up.phase() == "Replacing", "the incident's phase")
        assert incident_state(up.incidents()[0])["phases"] == ["Held", "Isolated", "Draining", "Replacing"]
        assert len(aws.calls_of(USER, MARK)) == 1
