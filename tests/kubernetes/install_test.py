"""The chart's whole life on a real cluster: install, upgrade, rollback, an uninstall that must not go on, one that leaves
nothing.
"""
import json
import subprocess

import pytest

import nodes
from control_plane import PARTS, ROOT, SERVER, Api, ApiError, eventually
from kernel_log import KernelLog

NAMESPACE = "trial"
NODE = "/api/v1/nodes/node-e"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
JOB_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pytorchjobs.kubeflow.org"
RECOVERIES = "/apis/mainstay.dev/v1alpha1/noderecoveries"
HEALTH = "sagemaker.amazonaws.com/node-health-status"
FAULT = "2026-11-30T20:14:07Z NEURON_HW_ERR=DMA_ERROR nd-id=3 nc-id=0 serial-num=0000 action=TERMINATE_INSTANCE"
# Every kind of which the chart has objects, and what those bring forth.
KINDS = ("daemonsets,deployments,replicasets,jobs,pods,configmaps,serviceaccounts,roles,rolebindings,clusterroles,"
         "clusterrolebindings,networkpolicies,poddisruptionbudgets,recoverypolicies,validatingadmissionpolicies,"
         "validatingadmissionpolicybindings")


class Helm:
    def __init__(self, plane, values):
        self.plane, self.values = plane, values

    def __call__(self, *arguments):
        command = [PARTS / "helm", "--kubeconfig", self.plane.kubeconfig, "--namespace", NAMESPACE, *arguments]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)

    def must(self, *arguments):
        done = self(*arguments)
        assert done.returncode == 0, f"helm {arguments[0]}: {done.stderr}\n{self.plane.kubectl('get', 'pods', '-A', '-o', 'wide')}"
        return done.stdout

    def apply(self, command, *settings):
        words = [word for setting in settings for word in ("--set", setting)]
        return self.must(command, "trial", ROOT / "deploy/chart", "--values", self.values, *words, "--wait", "--timeout", "2m")


@pytest.fixture(scope="module")
def log(plane):
    folder = plane.folder / "trial-kmsg"
    folder.mkdir()
    return KernelLog(folder / "node-e")


@pytest.fixture(scope="module")
def node(plane, base_images, log):
    node = nodes.Node(plane, "node-e", 8, "trial:///node-e", images=[*base_images, ROOT / "build/image/mainstay.tar"])
    node.wait_ready()
    yield node
    node.stop()
    plane.api.delete(NODE)


@pytest.fixture(scope="module")
def helm(plane, node):
    logs = plane.folder / "trial-kmsg"
    values = plane.folder / "trial-values.json"
    values.write_text(json.dumps({
        "image": {"tag": "test", "pullPolicy": "Never"},
        "agent": {"privileged": False, "stateFolder": str(plane.folder / "state"),
                  "monitors": {"log": {"files": ["/usr/share/mainstay/rules/neuron/kernel-monitor.json"]}},
                  "kernelLog": {"hostPath": str(logs), "hostPathType": "Directory", "path": f"{logs}/$(NODE_NAME)"}},
        # A failing uninstall is to be seen soon.
        "releaseOnUninstall": {"deadlineSeconds": 15},
    }))
    plane.kubectl("apply", "--server-side", "-f", ROOT / "examples/crds")
    plane.kubectl("wait", "--for=condition=Established", "crd/pytorchjobs.kubeflow.org")
    helm = Helm(plane, values)
    helm.must("install", "trial", ROOT / "deploy/chart", "--create-namespace", "--values", values, "--wait", "--timeout", "2m")
    yield helm
    plane.api.delete(JOB_CRD)


def neuron_health(plane):
    return condition_of(plane.api.get(NODE), "NeuronHealth")


def pods_of(plane, component):
    return [p for p in plane.api.items(PODS) if p["metadata"]["labels"]["app.kubernetes.io/component"] == component]


def agent_argument(plane, flag):
    """What the one agent, ready, was started with; None while it is being replaced."""
    pods = pods_of(plane, "agent")
    if len(pods) != 1 or condition_of(pods[0], "Ready").get("status") != "True":
        return None
    return next(a.partition("=")[2] for a in pods[0]["spec"]["containers"][0]["args"] if a.startswith(flag))


def condition_of(thing, kind):
    return next((c for c in thing["status"].get("conditions", []) if c["type"] == kind), {})


def controllers(plane):
    return plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/trial-mainstay-controller")["status"].get("readyReplicas")


def ours(plane):
    found = plane.kubectl("get", KINDS, "-A", "-l", "app.kubernetes.io/instance=trial", "-o", "name", "--ignore-not-found")
    return found.split()


def hold(plane, note):
    """A node and a job as a recovery leaves them half-way, written as our controller writes."""
    manager = "?fieldManager=mainstay-recovery"
    plane.api.patch(NODE + manager, {
        "metadata": {"labels": {HEALTH: "UnschedulablePendingReplacement"},
                     "annotations": {"mainstay.dev/recovery": "node-e-trial-1", "mainstay.dev/cordoned": "true"}},
        "spec": {"unschedulable": True, "taints": [{"key": HEALTH, "value": "Unschedulable", "effect": "NoSchedule"}]}})
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
           "metadata": {"name": "held", "annotations": {"mainstay.dev/resume": note}},
           "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {
               "spec": {"containers": [{"name": "pytorch", "image": nodes.PAUSE}]}}}}}}
    plane.api.create(JOBS, job)


