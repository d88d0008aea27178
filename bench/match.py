"""scripts/bench match: ordinary kernel lines against all shipped rules, lines per second of one core; and
node-problem-detector with its own rules on the same lines, from a file, in the same run.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.request

from agents import BIN, PARTS, ROOT, cpu_seconds

PORT = 20657
LAST = "mainstay-bench the last line"


def ours(lines):
    return json.loads(subprocess.run([BIN / "mainstay-match", lines], check=True, capture_output=True, text=True).stdout)


def config(log):
    """NPD's kernel and Neuron rules as we ship them, reading a file, and one rule for the last line."""
    rules = [rule for name in ("npd", "neuron")
             for rule in json.loads((ROOT / f"rules/{name}/kernel-monitor.json").read_text())["rules"]]
    rules = [{key: rule[key] for key in ("type", "condition", "reason", "pattern") if key in rule} for rule in rules]
    conditions = sorted({rule["condition"] for rule in rules if "condition" in rule})
    return len(rules), {
        "plugin": "filelog", "logPath": str(log), "lookback": "24h", "bufferSize": 10, "source": "bench",
        "pluginConfig": {"timestamp": "^.{15}", "message": "kernel: \\[.*?\\] (.*)", "timestampFormat": "Jan _2 15:04:05"},
        "conditions": [{"type": name, "reason": "Fine", "message": "fine"} for name in conditions],
        "rules": rules + [{"type": "temporary", "reason": "Last", "pattern": f"{LAST}.*"}],
    }


def npd(lines, count, folder):
    """Lines per CPU second of node-problem-detector."""
    log = folder / "kern.log"
    stamp = time.strftime("%b %e %H:%M:%S")
    texts = lines.read_text().splitlines()
    with log.open("w") as out:
        for i in range(count):
            out.write(f"{stamp} host kernel: [{i}.000000] {texts[i % len(texts)]}\n")
        out.write(f"{stamp} host kernel: [0.000000] {LAST}\n")
    rules, document = config(log)
    (folder / "config.json").write_text(json.dumps(document))
    process = subprocess.Popen([PARTS / "nodeproblemdetector", f"--config.system-log-monitor={folder}/config.json",
                                "--enable-k8s-exporter=false", f"--prometheus-port={PORT}"], stderr=subprocess.DEVNULL)
    try:
        while True:
            time.sleep(0.2)
            assert process.poll() is None, "node-problem-detector has ended"
            try:
                metrics = urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=5).read().decode()
            except OSError:
                continue
            if re.search(r'problem_counter\{reason="Last"\} [1-9]', metrics):
                return rules, count / cpu_seconds(process.pid)
    finally:
        process.kill()
        process.wait()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--lines", type=int, default=20_000, help="for node-problem-detector")
    options = arguments.parse_args()
    lines = ROOT / "bench/ordinary.log"
    mine = ours(lines)
    rate = mine["lines"] / mine["seconds"]
    with tempfile.TemporaryDirectory(prefix="mainstay-bench-") as folder:
        rules, theirs = npd(lines, options.lines, pathlib.Path(folder))
    print(f"\n  {'ordinary kernel lines per second of one core':<48}{'rules':>8}{'lines/s':>14}")
    print(f"  {'node-problem-detector':<48}{rules:>8}{theirs:>14,.0f}")
    print(f"  {'mainstay, all shipped packs':<48}{mine['patterns']:>8}{rate:>14,.0f}")
    print(f"\n  mainstay / node-problem-detector: {rate / theirs:,.0f} x")


if __name__ == "__main__":
    main()
