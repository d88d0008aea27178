"""What the tests of this folder share: programs and their logs, a local cluster whose controllers the test starts, waiting
for a condition, and what a finished recovery has to look like.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

import support  # noqa: E402
from support import eventually, free_port  # noqa: E402, F401

BIN = pathlib.Path(os.environ.get("MAINSTAY_BIN", ROOT / "build/release/bin"))

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
EVENTS = "/api/v1/events"
JOBS = "/apis/kubeflow.org/v1/namespaces/kubeflow/pytorchjobs"
RECOVERIES = "/apis/mainstay.dev/v1alpha1/noderecoveries"
POLICIES = "/apis/mainstay.dev/v1alpha1/recoverypolicies"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/mainstay-controller"

HEALTH = "sagemaker.amazonaws.com/node-health-status"
RESUME = "mainstay.dev/resume"
FINDINGS = "mainstay.dev/findings"
# What we put on nodes while an incident is open, beside the health label, the taint and the cordon.
OUR_MARKS = re.compile(r"mainstay\.dev/(?!findings)|sagemaker\.amazonaws\.com/fault-")

# The Neuron runtime's line, as AWS's tutorial has it.
FAULT = "2026-11-29T20:14:07Z NEURON_HW_ERR=DMA_ERROR nd-id=3 nc-id=0 serial-num=0000 action=TERMINATE_INSTANCE"
# Short, so that a crashed controller's lease runs out soon; a lease counts in whole seconds.
SHORT_LEASE = ["--lease-duration=1s", "--lease-renew-deadline=800ms", "--lease-retry-period=200ms"]

_TAIL_LINES = 40


def environment(folder, **more):
    """Without anything that could point a program at somebody's real cluster; files go below `folder`."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), **more}


def run(*arguments, within=60, folder="/nowhere", **more):
    """Runs one of our programs to its end."""
    program, *rest = map(str, arguments)
    return subprocess.run(
        [BIN / program, *rest], capture_output=True, text=True, timeout=within, env=environment(folder, **more)
    )


def processes_of(folder):
    """Command lines of the living processes that were told of `folder`."""
    mark = str(folder).encode()
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (process / "cmdline").read_bytes()
            if arguments and (mark in arguments or mark in (process / "environ").read_bytes()):
                found.append(arguments.replace(b"\0", b" ").decode(errors="replace").strip())
    return found


def print_logs(folder):
    """For a person who reads why a test failed."""
    for log in sorted(pathlib.Path(folder).rglob("*.log")):
        with contextlib.suppress(OSError):
            tail = log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
            print(f"--- {log}", *tail, sep="\n")


@contextlib.contextmanager
def scratch():
    """A folder that goes when the test is done, and stays, with its logs shown, when it failed. Its path is short, because
    Unix sockets lie in it.
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mainstay-test-"))
    try:
        yield folder
    except BaseException:
        print_logs(folder)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class Program:
    """One of our programs in the background; both streams go to its log."""

    def __init__(self, folder, name, *arguments, **more):
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BIN / arguments[0], *map(str, arguments[1:])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(folder, **more),
            )

    def text(self):
        return self.log.read_text(errors="replace")

    def ended(self):
        return self.process.poll() is not None

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, within=30):
        """Its exit code."""
        if not self.ended():
            self.send(number)
        return self.process.wait(within)


class LoneAgent(Program):
    """An agent without Kubernetes, and what its metrics say."""

    def __init__(self, folder, *flags):
        self._port = free_port()
        super().__init__(folder, "agent", "mainstay-agent", "--enable-k8s-exporter=false", f"--prometheus-port={self._port}", *flags)

    def series(self, name):
        """None while there is no such series."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + " ")), None)


class Api(support.Api):
    def events(self, name):
        """Reason and message of each Event about the object of this name."""
        return [(event["reason"], event["message"]) for event in self.items(EVENTS)
                if event["involvedObject"]["name"] == name]


