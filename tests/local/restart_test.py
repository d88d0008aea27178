"""An agent that is stopped, or killed, and started again in the same boot goes on where it was; a person calls a fault over."""
import json
import signal
import sys
import time

import pytest

import harness
from harness import LoneAgent, eventually, scratch

sys.path.append(str(harness.ROOT / "tests/kubernetes"))
from kernel_log import KernelLog  # noqa: E402

XID = "NVRM: Xid (PCI:0000:{}:00): 79, pid=1, name=python3, GPU has fallen off the bus."
FAULT = 'problem_gauge{reason="Xid79",type="GPUFault"}'
EVENTS = 'problem_counter{reason="XidError"}'
LOST = 'mainstay_agent_records_lost_total{source="kmsg"}'


@pytest.fixture
def folder():
    with scratch() as folder:
        yield folder


class Ring:
    """A node's kernel log, of which the oldest records may be overwritten while nobody reads."""

    def __init__(self, folder):
        self._folder, self._seq, self._logs = folder, 0, 0
        self.overwrite()

    def overwrite(self):
        """All that is there; the numbers go on."""
        self._logs += 1
        self.path = self._folder / f"{self._logs}.kmsg"
        self._log = KernelLog(self.path)

    def write(self, text, ago=0):
        micros = int(max(time.clock_gettime(time.CLOCK_MONOTONIC) - ago, 0) * 1e6)
        self._log.append(f"3,{self._seq},{micros},-;{text}\n".encode())
        self._seq += 1


def start(folder, ring):
    agent = LoneAgent(folder, "--rule-packs=nvidia", f"--kmsg-path={ring.path}", f"--state-file={folder}/state.json")
    eventually(lambda: agent.series('mainstay_agent_source_up{source="kmsg"}') == 1, "the agent to read", also=[OSError])
    return agent


def saved(folder):
    return json.loads((folder / "state.json").read_text())


def test_a_stopped_agent_goes_on_where_it_was(folder):
    ring = Ring(folder)
    ring.write(XID.format("5e"))
    agent = start(folder, ring)
    eventually(lambda: agent.series(FAULT) == 1 and agent.series(EVENTS) == 1, "the fault")
    assert agent.stop() == 0
    assert saved(folder)["kernelLog"]["seq"] == 0

    ring.write(XID.format("3b"), ago=400)  # longer than an agent looks back
    ring.write("something else")
    agent = start(folder, ring)
    eventually(lambda: agent.series('mainstay_agent_records_total{source="kmsg"}') == 3, "the whole log to be read")
    assert (agent.series(FAULT), agent.series(EVENTS), agent.series(LOST)) == (1, 1, 0), "each fault once"
    assert agent.stop() == 0

    ring.write("overwritten")
    ring.write("overwritten, too")
    ring.overwrite()
    ring.write("the oldest that is left")
    agent = start(folder, ring)
    eventually(lambda: agent.series(LOST) == 2, "the loss to be told")
    assert agent.series('problem_gauge{reason="KernelLogRecordsLost",type="MonitorDegraded"}') == 1
    assert "records 3 to 4 of the kernel log are gone, overwritten while no agent read" in agent.text()
    assert agent.stop() == 0


def test_a_killed_agent_has_written_down_what_it_found(folder):
    ring = Ring(folder)
    agent = start(folder, ring)
    ring.write(XID.format("5e"))
    eventually(lambda: saved(folder)["findings"], "the finding to be written", also=[OSError])
    agent.stop(signal.SIGKILL)
    ring.overwrite()
    agent = start(folder, ring)
    eventually(lambda: agent.series(FAULT) == 1, "the fault to be known")
    assert agent.stop() == 0


def test_a_file_of_another_boot_or_in_tatters_is_told_and_not_used(folder):
    ring = Ring(folder)
    for text in ("{", json.dumps({"version": 1, "node": "", "bootID": "another"})):
        (folder / "state.json").write_text(text)
        agent = start(folder, ring)
        assert agent.stop() == 0
        assert "the state of an earlier run is not used" in agent.text()
        assert saved(folder)["bootID"] not in ("", "another")


def test_a_person_calls_a_fault_over(folder):
    with harness.cluster() as up:
        def condition():
            node = up.api.get(f"{harness.NODES}/node-b")
            found = [c["status"] for c in node["status"]["conditions"] if c["type"] == "NeuronHealth"]
            return found[0] if found else None

        eventually(lambda: condition() == "False", "the agent's first word", also=[harness.support.ApiError])
        assert "nothing to clear" in up.mainstay("node", "clear", "node-b", "--reason=checked").stdout
        up.write_fault("node-b")
        eventually(lambda: condition() == "True", "the fault")
        assert up.mainstay("node", "clear", "node-b").returncode == 2, "a reason is asked for"
        assert "not found" in up.mainstay("node", "clear", "node-x", "--reason=checked").stderr
        tried = up.mainstay("node", "clear", "node-b", "--dry-run")
        assert "would be told" in tried.stdout, tried.stderr
        told = up.mainstay("node", "clear", "node-b", "--condition=NeuronHealth", "--reason=board swapped")
        assert told.returncode == 0, told.stderr
        eventually(lambda: condition() == "False", "the agent to hear it")
        eventually(lambda: any(reason == "ClearedByOperator" and "board swapped" in message
                               for reason, message in up.api.events("node-b")), "the Event")
        assert "mainstay.dev/clear" not in up.api.get(f"{harness.NODES}/node-b")["metadata"].get("annotations", {})
