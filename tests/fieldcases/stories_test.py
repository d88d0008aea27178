"""The cases that are no log but a story: NAME.json says what happens, NAME.expect.json what must come of it. Each is played
where its parts are; this file knows where, and plays those that need the agent itself.
"""
import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(ROOT / "tests/local"), str(ROOT / "tests/kubernetes")]

from harness import FINDINGS, NODES, Program, cluster, eventually  # noqa: E402
from kernel_log import KernelLog  # noqa: E402

PLAYED_IN = {
    "B02": "src/agent/field_cases_test.cc",
    "B03": "src/agent/field_cases_test.cc",
    "B08": "src/agent/field_cases_test.cc",
    "B10": "tests/fieldcases/stories_test.py",
    "B14": "src/agent/agent_restart_test.cc",
}
NODE = "gpu-1"
XID = "NVRM: Xid (PCI:0000:5e:00): 79,"


@pytest.mark.parametrize("case", sorted(path.name.split(".")[0] for path in HERE.glob("*.expect.json")))
def test_case_is_played(case):
    assert (HERE / f"{case}.kmsg").exists() or case in (ROOT / PLAYED_IN[case]).read_text()


def whole(config):
    """With what the story leaves out: the kind of monitor, a window of one line, where `^` is the line's beginning, and the
    condition that its first rule sets, if it is declared.
    """
    rule = config["rules"][0]
    declared = [rule["condition"]] if rule["condition"] != "NotDeclared" else []
    return {
        "plugin": "custom" if "path" in rule else "kmsg",
        "source": "rules",
        "bufferSize": 1,
        "conditions": [{"type": type, "reason": f"No{type}", "message": "fine"} for type in declared],
        **config,
    }


class Node:
    """A node of a local cluster with an agent on it that reads config files."""

    def __init__(self, up):
        self.up = up
        self.log = KernelLog(up.folder / "gpu-1.kmsg")
        up.api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}, "spec": {}})

    def start(self, files):
        flags = []
        for name, config in files.items():
            path = self.up.folder / name
            path.write_text(json.dumps(config))
            kind = "custom-plugin" if config["plugin"] == "custom" else "system-log"
            flags.append(f"--config.{kind}-monitor={path}")
        agent = Program(self.up.folder, "gpu-1", "mainstay-agent", f"--kubeconfig={self.up.kubeconfig}",
                        f"--hostname-override={NODE}", "--port=0", "--prometheus-port=0", f"--kmsg-path={self.log.path}", *flags)
        self.up.programs.append(agent)
        return agent

    def condition(self, type):
        """Its status and reason."""
        conditions = self.up.api.get(f"{NODES}/{NODE}").get("status", {}).get("conditions", [])
        return next(((one["status"], one.get("reason")) for one in conditions if one["type"] == type), None)

    def findings(self):
        annotations = self.up.api.get(f"{NODES}/{NODE}")["metadata"].get("annotations", {})
        return {(one["type"], one["reason"], one.get("device", "")) for one in json.loads(annotations.get(FINDINGS, "[]"))}


def test_b10_a_bad_file_takes_down_nobody_but_itself_and_is_over_when_it_is_mended():
    files = {name: whole(config) for name, config in json.loads((HERE / "B10.json").read_text())["files"].items()}
    expected = json.loads((HERE / "B10.expect.json").read_text())["conditions"]
    bad = {(one["type"], one["reason"], one["subject"]) for one in expected}
    with cluster() as up:
        node = Node(up)
        agent = node.start(files)
        eventually(lambda: node.findings() == bad, "what is told of the bad files")
        assert node.condition("MonitorDegraded") == ("True", "BadRuleFile")
        for name in ("counter.json", "broken.json"):
            assert f"{name}:1:" in agent.text()
        node.log.write(XID)
        eventually(lambda: node.condition("GPUFault") == ("True", "Xid79"), "the rules of the good file")

        assert agent.stop() == 0
        files["counter.json"]["rules"][0]["path"] = "/bin/true"
        files["broken.json"]["rules"][0]["pattern"] = "closed"
        node.start(files)
        eventually(lambda: node.condition("MonitorDegraded") == ("False", "MonitorsAreReading"), "the mended files")
        assert node.findings() == {("GPUFault", "Xid79", "")}
