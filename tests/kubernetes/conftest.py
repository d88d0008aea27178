import contextlib
import json
import os
import subprocess

import pytest

import cloud
import control_plane
import nodes
import training_operator
from control_plane import PARTS, ROOT, eventually
from room import HEALTH, NAMESPACE, POLICY, Room, rules

# Later ones build on what earlier ones left: the last two look back at everything.
ORDER = ["control_plane", "chart", "nodes", "install", "seed", "story", "observe", "leaders", "npd", "uninstall", "rbac"]


def pytest_configure(config):
    if not os.environ.get("MAINSTAY_SANDBOX"):
        raise pytest.UsageError("these tests start a whole cluster: run them with `scripts/test kubernetes`, "
                                "or `tests/kubernetes/sandbox python3 -m pytest tests/kubernetes`")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: ORDER.index(item.path.name.removesuffix("_test.py")))


@pytest.fixture(scope="session")
def folder():
    with control_plane.session_folder("mainstay-kubernetes-") as folder:
        yield folder


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure shows what the cluster looked like."""
    report = (yield).get_result()
    plane = getattr(item, "funcargs", {}).get("plane")
    if report.failed and plane:
        for what in (["get", "nodes"], ["get", "pods", "-A", "-o", "wide"], ["get", "noderecoveries"],
                     ["get", "events", "-A", "--sort-by=.lastTimestamp"]):
            with contextlib.suppress(Exception):
                report.sections.append((f"kubectl {' '.join(what)}", plane.kubectl(*what)[-6000:]))


@pytest.fixture(scope="session")
def plane(folder):
    started = control_plane.ControlPlane(folder)
    for name in "abcdefg":
        started.token(f"system:node:node-{name}", "system:nodes")
    yield started.start()
    started.stop()


@pytest.fixture(scope="session")
def base_images(folder):
    return nodes.build_test_images(folder)


@pytest.fixture(scope="session")
def images(plane, folder, base_images):
    return base_images + [training_operator.build_image(folder)] + [ROOT / "build/image" / f"{name}.tar" for name in ("mainstay", "mainstay-trainer")]


@pytest.fixture(scope="session")
def dns(plane):
    started = nodes.Dns(plane)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def room(plane, images, dns):
    the_cloud = cloud.Cloud(plane)
    started = Room(plane, the_cloud, images)
    training_operator.install(plane)
    yield started
    the_cloud.stop()


@pytest.fixture(scope="session")
def mainstay(plane, room):
    """Installed as its users do."""
    values = plane.folder / "values.json"
    values.write_text(json.dumps({
        "image": {"tag": "test", "pullPolicy": "Never"},
        "policies": {"watch": None},
        "agent": {
            "stateFolder": str(plane.folder / "state"),
            "kernelLog": {"hostPath": str(room.logs), "hostPathType": "Directory", "path": f"{room.logs}/$(NODE_NAME)"},
            "rulePacks": {"use": []},
            "monitors": {"log": {"inline": {"neuron.json": json.dumps(rules())}}},
            "extraArgs": ["--k8s-exporter-heartbeat-period=5s"],
        },
        # The lease of a sleeper ends well before the kubelet takes it for dead.
        "controller": {"extraArgs": ["--lease-duration=6s", "--lease-renew-deadline=4s", "--lease-retry-period=1s"], "extraEnv": [
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
