"""A flood of ordinary lines in the kernel log, with faults hidden in it: every one is found, or lies in a gap that was told.

By default a short one; MAINSTAY_FLOOD="RATE SECONDS" asks for more (scripts/bench flood).
"""
import json
import os
import pathlib
import re
import subprocess
import time
import urllib.request

import harness
from harness import BIN, eventually
from relay import Relay

RATE, SECONDS = map(int, os.environ.get("MAINSTAY_FLOOD", "50000 3").split())
FAULTS = 100
PORT = 20757
RULES = {
    "plugin": "kmsg", "source": "flood", "lookback": "0",
    "conditions": [{"type": "Flooded", "reason": "NoFault", "message": "no fault"}],
    "rules": [{"type": "temporary", "reason": "FloodFault", "pattern": "mainstay-flood fault \\d+ of \\d+"}],
}


def metric(name):
    text = urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=10).read().decode()
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
    return float(found[1]) if found else 0


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def gaps(log):
    """The numbers of the records that the agent said are gone: (first, last)."""
    return [(int(first), int(last or first))
            for first, last in re.findall(r"records? (\d+)(?: to (\d+))? of the kernel log (?:is|are) gone", log)]


def test_no_fault_is_lost_in_a_flood_without_a_word():
    with harness.cluster() as up:
        relay = Relay(up.api.server)
        kubeconfig = up.folder / "relay.kubeconfig"
        kubeconfig.write_text(up.kubeconfig.read_text().replace(up.api.server, relay.url))
        rules = up.folder / "flood.json"
        rules.write_text(json.dumps(RULES))
        socket = up.folder / "f.kmsg"
        flood = subprocess.Popen([BIN / "mainstay-flood", socket, str(RATE), str(SECONDS), str(FAULTS)], text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert flood.stdout.readline() == "ready\n"
        agent = harness.Program(
            up.folder, "flood-agent", "mainstay-agent", f"--config.system-log-monitor={rules}", f"--kmsg-path={socket}",
            f"--kubeconfig={kubeconfig}", "--hostname-override=node-a", "--port=0", f"--prometheus-port={PORT}",
            "--take-conditions")
        try:
            eventually(lambda: any(r.startswith("PATCH") for r in relay.requests), "the agent's first patch")
            before, writes = resident(agent.process.pid), len(relay.requests)
            began = time.time()
            flood.stdin.write("go\n")
            flood.stdin.flush()
            told = json.loads(flood.stdout.readline())
            read = 'mainstay_agent_records_total{source="kmsg"}'
            lost = 'mainstay_agent_records_lost_total{source="kmsg"}'
            eventually(lambda: metric(read) + metric(lost) >= told["written"], "the agent to reach the end", within=60)
            took = time.time() - began
            memory, found = resident(agent.process.pid), metric('problem_counter{reason="FloodFault"}')
            calls = [request for request in relay.requests[writes:] if not request.startswith("GET")]
            missing = [number for number in told["faults"]
                       if any(first <= number <= last for first, last in gaps(agent.text()))]
            print(f"\n  {told['written']:,} lines in {told['seconds']:.1f} s, read in {took:.1f} s; lost and told: {metric(lost):,.0f}")
            print(f"  faults found: {found:.0f} of {FAULTS}, in told gaps: {len(missing)}")
            print(f"  resident before {before:.1f} MB, after {memory:.1f} MB; writes to the API server: {len(calls)}")
            assert metric(read) + metric(lost) == told["written"]
            assert found + len(missing) == FAULTS
            assert memory < before + 6
            # Per fault source: a burst of 25 Events, one patch a second.
            assert len(calls) <= 30 + took
        finally:
            flood.kill()
            agent.stop()
            relay.close()
