"""Kubeflow's training operator v1.8.1, as a pod, from the manifests of its own module."""
import json
import shutil

import nodes
from control_plane import PARTS, eventually

IMAGE = "mainstay.test/training-operator:1"


def build_image(folder):
    return nodes.build_image(folder, IMAGE, {"/manager": PARTS / "training-operator.v1"}, ["/manager"])


def install(plane):
    """Applies the manifests and waits until the operator is at work. Its webhooks are left out: they are called through a
    service address, and there is no kube-proxy here.
    """
    manifests = plane.folder / "training-operator"
    shutil.copytree(PARTS / "training-operator.module" / "manifests", manifests / "manifests", copy_function=shutil.copyfile)
    overlay = manifests / "test"
    overlay.mkdir()
    (overlay / "kustomization.yaml").write_text(json.dumps({
        "resources": ["../manifests/overlays/standalone"],
        "images": [{"name": "kubeflow/training-operator", "newName": IMAGE.split(":")[0], "newTag": IMAGE.split(":")[1]}],
        "patches": [
            {"target": {"kind": "Deployment"}, "patch": json.dumps([
                {"op": "add", "path": "/spec/template/spec/containers/0/args", "value": [
                    "--enable-scheme=pytorchjob", f"--pytorch-init-container-image={nodes.INIT}"]},
                {"op": "add", "path": "/spec/template/spec/containers/0/imagePullPolicy", "value": "Never"},
                {"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe/initialDelaySeconds", "value": 1},
                {"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe/periodSeconds", "value": 1}])},
            {"target": {"kind": "ValidatingWebhookConfiguration"},
             "patch": json.dumps([{"op": "replace", "path": "/webhooks", "value": []}])},
        ],
    }))
    plane.kubectl("apply", "--server-side", "-k", overlay)
    eventually(lambda: plane.api.get("/apis/apps/v1/namespaces/kubeflow/deployments/training-operator")
               .get("status", {}).get("readyReplicas"), "the training operator to be ready", within=120, every=0.2)
