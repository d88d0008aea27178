"""What `helm uninstall` leaves behind on nodes and jobs that recoveries went through."""
import subprocess

from control_plane import ROOT
from room import HEALTH, JOBS, NAMESPACE, RECOVERIES


def ours(keys):
    return [key for key in keys if "mainstay.dev/" in key or key.startswith("sagemaker.amazonaws.com/")]


def test_an_uninstall_gives_nodes_and_jobs_back(plane, room, mainstay):
    nodes = plane.api.items("/api/v1/nodes")
    assert any(HEALTH in node["metadata"]["labels"] for node in nodes), "there is something to give back"

    subprocess.run([*mainstay, "uninstall", "mainstay", "--namespace", NAMESPACE, "--wait", "--timeout", "3m"], check=True,
                   capture_output=True)

    for node in plane.api.items("/api/v1/nodes"):
        meta = node["metadata"]
        assert ours(meta["labels"]) == [] and ours(meta.get("annotations", {})) == [], meta
        assert ours(taint["key"] for taint in node["spec"].get("taints", [])) == []
        assert not node["spec"].get("unschedulable")
    for job in plane.api.items(JOBS):
        assert "mainstay.dev/resume" not in job["metadata"].get("annotations", {})
    assert plane.api.items(RECOVERIES), "the incidents stay, for whoever wants to know"
