"""The demo's story on a real cluster: three nodes with real containers, the agent as a DaemonSet and two controllers from the
chart, Kubeflow's training operator, and a cloud behind AWS's wire. A fault on one node; the job goes on from its checkpoint and
ends with the very parameters of a run without a fault.
"""
import json
import os
import pathlib
import subprocess

import pytest

import cloud
import nodes
import training_operator
from control_plane import PARTS, ROOT, eventually
from kernel_log import KernelLog

NAMESPACE = "mainstay-system"
JOBS = "/apis/kubeflow.org/v1/namespaces/kubeflow/pytorchjobs"
RECOVERIES = "/apis/mainstay.dev/v1alpha1/noderecoveries"
HEALTH = "sagemaker.amazonaws.com/node-health-status"
FAULT = ("2026-11-30T20:14:07Z NEURON_HW_ERR=DMA_ERROR instance-id=i-00000000000000000 hostname=node-b nd-id=3 nc-id=0 "
         "serial-num=0000 action=TERMINATE_INSTANCE")
POLICY = {
    "apiVersion": "mainstay.dev/v1alpha1", "kind": "RecoveryPolicy", "metadata": {"name": "default"},
    "spec": {
        "nodes": {"matchLabels": {"node.kubernetes.io/instance-type": "trn1.32xlarge"}},
        "mode": "Enforce", "provider": "aws",
        "limits": {"isolated": {"max": "20%", "atLeast": 1}, "inRecovery": {"max": "5%", "atLeast": 1}, "perHour": 1},
        "faults": [{"match": {"type": "NeuronHealth", "reason": "NeuronHasError_*"}, "ladder": [{"action": "replace"}]}],
        "drain": {"deadline": "1m"}, "resume": {"enabled": True, "maxRetries": 2},
    },
}


class Room:
    """The machine room: nodes by name, each with the instance it runs on and the kernel log its agent reads."""

    def __init__(self, plane, the_cloud, images):
        self.plane, self.cloud, self.images = plane, the_cloud, images
        self.logs = plane.folder / "kmsg"
        self.logs.mkdir()
        self.nodes, self.kernel_logs = {}, {}
        for instance in sorted(the_cloud.instances()):
            self.start_node(instance)
        for node in self.nodes.values():
            self._furnish(node)
        the_cloud.replace_unhealthy(self.end_node, lambda instance: self._furnish(self.start_node(instance)))

    def start_node(self, instance):
        number = len(self.nodes)
        name = f"node-{'abcdef'[number]}"
        self.kernel_logs[name] = KernelLog(self.logs / name)
        self.nodes[name] = nodes.Node(self.plane, name, number, self.cloud.provider_id(instance),
                                      {"node.kubernetes.io/instance-type": "trn1.32xlarge"}, self.images)
        return self.nodes[name]

    def end_node(self, instance):
        next(node for node in self.nodes.values() if node.provider_id.endswith(instance)).stop()

    def _furnish(self, node):
        node.wait_ready()
        node.set_capacity("aws.amazon.com/neuron", 16)


def training_job(plane, name, checkpoints):
    """examples/llama-mini.yaml with a folder of this machine as the storage that all nodes share."""
    text = (ROOT / "examples/llama-mini.yaml").read_text()
    text = text.replace("path: /checkpoints,", f"path: {checkpoints},").replace("name: llama-mini", f"name: {name}")
    text = text.replace("image: mainstay/trainer:0.1", "image: mainstay-trainer:test\n              imagePullPolicy: Never")
    text = text.replace("value: /checkpoints\n", "value: /checkpoints\n                - {name: TRAINER_STEP_MILLIS, value: '60'}\n", 1)
    checkpoints.mkdir(mode=0o777)
    checkpoints.chmod(0o777)
    path = plane.folder / f"{name}.yaml"
    path.write_text(text)
    plane.kubectl("apply", "-f", path)


