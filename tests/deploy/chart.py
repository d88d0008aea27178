"""Renders the chart as `helm template` does, for each set of values in values/."""
import os
import pathlib
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/chart"
PARTS = pathlib.Path(os.environ.get("MAINSTAY_PARTS", ROOT / "build/parts"))
VALUES = sorted((ROOT / "tests/deploy/values").glob("*.yaml")) + [CHART / "values-neuron.yaml"]


def helm(*arguments):
    """Runs it; its answer has returncode, stdout and stderr."""
    program = PARTS / "helm"
    assert program.exists(), f"there is no {program}: `scripts/test kubernetes` builds it, MAINSTAY_PARTS names its folder"
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def template(*arguments, name="mainstay"):
    """What helm says to these values: `helm template` with a cluster's version, which is not asked for one."""
    return helm("template", name, CHART, "--namespace", "keepers", "--kube-version", "1.34.0", *arguments)


def render(*arguments, **more):
    """The objects."""
    done = template(*arguments, **more)
    assert done.returncode == 0, done.stderr
    return [o for o in yaml.safe_load_all(done.stdout) if o]


def refusal(*settings):
    """Why helm does not render with these --set arguments."""
    done = template(*[word for setting in settings for word in ("--set", setting)])
    assert done.returncode != 0, f"{settings} are accepted"
    return done.stderr


def of_kind(objects, kind, component=None):
    found = [o for o in objects if o["kind"] == kind]
    if component:
        found = [o for o in found if o["metadata"]["labels"]["app.kubernetes.io/component"] == component]
    return found


def pod_of(objects, kind):
    [workload] = of_kind(objects, kind)
    return workload["spec"]["template"]["spec"]


def containers(objects):
    """Of all workloads, hooks included."""
    return [c for o in objects if o["kind"] in ("DaemonSet", "Deployment", "Job")
            for c in o["spec"]["template"]["spec"]["containers"]]
