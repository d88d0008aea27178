"""A real API server takes every object of the chart, strictly: no unknown field, nothing invalid."""
import subprocess

import pytest

from control_plane import PARTS, ROOT

CHART = ROOT / "deploy/chart"
VALUES = sorted((ROOT / "tests/deploy/values").glob("*.yaml")) + [CHART / "values-neuron.yaml"]


@pytest.fixture(scope="module")
def crds(plane):
    plane.kubectl("apply", "-f", ROOT / "deploy/crds")
    plane.kubectl("wait", "--for=condition=Established", "crd/noderecoveries.mainstay.dev", "crd/recoverypolicies.mainstay.dev")


def try_out(plane, path):
    return plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", path)


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_the_server_takes_the_chart(plane, crds, folder, values):
    rendered = subprocess.run(
        [PARTS / "helm", "template", "mainstay", CHART, "--namespace", "default", "--kube-version", "1.34.0",
         "--values", values], capture_output=True, text=True, check=True)
    path = folder / f"chart-{values.stem}.yaml"
    path.write_text(rendered.stdout)

    assert "(server dry run)" in try_out(plane, path)


def test_the_server_takes_the_seeds_manifest(plane, folder):
    text = (ROOT / "deploy/manifests/neuron-healthcheck-system.yaml").read_text()
    path = folder / "seed.yaml"
    # A dry run makes no namespace for the objects after it to lie in.
    path.write_text(text.replace("namespace: neuron-healthcheck-system", "namespace: default"))

    assert try_out(plane, path).count("(server dry run)") == len(text.split("\n---\n"))
