"""scripts/bench latency, memory and idle: our agent and stock node-problem-detector beside each other, with the same 60 conditions,
on one real API server and the machine's real kernel log. Ours, NPD's and a bare PATCH by our client take turns, so that all
three see the same machine.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests/kubernetes"))

from control_plane import BIN, PARTS, SERVER, ControlPlane  # noqa: E402

CONDITIONS = 60
# Lines of earlier runs are in the kernel log still.
RUN = f"{random.getrandbits(32):08x}"
# printk_devkmsg=ratelimit lets a program write 10 lines in 5 s.
KMSG_PAUSE = 0.55


def config(who):
    """NPD's format: 60 conditions, each with two reasons, so that each can change again and again."""
    numbers = [f"{i:02}" for i in range(CONDITIONS)]
    return {
        # NPD drops what its start-up time, taken from /proc/uptime, lies after; on a machine that was ever paused the kernel
        # log's clock is behind that.
        "plugin": "kmsg", "logPath": "/dev/kmsg", "lookback": "24h", "bufferSize": 10, "source": "bench",
        "conditions": [{"type": f"Bench{n}", "reason": f"BenchFine{n}", "message": "fine"} for n in numbers],
        "rules": [{"type": "permanent", "condition": f"Bench{n}", "reason": f"Reason{letter}",
                   "pattern": f"mainstay-bench {RUN} {who} {n} {letter} .*"} for n in numbers for letter in "AB"],
    }


def node_versions(plane):
    """Each version of each node, with the time at which a watcher sees it, for as long as there is a server, which ends a watch
    after half an hour.
    """
    context, seen = ssl.create_default_context(cafile=plane.ca), ""
    while True:
        request = urllib.request.Request(f"{SERVER}/api/v1/nodes?watch=true{seen}",
                                         headers={"Authorization": f"Bearer {plane.token('admin')}"})
        try:
            watch = urllib.request.urlopen(request, context=context)
        except OSError:
            return
        for line in watch:
            at, event = time.time(), json.loads(line)
            assert event["type"] != "ERROR", event
            seen = f"&resourceVersion={event['object']['metadata']['resourceVersion']}"
            yield at, event["object"]


class Onlooker:
    """Watches all nodes, and knows when each condition was first seen with each message."""

    def __init__(self, plane):
        self.seen = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._follow, args=(plane,), daemon=True).start()

    def _follow(self, plane):
        for at, node in node_versions(plane):
            with self._changed:
                for condition in node["status"].get("conditions", []):
                    key = node["metadata"]["name"], condition["type"], condition["reason"], condition["message"]
                    self.seen.setdefault(key, at)
                self._changed.notify_all()

    def wait(self, node, kind, marker, within=30):
        """When the condition's message first held `marker`."""
        def found():
            return next((at for (n, k, _, message), at in self.seen.items() if n == node and k == kind and marker in message),
                        None)

        with self._changed:
            assert self._changed.wait_for(found, within), f"{node} {kind} {marker} was never seen"
            return found()


class Ground:
    def __init__(self, folder):
        self.plane = ControlPlane(folder, audited=False).start()
        for node in ("ours", "npd", "bare", "own"):
            self.plane.api.create("/api/v1/nodes", {"metadata": {"name": node}})
            (folder / f"{node}.json").write_text(json.dumps(config(node)))
        self.onlooker = Onlooker(self.plane)
        self.ours = self.plane.processes.start(
            "ours", BIN / "mainstay-agent", f"--config.system-log-monitor={folder}/ours.json",
            f"--kubeconfig={self.plane.kubeconfig}", "--hostname-override=ours", "--port=0", "--prometheus-port=20357",
            "--rule-packs=shipped")
        self.npd = self.plane.processes.start(
            "npd", PARTS / "nodeproblemdetector", f"--config.system-log-monitor={folder}/npd.json",
            f"--apiserver-override={SERVER}?inClusterConfig=false&auth={self.plane.kubeconfig}",
            "--hostname-override=npd", "--port=0", "--prometheus-port=20457")
        for node in ("ours", "npd"):
            self.onlooker.wait(node, "Bench59", "fine", 60)
        self.bare = subprocess.Popen([BIN / "mainstay-bare-patch", self.plane.kubeconfig, "bare"], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._round = 0

    def stop(self):
        self.bare.kill()
        self.plane.stop()

    def next_marker(self):
        """Condition number, reason letter and a number that no line had before."""
        self._round += 1
        return f"{self._round % CONDITIONS:02} {'AB'[self._round // CONDITIONS % 2]} {self._round}"

    def line(self, who):
        """Seconds from the line in the kernel log to the condition that a watcher sees."""
        marker = self.next_marker()
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            at = time.time()
            kmsg.write(f"<4>mainstay-bench {RUN} {who} {marker} x\n".encode())  # without its end the kernel waits for more of the line
        return self.onlooker.wait(who, f"Bench{marker[:2]}", f"{who} {marker}") - at

    def bare_patch(self):
        """The same for a bare PATCH, from its start."""
        marker = self.next_marker()
        self.bare.stdin.write(marker + "\n")
        self.bare.stdin.flush()
        at = int(self.bare.stdout.readline()) / 1e9
        return self.onlooker.wait("bare", f"Bench{marker[:2]}", f"bare {marker}") - at

    def own_share(self, tries):
        """Seconds from the kernel record's read to the last byte sent, of an agent of its own that notes both (stamp.cc)."""
        stamps = self.plane.folder / "stamps"
        self.plane.processes.start(
            "own", BIN / "mainstay-agent", f"--config.system-log-monitor={self.plane.folder}/own.json",
            f"--kubeconfig={self.plane.kubeconfig}", "--hostname-override=own", "--port=0", "--prometheus-port=20557",
            LD_PRELOAD=str(BIN / "mainstay-stamp.so"), MAINSTAY_STAMP_FILE=str(stamps),
            MAINSTAY_STAMP_MARK=f"mainstay-bench {RUN} own")
        self.onlooker.wait("own", "Bench59", "fine", 60)
        for _ in range(tries):
            self.line("own")
            time.sleep(KMSG_PAUSE)
        shares, read_at, sent_at = [], None, None
        for line in stamps.read_text().splitlines() + ["read 0"]:
            what, at = line.split()
            if what == "read":
                if sent_at:
                    shares.append((sent_at - read_at) / 1e9)
                read_at, sent_at = int(at), None
            elif sent_at is None or int(at) - sent_at < 2e6:  # what comes later is the next request: the Event
                sent_at = int(at)
        return shares


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]


