"""The demo's story on a real cluster: three nodes with real containers, the agent as a DaemonSet and two controllers from the
chart, Kubeflow's training operator, and a cloud behind AWS's wire. A fault on one node; the job goes on from its checkpoint and
ends with the very parameters of a run without a fault.
"""
from control_plane import eventually
from room import FAULT, HEALTH, JOBS, final_hash, incident_of, phase, progress, steps, training_job


def test_a_fault_is_recovered_and_the_job_ends_as_without_it(plane, room, mainstay, folder):
    unbroken, broken = folder / "unbroken", folder / "broken"
    training_job(plane, "rehearsal", unbroken)
    expected = final_hash(plane, "rehearsal", unbroken)
    plane.api.delete(f"{JOBS}/rehearsal")

    training_job(plane, "llama-mini", broken)
    eventually(lambda: steps(broken) and steps(broken)[-1] >= 86, "training to reach step 86", within=120)
    room.kernel_logs["node-b"].write(FAULT)

    assert final_hash(plane, "llama-mini", broken) == expected
    assert [line["step"] for line in progress(broken) if line["event"] == "resumed"] == [77]
    eventually(lambda: phase(plane, "node-b") == "Resolved", "the incident to be closed")
    assert incident_of(plane, "node-b")["status"]["replacement"]["name"] == "node-d"
    assert plane.api.find("/api/v1/nodes/node-b") is None
    print(plane.kubectl("get", "nodes", "-L", HEALTH))
    print(plane.kubectl("get", "pods", "-A", "-o", "wide"))
    print(plane.kubectl("get", "noderecoveries"))
