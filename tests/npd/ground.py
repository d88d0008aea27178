"""Both agents, beside each other on one API server, with the same lines and configs, and what they say of them."""
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

from control_plane import BIN, PARTS, SERVER, eventually
from logs import Journal, KernelLogs
from streams import OWN, PAIRS, SHIPPED, STREAMS

REQUESTS = ["/healthz", "/readyz", "/debug/pprof/", "/conditions"]
# Programs that the helpers ask: none of this machine may be asked, let alone killed.
TOOLS = {
    "systemctl": '''case "$1" in
  show) echo "${3#--property=}=Mon 2020-01-06 10:00:00 UTC" | sed 's/^\\(.*Monotonic\\)=.*/\\1=1/' ;;
  *) exit 3 ;;
esac''',
    "docker": "exit 1",
    "crictl": "exit 1",
    "pkill": "exit 1",
}
SIDES = ("npd", "ours")
KUBELETS_OWN = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}
# NPD looks at files every half second, at conditions every second.
SETTLED_AFTER = 4
# Kind of monitor by what a config says.
FLAGS = {"custom": "custom-plugin-monitor", None: "system-stats-monitor"}


def rotate(log):
    log.rename(f"{log}.1")
    log.touch()


DEEDS = {"rotate": rotate, "truncate": lambda log: log.write_bytes(b"")}


@dataclasses.dataclass
class Said:
    """Conditions: type to (status, reason, message). Events: (type, reason, message, source) to how many there are and how many
    they count. Series: name and labels to value. Metrics: name to type and HELP. Others: what else can be seen.
    """
    conditions: dict = dataclasses.field(default_factory=dict)
    events: dict = dataclasses.field(default_factory=dict)
    series: dict = dataclasses.field(default_factory=dict)
    metrics: dict = dataclasses.field(default_factory=dict)
    others: dict = dataclasses.field(default_factory=dict)

    def problems(self):
        return {series: value for series, value in self.series.items() if series.startswith("problem_")}


