"""The worker nodes themselves: real containers, addresses, names."""
import pytest

import nodes
from control_plane import eventually


@pytest.fixture(scope="module")
def node(plane, base_images, dns):
    node = nodes.Node(plane, "node-f", 9, images=base_images)
    node.wait_ready()
    yield node
    node.stop()
    plane.api.delete("/api/v1/nodes/node-f")


def test_a_pod_runs_and_finds_the_api_server_by_name(plane, node):
    pod = {
        "metadata": {"name": "look"},
        "spec": {"restartPolicy": "Never", "nodeName": "node-f", "containers": [{
            "name": "main", "image": nodes.INIT, "imagePullPolicy": "Never",
            "command": ["sh", "-c", "nslookup kubernetes.default.svc.cluster.local && echo found it"]}]},
    }
    plane.api.create("/api/v1/namespaces/default/pods", pod)

    eventually(lambda: plane.api.get("/api/v1/namespaces/default/pods/look")["status"]["phase"] == "Succeeded",
               "the pod to end well", within=60)

    assert "found it" in plane.kubectl("logs", "look")
