"""Problem detectors and the logs they read: our agent on a stand-in of the kernel log, and stock node-problem-detector on a
log file.
"""
import datetime
import json
import os
import pathlib
import socket
import threading
import time

from harness import ROOT, Program

RULES = ROOT / "rules/neuron/kernel-monitor.json"
_PARTS = pathlib.Path(os.environ.get("MAINSTAY_PARTS", ROOT / "build/parts"))
_SECOND = 1_000_000


def free_port():
    """One that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class KernelLog:
    """The stand-in of /dev/kmsg (docs/design/003): answers one question with one record, and wakes the reader that found
    none.
    """

    def __init__(self, path):
        self._records = []
        self._armed = None
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def write(self, text):
        with self._lock:
            now = int(time.clock_gettime(time.CLOCK_MONOTONIC) * _SECOND)
            self._records.append(f"3,{len(self._records)},{now},-;{text}\n".encode())
            if self._armed:
                self._armed.send(b"w")
            self._armed = None

    def _accept(self):
        while True:
            reader, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(reader,), daemon=True).start()

    def _serve(self, reader):
        position = 0
        while request := reader.recv(1):
            with self._lock:
                if request == b"R" and position == len(self._records):
                    self._armed = reader
                    reader.send(b"e")
                elif request == b"R":
                    reader.send(b"r" + self._records[position])
                    position += 1
                else:
                    position = 0 if request == b"O" else len(self._records)
                    reader.send(b"s")


class Agent:
    """Ours."""

    def __init__(self, folder, name, *flags):
        self._log = KernelLog(folder / f"{name}.kmsg")
        self.port = free_port()
        self.program = Program(
            folder, f"{name}-agent", "mainstay-agent", f"--config.system-log-monitor={RULES}",
            f"--kmsg-path={folder / name}.kmsg", f"--prometheus-port={self.port}",
            *(flags or ["--enable-k8s-exporter=false"]),
        )

    def write(self, text):
        self._log.write(text)


class StockNpd:
    """node-problem-detector as it is released. It reads kernel messages from nowhere but /dev/kmsg, which is the machine's
    own; so it reads the same lines, by the same rules, from a file.
    """

    def __init__(self, folder, name):
        program = _PARTS / "nodeproblemdetector"
        assert program.exists(), f"{program} is missing; scripts/parts node-problem-detector builds it"
        self._log = folder / f"{name}.kern"
        self._log.touch()
        rules = json.loads(RULES.read_text())
        rules["plugin"] = "filelog"
        rules["logPath"] = str(self._log)
        rules["pluginConfig"] = {
            "timestamp": "^([^ ]+) ",
            "message": "^[^ ]+ kernel: (.*)$",
            "timestampFormat": "2006-01-02T15:04:05Z07:00",
        }
        config = folder / f"{name}.json"
        config.write_text(json.dumps(rules))
        self.port = free_port()
        self.program = Program(
            folder, f"{name}-npd", program, f"--config.system-log-monitor={config}", f"--prometheus-port={self.port}",
            "--enable-k8s-exporter=false",
        )

    def write(self, text):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        with self._log.open("a") as log:
            log.write(f"{now} kernel: {text}\n")


DETECTORS = {"mainstay-agent": Agent, "node-problem-detector": StockNpd}