def training_job(name="train", retries="2", pause_ms=20, annotations=None):
    """Three ranks on three whole nodes, which train until somebody stops them; the one checkpoint is at step 2."""
    template = {
        "spec": {
            "nodeSelector": {HEALTH: "Schedulable"},
            "containers": [{
                "name": "pytorch",
                "image": "mainstay/trainer:0.1",
                "command": ["mainstay-trainer"],
                "args": ["--steps=1000000", "--checkpoint-steps=2"],
                "env": [
                    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "CHECKPOINT_DIR", "value": "/checkpoints"},
                    {"name": "TRAINER_STEP_MILLIS", "value": str(pause_ms)},
                ],
                "resources": {"limits": {"aws.amazon.com/neuron": 16}},
                "volumeMounts": [{"name": "checkpoints", "mountPath": "/checkpoints"}],
            }],
            "volumes": [{"name": "checkpoints", "hostPath": {"path": f"/{name}", "type": "DirectoryOrCreate"}}],
        }
    }
    replica = {"restartPolicy": "OnFailure", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": name,
            "namespace": "kubeflow",
            "annotations": {
                "sagemaker.amazonaws.com/enable-job-auto-resume": "true",
                "sagemaker.amazonaws.com/job-max-retry-count": retries,
                **(annotations or {}),
            },
        },
        "spec": {
            "runPolicy": {"cleanPodPolicy": "None"},
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, **replica}, "Worker": {"replicas": 2, **replica}},
        },
    }


class Cluster:
    """`mainstay local up` with three nodes, an agent on each, and the policy of examples/. Controllers are the test's."""

    def __init__(self, folder, *flags):
        self.folder = folder
        self.programs = []
        self._start = folder / "up.json"
        with self._start.open("wb") as start, (folder / "up.log").open("wb") as log:
            self._up = subprocess.Popen(
                [BIN / "mainstay", "local", "up", "--controller=false", "--launch-delay=100ms", "-o", "json", *flags],
                stdin=subprocess.DEVNULL, stdout=start, stderr=log, env=environment(folder),
            )
        try:
            reach = eventually(self._reach, f"the local cluster to start ({self._start})")
        except BaseException:
            self.kill()
            raise
        self.home = pathlib.Path(reach["folder"])
        self.kubeconfig = pathlib.Path(reach["kubeconfig"])
        self.api = Api(reach["server"])

    def _reach(self):
        assert self._up.poll() is None, f"mainstay local up ended: {self._start.read_text()}"
        with contextlib.suppress(ValueError):
            return json.loads(self._start.read_text())

    def stop(self):
        """Ends every program, the cluster as Ctrl-C does."""
        for program in self.programs:
            program.stop(signal.SIGKILL)
        self._up.send_signal(signal.SIGTERM)
        assert self._up.wait(30) == 0

    def kill(self):
        """Ends every program without a word; their logs stay."""
        for program in self.programs:
            program.stop(signal.SIGKILL)
        self._up.kill()
        self._up.wait()

    def controller(self, name="controller", through=None, lease=SHORT_LEASE, **more):
        """Starts one; `through` is the URL of somebody who passes everything on to the server, `more` its environment."""
        server, kubeconfig = self.api.server, self.kubeconfig
        if through:
            kubeconfig = self.folder / f"{name}.kubeconfig"
            kubeconfig.write_text(self.kubeconfig.read_text().replace(server, through))
            server = through
        program = Program(
            self.folder, name, "mainstay-controller", f"--kubeconfig={kubeconfig}", f"--local-cloud={server}",
            *lease, **more,
        )
        self.programs.append(program)
        return program

    def mainstay(self, *arguments):
        """A command of `mainstay` against this cluster."""
        return run("mainstay", *arguments, f"--kubeconfig={self.kubeconfig}", folder=self.folder)

    def write_fault(self, node, line=FAULT):
        self.api.call("POST", f"/local/v1/nodes/{node}/kmsg", f"<3>{line}", "text/plain")

    def leader(self):
        lease = self.api.find(LEASE)
        return (lease or {}).get("spec", {}).get("holderIdentity", "")

    def progress(self, event, job="train"):
        """Steps at which rank 0 reported the event."""
        path = self.home / "host" / job / "progress-rank-0.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line["step"] for line in map(_json_or_none, lines) if line and line["event"] == event]

    def job(self, name="train"):
        return self.api.get(f"{JOBS}/{name}")

    def start_training(self):
        self.api.create(JOBS, training_job())

    def training(self):
        """Past its checkpoint, so that a stop loses something."""
        return any(step > 2 for step in self.progress("step"))

    def start_bystander(self, labels=None):
        """A pod on node-b that nothing but a drain moves."""
        eventually(lambda: self.api.find(f"{NODES}/node-b"), "node-b")
        container = {
            "name": "main",
            "image": "mainstay/trainer:0.1",
            "args": ["--steps=1000000"],
            "env": [{"name": "TRAINER_STEP_MILLIS", "value": "200"}],
        }
        self.api.create("/api/v1/namespaces/default/pods", {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bystander", "labels": labels or {}},
            "spec": {"nodeName": "node-b", "containers": [container]},
        })

    def bystander_runs(self):
        pod = self.api.get("/api/v1/namespaces/default/pods/bystander")
        return pod.get("status", {}).get("phase") == "Running"

    def incidents(self):
        return self.api.items(RECOVERIES)

    def phase(self):
        """Of the one incident; "" while there is none."""
        return next((incident.get("status", {}).get("phase", "") for incident in self.incidents()), "")

    def effects(self):
        """What changed in the cloud: action -> how often."""
        counts = {}
        for effect in self.api.get("/cloud/v1/effects"):
            counts[effect["action"]] = counts.get(effect["action"], 0) + 1
        return counts