def row(name, values):
    print(f"  {name:<52}" + "".join(f"{quantile(values, q) * 1000:>11.2f}" for q in (0.5, 0.9, 0.99)) + f"{len(values):>7}")


def latency(ground, tries, silence):
    ours, npd, bare = [], [], []
    for done in range(tries):
        for values, measure in ((bare, ground.bare_patch), (ours, lambda: ground.line("ours")), (npd, lambda: ground.line("npd"))):
            values.append(measure())
            time.sleep(random.uniform(KMSG_PAUSE, 1.2))  # NPD works in ticks of a second: not always at the same point of one
        if sys.stdout.isatty():
            print(f"  {done + 1} of {tries}\r", end="", flush=True)
    print(f"\n  {'line in /dev/kmsg -> seen by a watcher, ms':<52}{'p50':>11}{'p90':>11}{'p99':>11}{'tries':>7}")
    row("node-problem-detector", npd)
    row("mainstay-agent", ours)
    row("bare PATCH by the same client (the floor)", bare)
    print(f"\n  node-problem-detector / mainstay-agent, p50: {quantile(npd, .5) / quantile(ours, .5):.0f} x")
    print(f"  mainstay-agent / bare PATCH, p50: {quantile(ours, .5) / quantile(bare, .5):.2f} x")
    row("mainstay-agent's own: record read -> last byte sent", ground.own_share(tries))
    if silence:
        time.sleep(silence)
        row(f"mainstay-agent, first line after {silence} s", [ground.line("ours")])


def memory(ground):
    time.sleep(40)  # ours gives back what starting took after half a minute
    print(f"\n  {'idle, MB':<26}{'resident':>10}{'shared fairly':>15}{'anonymous':>11}")
    for name, process in (("node-problem-detector", ground.npd), ("mainstay-agent", ground.ours)):
        sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text(), re.M))
        print(f"  {name:<26}" + "".join(f"{int(sizes[key]) / 1024:>{width}.1f}" for key, width in
                                        (("Rss", 10), ("Pss", 15), ("Anonymous", 11))))


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle(ground):
    """CPU over a minute with an ordinary line each second."""
    agents = ("node-problem-detector", ground.npd), ("mainstay-agent", ground.ours)
    before = [cpu_seconds(process.pid) for _, process in agents]
    for second in range(60):
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            kmsg.write(f"<6>mainstay-bench {RUN} an ordinary line, {second}\n".encode())
        time.sleep(1)
    print(f"\n  {'a minute with a line a second':<32}{'CPU ms':>10}{'of one core':>14}")
    for (name, process), then in zip(agents, before):
        spent = cpu_seconds(process.pid) - then
        print(f"  {name:<32}{spent * 1000:>10.0f}{spent / 60:>13.2%}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("what", nargs="+", choices=["latency", "memory", "idle"])
    arguments.add_argument("--tries", type=int, default=60)
    arguments.add_argument("--silence", type=int, default=0)
    options = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mainstay-bench-"))
    ground = Ground(folder)
    try:
        if "memory" in options.what:
            memory(ground)
        if "idle" in options.what:
            idle(ground)
        if "latency" in options.what:
            latency(ground, options.tries, options.silence)
    finally:
        ground.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
