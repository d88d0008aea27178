"""Stock node-problem-detector beside our agent on one node: they do not fight over a condition."""
import json

from control_plane import PARTS, SERVER, eventually
from observe_test import OURS
from room import rules

NODE = "node-a"


def our_patches(plane):
    """The condition types in each of our agent's patches of that node."""
    return [[c["type"] for c in e["requestObject"].get("status", {}).get("conditions", [])] for e in plane.audit()
            if e["verb"] == "patch" and e["objectRef"].get("name") == NODE
            and e["user"]["username"] == OURS + "mainstay-agent"]


def owners_of_the_condition(plane):
    node = plane.api.get(f"/api/v1/nodes/{NODE}")
    return {entry["manager"] for entry in node["metadata"]["managedFields"]
            if 'k:{"type":"NeuronHealth"}' in entry["fieldsV1"].get("f:status", {}).get("f:conditions", {})}


def test_the_agent_leaves_a_condition_to_npd(plane, room, mainstay):
    assert "NeuronHealth" in our_patches(plane)[-1]
    config = plane.folder / "npd.json"
    config.write_text(json.dumps(rules()))
    plane.processes.start(
        "npd", PARTS / "nodeproblemdetector", f"--config.system-log-monitor={config}", f"--hostname-override={NODE}",
        f"--apiserver-override={SERVER}?inClusterConfig=false&auth={plane.kubeconfig}", "--port=0", "--prometheus-port=0",
        "--k8s-exporter-heartbeat-period=2s")
    try:
        eventually(lambda: "node-problem-detector" in owners_of_the_condition(plane)
                   or "nodeproblemdetector" in owners_of_the_condition(plane), "NPD to write its condition", within=30)
        eventually(lambda: any(event["reason"] == "ConditionOwnedByOther" for event in
                               plane.api.items("/api/v1/namespaces/default/events")), "the agent to say that it yields", 30)
        yielded = len(our_patches(plane))
        eventually(lambda: len(our_patches(plane)) >= yielded + 2, "two more heartbeats of ours", within=30)
        assert not any("NeuronHealth" in types for types in our_patches(plane)[yielded:])
        plane.processes.check("npd")
    finally:
        plane.processes.stop("npd")
