"""scripts/bench isolate: how fast a fault on many nodes at once takes them out of service, on a real API server with simulated
kubelets (kwok): from the condition to taint and cordon. Also the controller's cold start and memory. The cloud does not answer in this bench: the
worst case for whoever asks it on the way.
"""
import argparse
import os
import pathlib
import re
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from agents import ROOT, cpu_seconds, node_versions, quantile  # finds tests/kubernetes, too
from control_plane import BIN, PARTS, SERVER, Api, ControlPlane, eventually

HEALTH = "sagemaker.amazonaws.com/node-health-status"
WRITERS = 16
# NVSentinel's, from its own documentation: 500 ms from condition to cordon, 2.5 nodes/s.
RIVAL = "NVSentinel says of itself: 500 ms, 2.5 nodes/s"


def node(name):
    return {"metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"},
                         "labels": {"node.kubernetes.io/instance-type": "trn1.32xlarge"}},
            "spec": {"providerID": f"aws:///us-west-2b/i-{name}"}}


def policy(nodes):
    return {
        "apiVersion": "mainstay.dev/v1alpha1", "kind": "RecoveryPolicy", "metadata": {"name": "default"},
        "spec": {
            "nodes": {}, "mode": "Enforce", "provider": "aws",
            # Everything may be isolated, and nothing goes further: that is not what is measured.
            "limits": {"isolated": {"max": "100%", "atLeast": nodes}, "inRecovery": {"max": "0%", "atLeast": 0}, "perHour": 1},
            "faults": [{"match": {"type": "NeuronHealth", "reason": "NeuronHasError_*"}, "ladder": [{"action": "replace"}]}],
        },
    }


class Onlooker:
    """When each node was first seen Schedulable, and with taint and cordon."""

    def __init__(self, plane):
        self.schedulable, self.isolated = {}, {}
        threading.Thread(target=self._follow, args=(plane,), daemon=True).start()

    def _follow(self, plane):
        for at, found in node_versions(plane):
            name, spec = found["metadata"]["name"], found["spec"]
            if found["metadata"]["labels"].get(HEALTH) == "Schedulable":
                self.schedulable.setdefault(name, at)
            if spec.get("unschedulable") and any(t["key"].startswith("sagemaker.") for t in spec.get("taints", [])):
                self.isolated.setdefault(name, at)


def in_parallel(plane, work, names):
    """Calls work(api, name) for all; each thread has a connection of its own."""
    local = threading.local()

    def one(name):
        if not hasattr(local, "api"):
            local.api = Api(SERVER, plane.token("admin"), plane.ca)
        return work(local.api, name)

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(one, names))


def break_node(api, name):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [
        {"type": "NeuronHealth", "status": "True", "reason": "NeuronHasError_DMA_ERROR", "message": "bench",
         "lastTransitionTime": now, "lastHeartbeatTime": now}]}}, "application/strategic-merge-patch+json")
    return time.time()


def resident(process):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024


def cpu_by_program(plane):
    programs = {name: cpu_seconds(plane.processes.pid(name)) for name in plane.processes.names()}
    return programs | {"this bench": cpu_seconds(os.getpid())}


def run(folder, nodes, faults):
    plane = ControlPlane(folder, node_grace="5m", audited=False).start()
    try:
        plane.kubectl("apply", "--server-side", "-f", ROOT / "deploy/crds", "-f", ROOT / "examples/crds")
        names = [f"n{i:05}" for i in range(nodes)]
        in_parallel(plane, lambda api, name: api.create("/api/v1/nodes", node(name)), names)
        plane.processes.start("kwok", PARTS / "kwok", f"--kubeconfig={plane.kubeconfig}",
                              "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-ip=10.88.0.1")

        def ready():
            plane.processes.check("kwok")
            return all(any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"].get("conditions", []))
                       for n in plane.api.items("/api/v1/nodes"))

        eventually(ready, "all nodes to be Ready", 180, every=2)
        onlooker = Onlooker(plane)
        plane.api.create("/apis/mainstay.dev/v1alpha1/recoverypolicies", policy(nodes))
        started = time.time()
        controller = plane.processes.start(
            "controller", BIN / "mainstay-controller", f"--kubeconfig={plane.kubeconfig}", AWS_REGION="us-west-2",
            AWS_ENDPOINT_URL="http://127.0.0.1:9", AWS_ACCESS_KEY_ID="bench", AWS_SECRET_ACCESS_KEY="bench")
        eventually(lambda: onlooker.schedulable, "the first plan")
        first_plan = min(onlooker.schedulable.values()) - started
        eventually(lambda: len(onlooker.schedulable) == nodes, "every node to be Schedulable", 300, every=0.5)
        labelled = max(onlooker.schedulable.values()) - started

        alone = []
        for name in names[:20]:
            told = break_node(plane.api, name)
            eventually(lambda: name in onlooker.isolated, f"{name} to be isolated", every=0.005)
            alone.append(max(0, onlooker.isolated[name] - told))

        broken = names[20:20 + faults]
        began = time.time()
        busy = cpu_by_program(plane)
        at = dict(zip(broken, in_parallel(plane, break_node, broken)))
        eventually(lambda: len(onlooker.isolated) == 20 + faults, "every faulty node to be isolated", 300, every=0.5)
        took = [max(0, onlooker.isolated[name] - at[name]) for name in broken]
        span = max(onlooker.isolated.values()) - began
        spent = {name: now - busy[name] for name, now in cpu_by_program(plane).items()}

        print(f"\n  {nodes} nodes; 20 faults, one after another, then {faults} at once from {WRITERS} writers; the cloud does not answer. {RIVAL}")
        print(f"  {'condition -> taint and cordon seen, ms':<42}{'p50':>9}{'p99':>9}")
        for name, values in (("one fault at a time", alone), (f"{faults} at once", took)):
            print(f"  {name:<42}{quantile(values, .5) * 1000:>9.1f}{quantile(values, .99) * 1000:>9.1f}")
        print(f"  nodes isolated per second, the writers included: {faults / span:.0f}")
        # Who kept the machine's processors busy meanwhile: where it is not the controller, it is not what limits the rate.
        print(f"  CPU s of {span * os.cpu_count():.1f} that {os.cpu_count()} processors have in that time: "
              + ", ".join(f"{name} {seconds:.2f}" for name, seconds in sorted(spent.items(), key=lambda item: -item[1])))
        print(f"  controller: first plan {first_plan:.2f} s after its start, all labelled after {labelled:.1f} s, "
              f"{resident(controller):.0f} MB resident")
    finally:
        plane.stop()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--nodes", type=int, default=2000)
    arguments.add_argument("--faults", type=int, default=200)
    options = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mainstay-bench-"))
    try:
        run(folder, options.nodes, options.faults)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
