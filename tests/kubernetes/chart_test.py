"""Every object of the chart, held against a real API server: by the server itself, strictly, and by kubeconform with the
server's schemas. What the chart makes of its values: tests/deploy.
"""
import subprocess

import pytest
import yaml

import schemas
from control_plane import PARTS, ROOT, eventually

CHART = ROOT / "deploy/chart"
VALUES = sorted((ROOT / "tests/deploy/values").glob("*.yaml")) + [CHART / "values-neuron.yaml"]
SEED = ROOT / "deploy/manifests/neuron-healthcheck-system.yaml"


@pytest.fixture(scope="module")
def openapi(plane):
    """The server's description of itself, our kinds included."""
    plane.kubectl("apply", "-f", ROOT / "deploy/crds")
    plane.kubectl("wait", "--for=condition=Established", "crd/noderecoveries.mainstay.dev", "crd/recoverypolicies.mainstay.dev")
    return eventually(lambda: (seen := plane.api.get("/openapi/v2")) and "RecoveryPolicy" in str(seen) and seen,
                      "the server to describe our kinds", every=1)


def rendered(values, folder):
    done = subprocess.run([PARTS / "helm", "template", "mainstay", CHART, "--namespace", "default", "--kube-version", "1.34.0",
                           "--values", values], capture_output=True, text=True, check=True)
    path = folder / f"chart-{values.stem}.yaml"
    path.write_text(done.stdout)
    return path


def kinds_in(path):
    """(group, version, kind) of the objects in a file."""
    found = [o for o in yaml.safe_load_all(path.read_text()) if o]
    return {(*("/" + o["apiVersion"]).rsplit("/", 2)[-2:], o["kind"]) for o in found}


def kubeconform(openapi, path, folder):
    location = schemas.write(openapi, kinds_in(path), folder / "schemas")
    return subprocess.run([PARTS / "kubeconform", "-strict", "-schema-location", location, path], capture_output=True, text=True)


def try_out(plane, path):
    return plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", path)


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_server_and_kubeconform_take_the_chart(plane, openapi, folder, values):
    path = rendered(values, folder)

    assert "(server dry run)" in try_out(plane, path)
    done = kubeconform(openapi, path, folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_server_and_kubeconform_take_the_seeds_manifest(plane, openapi, folder):
    text = SEED.read_text()
    path = folder / "seed.yaml"
    # A dry run makes no namespace for the objects after it to lie in.
    path.write_text(text.replace("namespace: neuron-healthcheck-system", "namespace: default"))

    assert try_out(plane, path).count("(server dry run)") == len(text.split("\n---\n"))
    done = kubeconform(openapi, path, folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kubeconform_would_find_a_misspelt_field(openapi, folder):
    path = folder / "misspelt.yaml"
    path.write_text(SEED.read_text().replace("readOnlyRootFilesystem", "readOnlyRootFileSystem"))

    done = kubeconform(openapi, path, folder)

    assert done.returncode == 1
    assert "readOnlyRootFileSystem" in done.stdout