class Ground:
    def __init__(self, plane):
        self.plane = plane
        self.folder = plane.folder
        self.started = time.time()
        self._make_proc()
        for side in SIDES:
            self._lay_out(side)
        (self.folder / "config").symlink_to(SHIPPED)
        self.kernel_logs = {name: KernelLogs(self.folder, name) for name, stream in STREAMS.items() if stream.source == "kmsg"}
        self.journal = Journal(self.folder)
        pathlib.Path("/var/log/empty-journal").mkdir()
        self._tools = self.folder / "tools"
        self._tools.mkdir()
        for name, script in TOOLS.items():
            (self._tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (self._tools / name).chmod(0o755)
        self.ports, self.nodes, self.uids = {}, {}, {}

    def _make_proc(self):
        """This machine's, but for modules and a command line that say something, and that not every kernel has."""
        proc = self.folder / "proc"
        proc.mkdir()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() and entry.name not in ("modules", "cmdline"):
                (proc / entry.name).symlink_to(entry)
        (proc / "modules").write_text("nf_nat 1 0 - Live 0x0 (O)\nnvidia_uvm 1 0 - Live 0x0 (POE)\nothers 1 0 - Live 0x0 (OE)\n"
                                      "ours 1 1 others, Live 0x0 (P)\next4 1 1 - Live 0x0\n")
        (proc / "cmdline").write_text('root=/dev/sda1 csm.enabled=1 module.sig_enforce=1 loadpin.enabled=1 text="a b=c"\n')

    def _lay_out(self, side):
        """The configs, with the helper programs where they are here; both have their own folder, as plugins may write."""
        configs = self.folder / side
        shutil.copytree(SHIPPED, configs)
        for name, config in OWN.items():
            (configs / name).write_text(json.dumps(config))
        for config in configs.rglob("*.json"):
            text = config.read_text().replace("@SIDE@", str(configs))
            for name in ("health-checker", "log-counter"):
                program = BIN / name if side == "ours" else PARTS / name.replace("-", "")
                text = text.replace(f"/home/kubernetes/bin/{name}", str(program))
            if '"invokeInterval"' in text:
                text = text.replace("{", f'{{"procPath": "{self.folder}/proc",', 1)
            text = text.replace('"--component=cri",\n', f'"--component=cri", "--crictl-path={self.folder}/tools/crictl",\n')
            # Once, so that both have run equally often whenever they are compared.
            config.write_text(re.sub(r'"invoke_interval": "[13]0s"', '"invoke_interval": "1h"', text))

    def add(self, side, pair):
        """A node, and an agent for it."""
        node = f"{side}-{len(self.ports):02}"
        self.ports[side, pair.name] = 21000 + 2 * len(self.ports)
        self.nodes[node] = side, pair.name
        self.uids[node] = self.plane.api.create("/api/v1/nodes", {"metadata": {"name": node}})["metadata"]["uid"]
        self.start(node, pair, pair.configs)

    def start(self, node, pair, configs):
        side, _ = self.nodes[node]
        port = self.ports[side, pair.name]
        flags = [f"--hostname-override={node}", f"--prometheus-port={port}", f"--port={port + 1}",
                 f"--apiserver-override={SERVER}?inClusterConfig=false&auth={self.plane.kubeconfig}"]
        for config in configs:
            path = self.folder / side / config
            plugin = json.loads(path.read_text()).get("plugin")
            flags.append(f"--config.{FLAGS.get(plugin, 'system-log-monitor')}={path}")
        log = self.kernel_logs.get(pair.stream)
        command = [PARTS / "nodeproblemdetector"]
        if side == "ours":
            command = [BIN / "mainstay-agent", *([f"--kmsg-path={log.socket}"] if log else []), *pair.ours]
        elif log:
            command = ["unshare", "--mount", "--propagation=private", "sh", "-c", 'mount --bind "$0" /dev/kmsg && exec "$@"',
                       log.pipe(), *command]
        self.plane.processes.start(node, *command, *flags, PATH=f"{self._tools}:{os.environ['PATH']}")

    def wait_for_all(self):
        eventually(self.said, "all agents to answer", also=(OSError,))

    def restart(self, pair):
        for node, (_, name) in self.nodes.items():
            if name == pair.name:
                self.plane.processes.stop(node)
                self.start(node, pair, pair.restarted)

    def touch(self):
        """NPD ends when it has no other log than a file that is not there."""
        for stream in STREAMS.values():
            for path, _ in sum(stream.phases, []) if stream.source == "filelog" else []:
                (self.folder / path).touch()

    def feed(self, phase):
        for name, stream in STREAMS.items():
            if phase < len(stream.phases):
                self._write(name, stream, stream.phases[phase])

    def _write(self, name, stream, lines):
        if stream.source == "kmsg":
            for line in lines:
                self.kernel_logs[name].write(line)
        elif stream.source == "journald":
            self.journal.write(lines)
        elif stream.source == "filelog":
            for path, line in lines:
                if line in DEEDS:
                    DEEDS[line](self.folder / path)
                    continue
                with open(self.folder / path, "ab") as log:
                    log.write((line() if callable(line) else line) + b"\n")

    def said(self):
        """By side and pair."""
        found = {key: Said() for key in self.ports}
        nodes = {node: found[key] for node, key in self.nodes.items()}
        for node in self.plane.api.items("/api/v1/nodes"):
            for condition in node["status"].get("conditions", []):
                if condition["type"] not in KUBELETS_OWN:
                    nodes[node["metadata"]["name"]].conditions[condition["type"]] = (
                        condition["status"], condition.get("reason"), condition.get("message"))
        for event in self.plane.api.items("/api/v1/events"):
            node, component = event["involvedObject"]["name"], event["source"].get("component")
            if node in nodes and component != "node-controller":
                self._take_event(event, node, component, nodes[node])
        for node, key in self.nodes.items():
            self._see_that_it_runs(node)
            read_metrics(self.ports[key], found[key])
        return found

    def _see_that_it_runs(self, node):
        try:
            self.plane.processes.check(node)
        except AssertionError as ended:
            raise RuntimeError(f"{self.nodes[node]}: {ended}") from None  # nothing to wait for

    def _take_event(self, event, node, component, said):
        key = event["type"], event["reason"], event.get("message", ""), component
        entries, count = said.events.get(key, (0, 0))
        said.events[key] = entries + 1, count + event.get("count", 1)
        subject = event["involvedObject"]
        said.others["involvedObject"] = subject["kind"], subject.get("apiVersion"), subject.get("uid") == self.uids[node]
        # The lines that are a minute old.
        stamp = datetime.datetime.fromisoformat(event["firstTimestamp"].replace("Z", "+00:00")).timestamp()
        if stamp < self.started:
            said.others["an Event older than the agent"] = True

    def look_around(self, said):
        """The status servers, and what plugins left."""
        for key, port in self.ports.items():
            others = said[key].others
            for path in REQUESTS:
                others[f"GET {path}"], text = get(f"http://127.0.0.1:{port + 1}{path}")
                if path == "/conditions":
                    for condition in json.loads(text) or []:
                        others[f"GET {path}: {condition['type']}"] = tuple(
                            value for name, value in condition.items() if name != "transition")
        for side in SIDES:
            left = subprocess.run(["pgrep", "-f", f"^tail -f {self.folder}/{side}/"], capture_output=True, check=False).stdout
            if left:
                said[side, "plugins: orphan"].others["left running"] = True


def get(url):
    """Status and text."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, ""


def read_metrics(port, said):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("# "):
                _, what, name, text = line.split(" ", 3)
                said.metrics.setdefault(name, {})[what] = text
            elif line:
                series, value = line.rsplit(" ", 1)
                said.series[series] = float(value)


def settle(ground, within=45):
    """What they say when nothing has changed for some time."""
    last, since, deadline = None, time.monotonic(), time.monotonic() + within
    while True:
        said = ground.said()
        seen = {key: (one.conditions, one.events, one.problems()) for key, one in said.items()}
        if seen != last:
            last, since = seen, time.monotonic()
        if time.monotonic() - since > SETTLED_AFTER:
            return said
        assert time.monotonic() < deadline, "they never stop to say something new"
        time.sleep(0.5)


def play(plane):
    """Everything at once: {pair: {side: Said}}."""
    ground = Ground(plane)
    ground.touch()
    ground.feed(0)
    for pair in PAIRS:
        for side in SIDES:
            ground.add(side, pair)
    ground.wait_for_all()
    for phase in range(1, max(len(stream.phases) for stream in STREAMS.values())):
        ground.feed(phase)
        said = settle(ground)
    for pair in PAIRS:
        if pair.restarted:
            ground.restart(pair)
    ground.wait_for_all()
    said = settle(ground)
    ground.look_around(said)
    return {pair.name: {side: said[side, pair.name] for side in SIDES} for pair in PAIRS}