def _json_or_none(line):
    """None for a line that is being written."""
    with contextlib.suppress(ValueError):
        return json.loads(line)


@contextlib.contextmanager
def cluster(*flags):
    with scratch() as folder:
        up = Cluster(folder, *flags)
        try:
            yield up
        except BaseException:
            up.kill()
            raise
        up.stop()


def node_state(node):
    """What we, or a person, may have done to it; nothing that changes by itself."""
    meta, spec = node["metadata"], node["spec"]
    return {
        "health": meta.get("labels", {}).get(HEALTH),
        "marks": sorted(key for key in {**meta.get("labels", {}), **meta.get("annotations", {})} if OUR_MARKS.match(key)),
        "taints": sorted(taint["key"] for taint in spec.get("taints", [])),
        "cordoned": spec.get("unschedulable", False),
    }


def incident_state(incident):
    status = incident.get("status", {})
    return {
        "node": incident["spec"]["node"]["name"],
        "phases": [transition["phase"] for transition in status.get("transitions", [])],
        "outcome": status.get("outcome"),
        "replacement": status.get("replacement", {}).get("name"),
        "jobs": [(job["name"], job.get("retry"), job.get("state")) for job in status.get("jobs", [])],
    }


def job_state(job):
    resume = json.loads(job["metadata"]["annotations"].get(RESUME, "{}"))
    return {
        "suspended": job["spec"]["runPolicy"].get("suspend", False),
        "retry": resume.get("retry"),
        "phase": resume.get("phase"),
        "incidents": len(resume.get("incidents", [])),
        "conditions": {condition["type"]: condition["status"] for condition in job["status"].get("conditions", [])},
    }


def outcome(up):
    """All that a recovery leaves behind, without what differs from run to run (names by UID, times)."""
    return {
        "nodes": {node["metadata"]["name"]: node_state(node) for node in up.api.items(NODES)},
        "incidents": [incident_state(incident) for incident in up.incidents()],
        "places": up.api.get(f"{POLICIES}/default").get("status", {}).get("active", []),
        "job": job_state(up.job()),
        "effects": up.effects(),
        "resumed": up.progress("resumed"),
    }


SOUND = {"health": "Schedulable", "marks": [], "taints": [], "cordoned": False}
# node-b replaced by node-d, the job stopped once and resumed from its checkpoint, and each effect outside once.
RECOVERED = {
    "nodes": {"node-a": SOUND, "node-c": SOUND, "node-d": SOUND},
    "incidents": [{
        "node": "node-b",
        "phases": ["Held", "Isolated", "Draining", "Replacing", "Validating", "Resolved"],
        "outcome": "Replaced",
        "replacement": "node-d",
        "jobs": [("train", 1, "Resumed")],
    }],
    "places": [],
    "job": {
        "suspended": False,
        "retry": 1,
        "phase": "Resumed",
        "incidents": 1,
        "conditions": {"Created": "True", "Running": "True", "Suspended": "False"},
    },
    "effects": {"LaunchInstance": 4, "SetInstanceHealth": 1, "TerminateInstance": 1},
    "resumed": [2],
}


def recovered(up):
    """The end of the story: everything as RECOVERED says, and training goes on past its checkpoint."""
    wrong = {key: value for key, value in outcome(up).items() if value != RECOVERED[key]}
    assert not wrong, f"the recovery has not ended as it should: {wrong}"
    return up.progress("step")[-1] > 2