def test_it_is_installed_and_watches(plane, helm, log):
    eventually(lambda: neuron_health(plane), "the agent's condition")
    assert neuron_health(plane)["status"] == "False"
    assert controllers(plane) == 2

    log.write(FAULT)

    eventually(lambda: neuron_health(plane)["status"] == "True", "the fault to be told")
    eventually(lambda: plane.api.items(RECOVERIES), "an incident")
    assert "taints" not in plane.api.get(NODE)["spec"], "policy watch only watches"


def test_the_controllers_image_answers_why(plane, helm):
    said = plane.kubectl("exec", "-n", NAMESPACE, "deployment/trial-mainstay-controller", "--", "mainstay", "why", "node", "node-e")

    assert "NeuronHasError_DMA_ERROR" in said


def test_an_agent_writes_no_node_but_its_own(plane, helm):
    [pod] = pods_of(plane, "agent")
    token = plane.kubectl("create", "token", "-n", NAMESPACE, "trial-mainstay-agent", "--bound-object-kind=Pod",
                          f"--bound-object-name={pod['metadata']['name']}").strip()
    agent = Api(SERVER, token, plane.ca)
    plane.api.create("/api/v1/nodes", {"metadata": {"name": "another"}})
    lie = {"status": {"conditions": [{"type": "NeuronHealth", "status": "True", "reason": "Lie"}]}}

    with pytest.raises(ApiError, match="an agent writes only the node that it runs on"):
        agent.patch("/api/v1/nodes/another/status", lie, "application/strategic-merge-patch+json")

    plane.api.delete("/api/v1/nodes/another")


def test_sidecar_recovery_is_refused_while_a_policy_of_the_cluster_enforces(plane, helm):
    policies = "/apis/mainstay.dev/v1alpha1/recoverypolicies"
    plane.api.create(policies, {"apiVersion": "mainstay.dev/v1alpha1", "kind": "RecoveryPolicy", "metadata": {"name": "strict"},
                                "spec": {"nodes": {"matchLabels": {"no": "node"}}, "mode": "Enforce", "provider": "local"}})

    done = helm("upgrade", "trial", ROOT / "deploy/chart", "--values", helm.values, "--set", "sidecar.enabled=true",
                "--set", "sidecar.enableRecovery=true")

    assert done.returncode != 0
    assert "the cluster's RecoveryPolicy strict in mode Enforce would both have instances replaced" in done.stderr
    plane.api.delete(f"{policies}/strict")


def test_an_upgrade_and_a_rollback_keep_the_fault(plane, helm):
    before = neuron_health(plane)

    helm.apply("upgrade", "log.level=debug", "controller.replicas=1")
    eventually(lambda: agent_argument(plane, "--log-level") == "debug", "the new agent")
    eventually(lambda: controllers(plane) == 1, "one controller")
    helm.must("rollback", "trial", "1", "--wait", "--timeout", "2m")
    eventually(lambda: agent_argument(plane, "--log-level") == "info", "the old agent again")
    eventually(lambda: controllers(plane) == 2, "two controllers")

    after = neuron_health(plane)
    assert (after["status"], after["lastTransitionTime"]) == ("True", before["lastTransitionTime"])


def test_an_uninstall_that_cannot_give_everything_back_stops(plane, helm):
    hold(plane, "rubbish")

    done = helm("uninstall", "trial", "--timeout", "1m")

    assert done.returncode != 0
    assert "job trial-mainstay-release failed" in done.stderr
    assert controllers(plane) == 2
    failed = next(p for p in pods_of(plane, "release") if p["status"]["phase"] == "Failed")
    said = failed["status"]["containerStatuses"][0]["state"]["terminated"]["message"]
    assert "default/held" in said and "mainstay.dev/resume" in said
    plane.api.delete(f"{JOBS}/held")


def test_an_uninstall_leaves_nothing_of_ours(plane, helm):
    hold(plane, json.dumps({"retry": 1, "incidents": ["i"], "phase": "Stopped", "since": "2026-11-30T20:14:07.000000Z"}))

    helm.must("uninstall", "trial", "--wait", "--timeout", "2m")

    eventually(lambda: not ours(plane), "the last pods to end")
    node, job = plane.api.get(NODE), plane.api.get(f"{JOBS}/held")
    marks = {**node["metadata"]["labels"], **node["metadata"]["annotations"]}
    assert not [key for key in marks if "mainstay.dev" in key or "sagemaker" in key]
    assert not node["spec"].get("unschedulable")
    assert not [t for t in node["spec"].get("taints", []) if t["key"] == HEALTH]
    assert not neuron_health(plane)
    assert "mainstay.dev/resume" not in job["metadata"].get("annotations", {})
    assert job["spec"]["runPolicy"]["suspend"] is False
    # As Helm's users expect: the kinds and what was written down stay.
    assert plane.api.items(RECOVERIES)
    assert plane.api.find("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/recoverypolicies.mainstay.dev")
