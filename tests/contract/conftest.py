"""Which API server the contract is held against: MAINSTAY_CONTRACT=local (the default) starts `mainstay local`,
MAINSTAY_CONTRACT=kubernetes the control plane of tests/kubernetes (run it through tests/kubernetes/sandbox).
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile

import pytest

import client

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("MAINSTAY_BIN", ROOT / "build/release/bin"))
SERVER = os.environ.get("MAINSTAY_CONTRACT", "local")

OUR_DEFINITIONS = [*sorted((ROOT / "deploy/crds").glob("*.yaml")), ROOT / "examples/crds/pytorchjobs.yaml"]


@pytest.fixture(scope="session")
def folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mainstay-contract-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _local(folder):
    """A cluster whose machines take too long to be launched: nobody but the tests touches anything."""
    start = folder / "up.json"
    with start.open("wb") as out, (folder / "up.log").open("wb") as log:
        up = subprocess.Popen(
            [BIN / "mainstay", "local", "up", "--controller=false", "--launch-delay=24h", "-o", "json"],
            stdin=subprocess.DEVNULL, stdout=out, stderr=log,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)})

    def reach():
        assert up.poll() is None, f"mainstay local up ended: {(folder / 'up.log').read_text()}"
        with contextlib.suppress(ValueError):
            return json.loads(start.read_text())

    try:
        api = client.Api(client.eventually(reach, "the local cluster to start")["server"])
        api.forget_history = lambda: api.create("/local/v1/compact", {}).ok()
        yield api
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(30)


@contextlib.contextmanager
def _kubernetes(folder):
    sys.path.append(str(ROOT / "tests/kubernetes"))
    import control_plane

    plane = control_plane.ControlPlane(folder)
    try:
        plane.start()
        api = client.Api(control_plane.SERVER, ssl.create_default_context(cafile=plane.ca), plane.token("admin"))
        # A pod needs its namespace's account, which a controller makes.
        api.namespace_ready = lambda name: client.eventually(
            lambda: api.get(f"/api/v1/namespaces/{name}/serviceaccounts/default").status == 200, f"the account of {name}")
        yield api
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def api(folder):
    with {"local": _local, "kubernetes": _kubernetes}[SERVER](folder) as api:
        yield api


@pytest.fixture
def ns(api):
    """The path of a new namespace."""
    path = f"{client.NAMESPACES}/" + api.create(client.NAMESPACES, {"metadata": {"generateName": "contract-"}}).ok(201)[
        "metadata"]["name"]
    api.namespace_ready(path.rpartition("/")[2])
    yield path
    # No kubelet confirms that a pod has ended.
    api.delete(f"{path}/pods", gracePeriodSeconds=0)
    api.delete(path)


@pytest.fixture
def cluster_wide(api):
    """Creates objects outside of all namespaces, and removes them after the test."""
    made = []

    def create(path, body):
        made.append(f"{path}/{body['metadata']['name']}")
        return api.create(path, body).ok(201)

    yield create
    for path in made:
        api.patch(path, {"metadata": {"finalizers": None}})
        api.delete(path)


@pytest.fixture
def node(cluster_wide):
    """A new node without a kubelet; its path."""
    name = client.unique("contract")
    cluster_wide(client.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    return f"{client.NODES}/{name}"


@pytest.fixture(scope="session")
def our_kinds(api):
    """Our definitions, as the files have them."""
    for file in OUR_DEFINITIONS:
        text = file.read_text()
        name = re.search(r"^  name: (\S+)$", text, re.MULTILINE)[1]
        assert api.apply(f"{client.CRDS}/{name}", text, "contract", force="true").status in (200, 201)
        client.eventually(lambda: _established(api.get(f"{client.CRDS}/{name}").ok()), f"{name} to be served")


def _established(definition):
    conditions = definition["status"]["conditions"] or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
