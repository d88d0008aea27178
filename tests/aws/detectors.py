"""Problem detectors and the logs they read: our agent on a stand-in of the kernel log, and stock node-problem-detector on a
log file.
"""
import datetime
import json
import os
import pathlib

from harness import ROOT, Program, free_port
from kernel_log import KernelLog

RULES = ROOT / "rules/neuron/kernel-monitor.json"
_PARTS = pathlib.Path(os.environ.get("MAINSTAY_PARTS", ROOT / "build/parts"))


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
