"""The machine room that the tests of Mainstay share: three nodes behind a cloud, and training jobs on them."""
import json
import os
import stat

import nodes
from control_plane import ROOT, eventually
from kernel_log import KernelLog, RealKernelLog

NAMESPACE = "mainstay-system"
# Its agent reads the kernel log of the machine itself: the node that the story breaks, where writing there is allowed.
REAL = "node-b" if os.environ.get("MAINSTAY_REAL_KMSG") == "1" else "node-a"
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


def rules():
    """The shipped Neuron rules, blind to what the machine's real kernel log said before."""
    return json.loads((ROOT / "rules/neuron/kernel-monitor.json").read_text()) | {"lookback": "0s"}


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
        if name == REAL:
            os.mknod(self.logs / name, 0o600 | stat.S_IFCHR, os.stat("/dev/kmsg").st_rdev)
            self.kernel_logs[name] = RealKernelLog()
        else:
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


def set_policy(plane, **spec):
    """Changes the policy, and waits for nothing: the controllers watch it."""
    plane.api.patch("/apis/mainstay.dev/v1alpha1/recoverypolicies/default", {"spec": spec})


def incident_of(plane, node):
    """The one open or closed incident of a node; None while there is none."""
    incidents = [i for i in plane.api.items(RECOVERIES) if i["spec"]["node"]["name"] == node]
    assert len(incidents) <= 1, incidents
    return incidents[0] if incidents else None


def phase(plane, node):
    return ((incident_of(plane, node) or {}).get("status") or {}).get("phase")
