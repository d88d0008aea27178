"""Both agents, beside each other on one API server, with the same lines and configs, and what they say of them."""
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import threading
import time
import urllib.request

from control_plane import BIN, PARTS, ROOT, SERVER, eventually
from kernel_log import KernelLog
from streams import OWN, PAIRS, STREAMS, Raw

SIDES = ("npd", "ours")
JOURNAL = pathlib.Path("/var/log/journal")
JOURNAL_MAKER = "/lib/systemd/systemd-journal-remote"
KUBELETS_OWN = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}
# NPD looks at files every half second, at conditions every second.
SETTLED_AFTER = 4
# Kind of monitor by what a config says.
FLAGS = {"custom": "custom-plugin-monitor", None: "system-stats-monitor"}


@dataclasses.dataclass
class Said:
    """Conditions: type to (status, reason, message). Events: (type, reason, message, source) to how many there are and how many
    they count. Series: name and labels to value. Metrics: name to type and HELP.
    """
    conditions: dict = dataclasses.field(default_factory=dict)
    events: dict = dataclasses.field(default_factory=dict)
    series: dict = dataclasses.field(default_factory=dict)
    metrics: dict = dataclasses.field(default_factory=dict)

    def problems(self):
        return {series: value for series, value in self.series.items() if series.startswith("problem_")}


class KernelLogs:
    """One kernel log for both: ours reads the stand-in's socket, each NPD a pipe in packet mode that lies over /dev/kmsg: one
    record for each read, as the device gives it.
    """

    def __init__(self, folder, name):
        self._folder, self._name = folder, name
        self.socket = folder / f"{name}.kmsg"
        self._ours = KernelLog(self.socket)
        self._for_npd, self._pipes = [], []
        self._lock = threading.Lock()

    def pipe(self):
        """A new reader's, from the oldest record on."""
        path = self._folder / f"{self._name}.{len(self._pipes)}.pipe"
        os.mkfifo(path)
        self._pipes.append(path)
        threading.Thread(target=self._feed, args=(path,), daemon=True).start()
        return path

    def write(self, line):
        """`line`: text, (priority, text[, seconds ago]), or a whole record in which @ stands for the next number and for now."""
        priority, text, ago = (*line, 0)[:3] if isinstance(line, tuple) else (3, line, 0)
        number = len(self._for_npd)
        # Each agent has its idea of the clock of the kernel's log: they differ after a suspend.
        ours, npd = (self._record(priority, number, text, time.clock_gettime(clock) - ago)
                     for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME))
        self._ours.append(ours)
        self._for_npd.append(npd)

    @staticmethod
    def _record(priority, number, text, seconds):
        micros = int(seconds * 1e6)
        if isinstance(text, Raw):
            return bytes(text).replace(b"@,@", f"{number},{micros}".encode()).replace(b"@", b"")
        return f"{priority},{number},{micros},-;".encode() + (text if isinstance(text, bytes) else text.encode()) + b"\n"

    def _feed(self, path):
        with open(path, "wb", buffering=0) as pipe:  # waits for the reader
            fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_DIRECT)
            written = 0
            while True:
                while written < len(self._for_npd):
                    pipe.write(self._for_npd[written])
                    written += 1
                time.sleep(0.01)


class Journal:
    def __init__(self, folder):
        self._export = folder / "journal-entries"
        self._entries = 0
        JOURNAL.mkdir()

    def write(self, lines):
        """(identifier, message[, seconds ago]) each."""
        text = b""
        for identifier, message, *ago in lines:
            self._entries += 1
            message = message if isinstance(message, bytes) else message.encode()
            text += (f"__REALTIME_TIMESTAMP={int((time.time() - (ago[0] if ago else 0)) * 1e6)}\n"
                     f"__MONOTONIC_TIMESTAMP={self._entries}\n_BOOT_ID={'0123456789abcdef' * 2}\n"
                     f"SYSLOG_IDENTIFIER={identifier}\nMESSAGE\n").encode()
            text += struct.pack("<Q", len(message)) + message + b"\n\n"
        self._export.write_bytes(text)
        subprocess.run([JOURNAL_MAKER, f"--output={JOURNAL}/system.journal", self._export], check=True, capture_output=True)


