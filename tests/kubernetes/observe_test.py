"""Observe changes nothing but our own objects, leases, events, and the agent's conditions and findings: the API's audit log is
the judge.
"""
from control_plane import eventually
from room import FAULT, HEALTH, NAMESPACE, incident_of, phase, set_policy

OURS = f"system:serviceaccount:{NAMESPACE}:"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
ALLOWED = {
    ("noderecoveries", ""), ("noderecoveries", "status"), ("recoverypolicies", "status"), ("leases", ""), ("events", ""),
    ("nodes", "status"),  # of these, only the agent's: see below
}


def what(event):
    at = event["objectRef"]
    return at["resource"], at.get("subresource", "")


def writes_of_ours(plane):
    return [e for e in plane.audit() if e["user"]["username"].startswith(OURS) and e["verb"] in WRITES]


def test_observe_writes_nothing_but_what_it_saw(plane, room, mainstay):
    set_policy(plane, mode="Observe")
    before = len(writes_of_ours(plane))
    node = plane.api.get("/api/v1/nodes/node-c")

    room.kernel_logs["node-c"].write(FAULT)
    eventually(lambda: phase(plane, "node-c") == "Held", "an incident that says what would have been done")

    writes = writes_of_ours(plane)[before:]
    assert writes
    assert {what(e) for e in writes} <= ALLOWED
    assert {e["user"]["username"] for e in writes if what(e) == ("nodes", "status")} == {OURS + "mainstay-agent"}
    after = plane.api.get("/api/v1/nodes/node-c")
    assert after["spec"] == node["spec"]
    assert after["metadata"]["labels"].get(HEALTH) == node["metadata"]["labels"].get(HEALTH)
    assert "replace" in str(incident_of(plane, "node-c")["status"])