def progress(checkpoints):
    path = checkpoints / "progress-rank-0.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")] if path.exists() else []


def steps(checkpoints):
    return [line["step"] for line in progress(checkpoints) if line["event"] == "step"]


def final_hash(plane, name, checkpoints):
    eventually(lambda: condition(plane.api.get(f"{JOBS}/{name}"), "Succeeded"), f"{name} to succeed", within=180, every=0.2)
    return progress(checkpoints)[-1]["sha256"]


def condition(job, kind):
    return any(c["type"] == kind and c["status"] == "True" for c in job.get("status", {}).get("conditions", []))


@pytest.fixture(scope="module")
def images(plane, folder):
    archives = nodes.build_test_images(folder) + [training_operator.build_image(folder)]
    subprocess.run([ROOT / "scripts/image", "--tag", "test"], check=True, capture_output=True)
    return archives + [ROOT / "build/image/mainstay.tar", ROOT / "build/image/mainstay-trainer.tar"]


@pytest.fixture(scope="module")
def room(plane, images):
    dns = nodes.Dns(plane)
    the_cloud = cloud.Cloud(plane)
    room = Room(plane, the_cloud, images)
    training_operator.install(plane)
    yield room
    the_cloud.stop()
    dns.stop()


@pytest.fixture(scope="module")
def mainstay(plane, room):
    """Installed as its users do."""
    values = plane.folder / "values.json"
    values.write_text(json.dumps({
        "image": {"tag": "test", "pullPolicy": "Never"},
        "policies": {"watch": None},
        "agent": {
            "kernelLog": {"hostPath": str(room.logs), "hostPathType": "Directory", "path": f"{room.logs}/$(NODE_NAME)"},
            "privileged": False,
        },
        "controller": {"extraEnv": [
            {"name": "AWS_ENDPOINT_URL", "value": cloud.ENDPOINT}, {"name": "AWS_REGION", "value": cloud.REGION},
            {"name": "AWS_ACCESS_KEY_ID", "value": "test"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": "test"}]},
    }))
    helm = [PARTS / "helm", "--kubeconfig", plane.kubeconfig]
    subprocess.run([*helm, "install", "mainstay", ROOT / "deploy/chart", "--namespace", NAMESPACE, "--create-namespace",
                    "--values", values, "--wait", "--timeout", "3m"], check=True)
    plane.api.create("/apis/mainstay.dev/v1alpha1/recoverypolicies", POLICY)
    eventually(lambda: len([n for n in plane.api.items("/api/v1/nodes")
                            if n["metadata"]["labels"].get(HEALTH) == "Schedulable"]) == 3, "three Schedulable nodes")
    return helm


def test_a_fault_is_recovered_and_the_job_ends_as_without_it(plane, room, mainstay, folder):
    unbroken, broken = folder / "unbroken", folder / "broken"
    training_job(plane, "rehearsal", unbroken)
    expected = final_hash(plane, "rehearsal", unbroken)
    plane.api.delete(f"{JOBS}/rehearsal")

    training_job(plane, "llama-mini", broken)
    eventually(lambda: steps(broken) and steps(broken)[-1] >= 86, "training to reach step 86", within=120)
    room.kernel_logs["node-b"].write(FAULT)

    assert final_hash(plane, "llama-mini", broken) == expected
    assert [line["step"] for line in progress(broken) if line["event"] == "resumed"] == [77]
    [incident] = plane.api.items(RECOVERIES)
    eventually(lambda: plane.api.items(RECOVERIES)[0]["status"]["phase"] == "Resolved", "the incident to be closed")
    assert incident["spec"]["node"]["name"] == "node-b"
    assert plane.api.find("/api/v1/nodes/node-b") is None
    print(plane.kubectl("get", "nodes", "-L", HEALTH))
    print(plane.kubectl("get", "pods", "-A", "-o", "wide"))
    print(plane.kubectl("get", "noderecoveries"))