class Ground:
    def __init__(self, plane):
        self.plane = plane
        self.folder = plane.folder
        for side in SIDES:
            self._lay_out(side)
        (self.folder / "config").symlink_to(ROOT / "rules/npd")
        self.kernel_logs = {name: KernelLogs(self.folder, name) for name, stream in STREAMS.items() if stream.source == "kmsg"}
        self.journal = Journal(self.folder)
        self.ports = {}

    def _lay_out(self, side):
        """The configs, with the helper programs where they are here; both have their own folder, as plugins may write."""
        configs = self.folder / side
        shutil.copytree(ROOT / "rules/npd", configs)
        for name, config in OWN.items():
            (configs / name).write_text(json.dumps(config))
        helpers = {"npd": (PARTS / "healthchecker", PARTS / "logcounter"), "ours": (BIN / "health-checker", BIN / "log-counter")}
        for config in configs.rglob("*.json"):
            text = config.read_text()
            for name, program in zip(("health-checker", "log-counter"), helpers[side]):
                text = text.replace(f"/home/kubernetes/bin/{name}", str(program))
            config.write_text(text.replace("@SIDE@", str(configs)))

    def start(self, side, pair):
        """An agent on a node of its own."""
        self.plane.api.create("/api/v1/nodes", {"metadata": {"name": f"{side}-{pair.name}"}})
        port = self.ports[side, pair.name] = 21000 + len(self.ports)
        flags = [f"--hostname-override={side}-{pair.name}", "--port=0", f"--prometheus-port={port}",
                 f"--apiserver-override={SERVER}?inClusterConfig=false&auth={self.plane.kubeconfig}"]
        for config in pair.configs:
            path = self.folder / side / config
            plugin = json.loads(path.read_text()).get("plugin")
            flags.append(f"--config.{FLAGS.get(plugin, 'system-log-monitor')}={path}")
        log = self.kernel_logs.get(pair.stream)
        command = [PARTS / "nodeproblemdetector"]
        if side == "ours":
            command = [BIN / "mainstay-agent", *([f"--kmsg-path={log.socket}"] if log else [])]
        elif log:
            command = ["unshare", "--mount", "--propagation=private", "sh", "-c", 'mount --bind "$0" /dev/kmsg && exec "$@"',
                       log.pipe(), *command]
        self.plane.processes.start(f"{side}-{pair.name}", *command, *flags)

    def feed(self, name, stream, lines):
        if stream.source == "kmsg":
            for line in lines:
                self.kernel_logs[name].write(line)
        elif stream.source == "journald":
            self.journal.write(lines)
        elif stream.source == "filelog":
            for path, line in lines:
                with open(self.folder / path, "ab") as log:
                    log.write(line + b"\n")

    def said(self):
        """By side and pair."""
        found = {key: Said() for key in self.ports}
        nodes = {f"{side}-{name}": said for (side, name), said in found.items()}
        for node in self.plane.api.items("/api/v1/nodes"):
            for condition in node["status"].get("conditions", []):
                if condition["type"] not in KUBELETS_OWN:
                    nodes[node["metadata"]["name"]].conditions[condition["type"]] = (
                        condition["status"], condition.get("reason"), condition.get("message"))
        for event in self.plane.api.items("/api/v1/events"):
            said = nodes.get(event["involvedObject"]["name"])
            component = event["source"].get("component")
            if said and component != "node-controller":
                key = event["type"], event["reason"], event.get("message", ""), component
                entries, count = said.events.get(key, (0, 0))
                said.events[key] = entries + 1, count + event.get("count", 1)
        for key, said in found.items():
            read_metrics(self.ports[key], said)
        return found


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
        if time.monotonic() - since > SETTLED_AFTER or time.monotonic() > deadline:
            return said
        time.sleep(0.5)


def play(plane):
    """Everything at once: {pair: {side: Said}}."""
    ground = Ground(plane)
    for name, stream in STREAMS.items():
        ground.feed(name, stream, stream.lines[:stream.before])
    for pair in PAIRS:
        for side in SIDES:
            ground.start(side, pair)
    eventually(ground.said, "all agents to answer", within=60, also=(OSError,))
    for name, stream in STREAMS.items():
        ground.feed(name, stream, stream.lines[stream.before:])
    said = settle(ground)
    for side, name in said:
        plane.processes.check(f"{side}-{name}")
    return {pair.name: {side: said[side, pair.name] for side in SIDES} for pair in PAIRS}
