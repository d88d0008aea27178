"""The walk of docs/tutorial-neuron.md, with the commands of AWS's tutorial, up to where AWS itself is needed."""
import json
import os
import subprocess

import pytest

import nodes
from control_plane import PARTS, ROOT, eventually

NAMESPACE = "neuron-healthcheck-system"
NODE = "/api/v1/nodes/node-g"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture(scope="module")
def node(plane, base_images):
    node = nodes.Node(plane, "node-g", 7, labels={"node.kubernetes.io/instance-type": "trn1.32xlarge"},
                      images=[*base_images, ROOT / "build/image/mainstay.tar"])
    node.wait_ready()
    yield node
    node.stop()
    plane.api.delete(NODE)


def walk(plane, *command, **environment):
    """A command as a person types it, in a shell whose kubectl knows the cluster."""
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=300,
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig), "PATH": f"{PARTS}:{os.environ['PATH']}", **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ready_pod(plane):
    """The DaemonSet's one pod when all its containers are ready; None while there is none or two."""
    pods = [p for p in plane.api.items(PODS) if "deletionTimestamp" not in p["metadata"]]
    states = [c["ready"] for p in pods for c in p["status"].get("containerStatuses", [])]
    return pods[0] if len(pods) == 1 and states == [True, True] else None


def recovery_enabled(pod):
    [container] = [c for c in pod["spec"]["containers"] if c["name"] == "node-recovery"]
    return next(e["value"] for e in container["env"] if e["name"] == "ENABLE_RECOVERY")


def test_it_is_installed_and_told_by_the_node(plane, node):
    said = walk(plane, "scripts/install", "--image", "mainstay:test", "--role-arn", "arn:aws:iam::123456789012:role/npd")

    assert 'daemon set "node-problem-detector" successfully rolled out' in said
    pod = eventually(lambda: ready_pod(plane), "both containers to be ready")
    assert recovery_enabled(pod) == "false"
    account = plane.api.get(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/node-problem-detector")
    assert account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"] == "arn:aws:iam::123456789012:role/npd"
    eventually(lambda: "NeuronHasNoError" in walk(plane, "kubectl", "describe", "node", "node-g"), "the condition")


def test_the_tutorials_edit_switches_recovery_on(plane, node):
    editor = plane.folder / "editor"
    editor.write_text("""#!/usr/bin/env python3
import pathlib, sys
path = pathlib.Path(sys.argv[1])
before, name, after = path.read_text().partition("- name: ENABLE_RECOVERY")
path.write_text(before + name + after.replace('"false"', '"true"', 1))
""")
    editor.chmod(0o755)

    walk(plane, "kubectl", "edit", "-n", NAMESPACE, "ds/node-problem-detector", KUBE_EDITOR=str(editor))

    eventually(lambda: (pod := ready_pod(plane)) and recovery_enabled(pod) == "true", "the new pod", within=90)


def test_the_clean_up_leaves_nothing(plane, node):
    walk(plane, "scripts/uninstall")

    eventually(lambda: plane.api.find(f"/api/v1/namespaces/{NAMESPACE}") is None, "the namespace to go", within=90)
    found = plane.api.get(NODE)
    assert "mainstay.dev" not in json.dumps([found["metadata"].get("annotations"), found["metadata"]["labels"]])
    assert "NeuronHealth" not in [c["type"] for c in found["status"]["conditions"]]
    for kind in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"):
        assert plane.kubectl("get", kind, "-A", "-l", "app=node-problem-detector", "-o", "name") == ""
