"""Two controllers: one that is stopped past its lease, and wakes, writes nothing."""
import os
import pathlib
import signal

from control_plane import eventually
from observe_test import WRITES
from room import FAULT, NAMESPACE, phase

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/mainstay-controller"
POD_NAME = "authentication.kubernetes.io/pod-name"


def holder(plane):
    return plane.api.get(LEASE)["spec"]["holderIdentity"]


def leading_pod(plane):
    names = [pod["metadata"]["name"] for pod in plane.api.items(f"/api/v1/namespaces/{NAMESPACE}/pods")]
    return next(name for name in names if name in holder(plane))


def process_of(pod):
    """The controller's process in that pod's container."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (b"mainstay-controller" in (process / "cmdline").read_bytes()
                    and f"HOSTNAME={pod}\0".encode() in (process / "environ").read_bytes()):
                return int(process.name)
        except OSError:
            pass
    raise AssertionError(f"no process of {pod}")


def requests_of(plane, pod):
    return [e for e in plane.audit() if pod in e["user"].get("extra", {}).get(POD_NAME, [])]


def test_a_leader_that_sleeps_past_its_lease_wakes_and_writes_nothing(plane, room, mainstay):
    sleeper = leading_pod(plane)
    process = process_of(sleeper)
    os.kill(process, signal.SIGSTOP)
    try:
        eventually(lambda: leading_pod(plane) != sleeper, "the other one to lead")
        slept = len(requests_of(plane, sleeper))
        room.kernel_logs["node-d"].write(FAULT)
        eventually(lambda: phase(plane, "node-d"), "the new leader to open the incident")
    finally:
        os.kill(process, signal.SIGCONT)

    awake = lambda: requests_of(plane, sleeper)[slept:]
    eventually(lambda: any(e["objectRef"]["resource"] == "leases" for e in awake()), "the woken one to look at its lease")

    assert leading_pod(plane) != sleeper
    assert [e["requestURI"] for e in awake() if e["verb"] in WRITES and e["objectRef"]["resource"] != "leases"] == []
