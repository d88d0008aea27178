"""What both agents are given: the shipped config files with lines that their rules must and must not match, and configs of
our own for what those do not reach.
"""
import dataclasses
import datetime
import json

from control_plane import ROOT

SHIPPED = ROOT / "rules/npd"


@dataclasses.dataclass
class Stream:
    """`source` says where the lines go: kmsg (text, Raw, or priority, text and seconds ago), journald (identifier, message,
    seconds ago), filelog (path, and bytes, a function that makes them, or something done to the file: see ground.DEEDS). The
    first phase is there before the agents start; each other comes when what came before has been said.
    """
    source: str
    phases: list


@dataclasses.dataclass
class Pair:
    """Both agents, each on a node of its own, with the same configs: files of rules/npd, or our own by name (OWN)."""
    name: str
    configs: list
    stream: str = ""
    restarted: list = None  # with which configs both are started again at the end
    ours: tuple = ()  # flags of ours only


class Raw(bytes):
    """A kernel record with nothing added; the first "@,@" stands for the next number and for now."""


HUNG_TRACE = [
    "      Not tainted 5.10.0-some #1", '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    "task:docker          state:D stack:    0 pid: 4711 ppid:     1 flags:0x00004000", "Call Trace:",
    " __schedule+0x282/0x880", " schedule+0x46/0xb0",
]
KILLED = "Killed process 1012 (python) total-vm:327128kB, anon-rss:306328kB, file-rss:11132kB"
KERNEL = [
    # One for each rule of each file.
    "INFO: task docker:20744 blocked for more than 120 seconds.", *HUNG_TRACE,
    "Memory cgroup out of memory: Kill process 1012 (python) score 1035 or sacrifice child", KILLED + ", shmem-rss:12kB",
    "unregister_netdevice: waiting for lo to become free. Usage count = 1",
    "BUG: unable to handle kernel NULL pointer dereference at 0000000000000008", "divide error: 0000 [#1] SMP",
    "EXT4-fs error (device sda1): ext4_find_entry:1234: inode #12: comm ls: reading directory lblock 0",
    "EXT4-fs warning (device sda1): ext4_end_bio:343: I/O error 10", "EXT4-fs (sda1): Remounting filesystem read-only",
    "Buffer I/O error on dev sdb1, logical block 0, async page read",
    "XFS (nvme1n1): Corruption of in-memory data (0x8) detected.  Shutting down filesystem.",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0",
    "{1}[Hardware Error]: event severity: corrected", "{2}[Hardware Error]: event severity: recoverable",
    "{3}[Hardware Error]: event severity: fatal",
    "BUG: kernel NULL pointer dereference, address: 0000000000000008",
    "BUG: unable to handle page fault for address: ffffdead00000008",
    "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000008",
    "divide error: 0000 [#1] PREEMPT SMP NOPTI", "INFO: task containerd:1 blocked for more than 120 seconds.",
    # Look-alikes: cut off, other case, other words, spaces where none belong.
    "INFO: task docker:20744 blocked for more than 120 seconds", "info: TASK docker:1 BLOCKED for more than 2 seconds.",
    "task docker:20744 blocked for more than 120 seconds. Really.", "Killed process x (python) total-vm:1kB",
    "unregister_netdevice: waiting for lo to become free. Usage count = 1 or 2", "EXT4-fs error", "Buffer I/O error",
    "divide error: 0000 [#x] SMP", "[Hardware Error]: event severity: fatal or not", "remounting filesystem Read-only",
    "Remounting filesystem read-only soon",
    # Two lines with others between them, beyond the ring of ten, and only the second of them.
    "Kill process 7 (a) score 9 or sacrifice child", *[f"usb 1-1: new device number {i}" for i in range(10)],
    KILLED + " after ten others",
    # Odd bytes, as the kernel escapes them and as it never sends them; spaces; nothing; a long one.
    r"EXT4-fs error (device \x22\xc3\xa9\x22): escaped", "EXT4-fs error (device é): not escaped",
    "  EXT4-fs error trimmed  \t",
    b"EXT4-fs error (device \xff\xfe): no UTF-8", "", "   ", "EXT4-fs error long " + "x" * 900,
    # Of a user's program, and with flags and fields that are not known yet.
    (14, "EXT4-fs error by a program"), Raw(b"4,@,@,-,caller=T1,more;EXT4-fs error with fields\n"),
    # Too old for the lookback.
    (3, "EXT4-fs error of an hour ago", 3600),
]
DICTIONARY = "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:1f.0"
FLOOD = [*[f"EXT4-fs error (device sda1): block {i}" for i in range(60)], *["Buffer I/O error on dev sdb1"] * 40,
         "XFS (sda1): Shutting down filesystem"]


def stamped(layout, text, ago=0, zone=None):
    """Makes the line when it is written."""
    def line():
        at = datetime.datetime.now(zone).astimezone(zone) - datetime.timedelta(seconds=ago)
        return at.strftime(layout).encode() + (text if isinstance(text, bytes) else text.encode())

    return line


def syslog(text, ago=0):
    return stamped("%b %e %H:%M:%S host ", text, ago)


def kernel_file(text, ago=0):
    return stamped("%b %e %H:%M:%S host kernel: [   12.345678] ", text, ago)


def docker_file(text, ago=0):
    return stamped('time="%Y-%m-%dT%H:%M:%S.%f000+00:00" level=error msg="', text + '"', ago, datetime.timezone.utc)


def containerd_file(text, quote='"'):
    return stamped(f'time="%Y-%m-%dT%H:%M:%S.%fZ" level=error msg={quote}', text + quote, 0, datetime.timezone.utc)


IMAGE = ("Error trying v2 registry: failed to register layer: rename /var/lib/docker/image/a /var/lib/docker/image/b: "
         "directory not empty")
PENDING = "Currently unreadable (pending) sectors"
KERN, MESSAGES, DOCKER, CONTAINERD = ("/var/log/kern.log", "/var/log/messages", "/var/log/docker.log",
                                      "C:\\etc\\kubernetes\\logs\\containerd.log")
FILES = [
    (KERN, kernel_file("divide error: 0000 [#1] SMP", 3600)),  # too old
    (KERN, kernel_file("INFO: task docker:12 blocked for more than 120 seconds.", 60)),
    (KERN, kernel_file("INFO: task umount.aufs:12 blocked for more than 120 seconds.", 30)),
    (DOCKER, docker_file(IMAGE, 20)),
    (KERN, kernel_file(KILLED)),
    (KERN, kernel_file(b"Killed process 7 (a\xff\xfeb) total-vm:1kB, anon-rss:2kB, file-rss:3kB")),
    (KERN, kernel_file("Killed process 8 (é) total-vm:1kB, anon-rss:2kB, file-rss:3kB   ")),
    (KERN, kernel_file("unregister_netdevice: waiting for eth0 to become free. Usage count = 2")),
    (KERN, kernel_file("unregister_netdevice: waiting for eth0 to become free. Usage count = 2 ")),
    (KERN, kernel_file("BUG: unable to handle kernel NULL pointer dereference at 0000000000000008")),
    (KERN, kernel_file("divide error: 0000 [#1] SMP")),
    (KERN, syslog("smartd[1]: divide error: 0000 [#1] SMP")),
    (KERN, b"no time at all kernel: [1] divide error: 0000 [#1] SMP"),
    (KERN, b""),
    (KERN, kernel_file("BUG: unable to handle kernel NULL pointer dereference at " + "y" * 20000)),
    (KERN, kernel_file("divide error: 0000 [#2] SMP\r")),
    (MESSAGES, syslog(f"smartd[812]: Device: /dev/sda [SAT], 8 {PENDING}")),
    (MESSAGES, syslog(f"audit: smartd[812]: Device: /dev/sda [SAT], 900 {PENDING}")),
    (MESSAGES, syslog(f"smartd[812]: Device: /dev/sdb [SAT], 168 {PENDING} (changed +8)")),
    (MESSAGES, syslog("smartd[812]: Device: /dev/sdc, 100 Offline uncorrectable sectors")),
    (DOCKER, docker_file(IMAGE + " again")),
    (DOCKER, docker_file("Error trying v1 registry")),
    (CONTAINERD, containerd_file("failed to create containerd container: error unpacking image: "
                                 "wrong diff id calculated on extraction")),
    (CONTAINERD, containerd_file("failed to pull and unpack image: failed to extract layer: archive/tar: invalid tar header")),
    (CONTAINERD, containerd_file("Failed to unmarshall layerchain json - invalid character '\0' looking for beginning of value",
                                 quote="")),
]
JOURNAL = [
    # Found by log-counter, which looks further back than the monitors.
    *[("systemd", "Starting containerd container runtime...", 650 - i) for i in range(5)],
    ("systemd", "Stopping containerd container runtime...", 645),
    *[("systemd", "Started kubelet.service - Kubernetes kubelet.", 604 - i) for i in range(5)],
    *[("kernel", "unregister_netdevice: waiting for lo to become free. Usage count = 1", 500 - i) for i in range(3)],
    *[("dockerd", "Handler returned error: readlink /var/lib/docker/overlay2/l: invalid argument", 200 - i) for i in range(10)],
    ("systemd", "Started Kubernetes kubelet.", 100),
    ("systemd", "Stopped kubelet.service."),
    ("systemd", "Starting docker.service - Docker Application Container Engine..."),
    ("systemd", "Starting containerd.service - containerd container runtime..."),
    ("systemd", "Starting containerd.service - containerd container runtime"),
    ("systemd-logind", "Started Kubernetes kubelet."),
    ("systemd", "  Started Kubernetes kubelet.  \n"),
    ("systemd", "Starting something...\nStarted Kubernetes kubelet."),
    ("systemd", "Started Kubernetes kubelet.\nStarting something..."),
    ("dockerd", IMAGE), ("dockerd", "OCI runtime start failed: container process is already dead: unknown"),
    ("dockerd", "OCI runtime start failed: container process is already dead: known"),
    ("abrt-notification", "Process 4711 (python3) crashed in foo()"),
    ("abrt-notification", b"Process 4711 (py\xffthon3) crashed in bar()"),
    ("abrt-notification", "Process 1 (x) of user 0 encountered an uncaught Some.Error exception"),
    ("abrt-notification", "Display server /usr/bin/X crash in foo"),
    ("abrt-notification", "System encountered a fatal error in do_exit"),
    ("abrt-notification", "System encountered a non-fatal error in do_exit"),
    ("abrt-notification", "System encountered a non-fatal error in do exit"),
    ("containerd", 'msg="failed to create containerd container" '
                   'error="error unpacking image: wrong diff id calculated on extraction"'),
    ("containerd", 'msg="failed to pull and unpack image: failed to extract layer: archive/tar: invalid tar header"'),
    ("containerd", "Starting containerd container runtime..."),
]


def filelog(path, rules, conditions=(), **more):
    return {
        "plugin": "filelog", "logPath": path, "lookback": "5m", "bufferSize": 4, "source": "own", "rules": rules,
        "conditions": list(conditions), "pluginConfig": {
            "timestamp": "^.{15}", "message": "kernel: \\[.*\\] (.*)", "timestampFormat": "Jan _2 15:04:05"}} | more


def temporary(reason, pattern):
    return {"type": "temporary", "reason": reason, "pattern": pattern}


def permanent(reason, condition, pattern):
    return temporary(reason, pattern) | {"type": "permanent", "condition": condition}


def condition(kind):
    return {"type": kind, "reason": f"{kind}IsFine", "message": f"{kind} is fine"}


def plugin(*rules, conditions=(), **more):
    return {"plugin": "custom", "source": "own", "conditions": [condition(kind) for kind in conditions], "rules": list(rules),
            "pluginConfig": {"invoke_interval": "1h", "timeout": "20s", "max_output_length": 80, "concurrency": 1} | more}


def check(reason, script, kind="", **more):
    """A check of a temporary problem, or of the condition `kind`."""
    return {"type": "permanent" if kind else "temporary", "reason": reason, "path": "/bin/sh", "args": ["-c", script]} | (
        {"condition": kind} if kind else {}) | more


SEEN = permanent("Seen", "Broken", "broken .*")
# The first run of a check finds no file, and leaves it there.
FIRST_RUN = "! test -e @SIDE@/{0} && touch @SIDE@/{0}"
OWN = {
    "odd-rules.json": filelog("/var/log/odd", [
        temporary("Branches", "first branch|second branch"), permanent("Nobody", "Undeclared", "undeclared .*"),
        temporary("TwoLines", "begin\\n.*end"), temporary("Anchored", "^only.*"), temporary("Dollar", "(?m)^line$"),
        temporary("Unicode", "caf\u00e9 \\pL+"),
        permanent("ReasonA", "Changes", "a .*"), permanent("ReasonB", "Changes", "b .*"),
        temporary("Percent", ".*% full.*"), temporary("Any", "bytes .*"),
    ], [condition("Changes")]),
    "log.json": filelog("/var/log/long", [temporary("Long", "long .*")]),
    "truncated.json": filelog("/var/log/truncated", [temporary("Truncated", "T .*")]),
    "rotated.json": filelog("/var/log/rotated", [temporary("Rotated", "R .*")]),
    "december.json": filelog("/var/log/december", [temporary("Old", "last year's")]),
    "short-lookback.json": filelog("/var/log/restarted", [SEEN], [condition("Broken")], lookback="1s"),
    "rule-removed.json": filelog("/var/log/restarted", [permanent("Other", "Broken", "other .*")], [condition("Broken")]),
    "net-each-second.json": json.loads((SHIPPED / "net-cgroup-system-stats-monitor.json").read_text().replace("120s", "1s"))
    | {"disk": {"lsblkTimeout": "1s"}},
    "no-file.json": filelog("/var/log/not-there", [permanent("Unseen", "Elsewhere", "unseen .*")], [condition("Elsewhere")]),
    "no-journal.json": filelog("/var/log/empty-journal", [temporary("Nothing", "nothing")],
                               plugin="journald", pluginConfig={"source": "a"}),
    "plugins.json": plugin(
        check("Trimmed", "echo '  spaces around  '; exit 1"), check("Long", "printf %0200d 0; exit 1"),
        check("Empty", "exit 1"), check("Lines", "echo one; echo two; exit 1"), check("Stderr", "echo lost >&2; exit 1"),
        check("Killed", "echo cut; kill -9 $$"),
        check("Late", "echo begun; sleep 60", timeout="1s"), check("Fine", "echo fine"),
        check("NoUtf8", "printf 'a\\377b'; exit 1"), check("Code7", "echo seven; exit 7"),
        {"type": "temporary", "reason": "NoProgram", "path": "@SIDE@/plugins.json"},
        check("IsBad", "echo bad; exit 1", "Bad"), check("IsGood", "echo good", "Good"),
        check("IsUnknown", "echo '?'; exit 2", "Unclear"),
        check("IsLate", "sleep 60", "Late", timeout="1s"), conditions=["Bad", "Good", "Unclear", "Late"]),
    "second-run.json": plugin(
        check("Recovers", FIRST_RUN.format("recovers") + " && exit 1; exit 0", "Recovering"),
        check("Fails", FIRST_RUN.format("fails") + " && exit 0; echo failed; exit 1", "Failing"),
        check("Reworded", FIRST_RUN.format("reworded") + " && echo one || echo two; exit 1", "Rewording"),
        conditions=["Recovering", "Failing", "Rewording"], invoke_interval="1s",
        enable_message_change_based_condition_update=True),
    "cut-character.json": plugin(check("Cut", "printf %079d 0; printf '\\303\\251'; exit 1")),
    "percent.json": plugin(check("Percent", "echo disk 100% full; exit 1")),
    "two-rules.json": plugin(
        check("OneFinds", "echo found; exit 1", "Shared"), check("OtherIsFine", "exit 0", "Shared"),
        check("FirstOfTwo", "echo one; exit 1", "Both"), check("SecondOfTwo", "echo two; exit 1", "Both"),
        conditions=["Shared", "Both", "WithoutRule"]),
    "leftover.json": plugin(check("Leaves", "setsid sleep 600 & echo left; exit 1", "Leaving", timeout="2s"),
                            conditions=["Leaving"]),
    "orphan.json": plugin(check("Fine", "tail -f @SIDE@/orphan.json >/dev/null 2>&1 & exit 0")),
    "skip-initial.json": plugin(check("Slow", "sleep 600", "SlowOne", timeout="1h"), check("Quick", "exit 0", "QuickOne"),
                                conditions=["SlowOne", "QuickOne"], skip_initial_status=True, concurrency=2, timeout="1h"),
    "no-crictl.json": plugin(
        {"type": "permanent", "condition": "Runtime", "reason": "RuntimeIsDown", "path": "/home/kubernetes/bin/health-checker",
         "args": ["--component=cri", "--crictl-path=/nowhere/crictl", "--enable-repair=false"]}, conditions=["Runtime"]),
    "counter-without-journal.json": plugin(
        {"type": "permanent", "condition": "Counted", "reason": "Counted", "path": "/home/kubernetes/bin/log-counter",
         "args": ["--journald-source=a", "--log-path=/var/log/empty-journal", "--lookback=5m", "--count=1", "--pattern=a"]},
        conditions=["Counted"]),
    "percent-used.json": {"invokeInterval": "60s", "disk": {
        "includeAllAttachedBlk": True, "metricsConfigs": {"disk/percent_used": {"displayName": "disk/percent_used"}}}},
    # Those of the shipped file, once a second.
    "stats-each-second.json": json.loads(
        (SHIPPED / "system-stats-monitor.json").read_text().replace("60s", "1s").replace("5s", "1s")),
}
HUNG = "INFO: task docker:{} blocked for more than 120 seconds."
STREAMS = {
    "kmsg": Stream("kmsg", [KERNEL[:20], KERNEL[20:]]),
    "kmsg with devices": Stream("kmsg", [[], [
        HUNG.format(1) + DICTIONARY, "EXT4-fs error (device sda1)" + DICTIONARY, HUNG.format(2)]]),
    "kmsg flood": Stream("kmsg", [[], FLOOD]),
    "kmsg percent": Stream("kmsg", [[], ["EXT4-fs error 100% full %s %d"]]),
    "kmsg torn": Stream("kmsg", [[], [
        Raw(b"no record at all\n"), Raw(b"3,1;EXT4-fs error of two fields\n"), Raw(b"a,1,2,-;EXT4-fs error of no number\n"),
        Raw(b"3,b,2,-;EXT4-fs error without sequence\n"), Raw(b"3,7,c,-;EXT4-fs error without time\n"), "EXT4-fs error"]]),
    "files": Stream("filelog", [FILES[:4], FILES[4:]]),
    "odd lines": Stream("filelog", [[], [("/var/log/odd", kernel_file(text)) for text in [
        "first branch", "x", "y", "z", "second branch", "x", "undeclared thing", "begin", "and end", "begin", "x", "and end",
        "only the first", "line",
        "line 2", "caf\u00e9 cr\u00e8me", "cafe creme", "a 1", "a 2", "b 1", "b 2", "a 3", b"bytes \xc3\x28 \xff \xf0\x9f"]]]),
    "long line": Stream("filelog", [[("/var/log/long", kernel_file("long " + "y" * 20000))],
                                    [("/var/log/long", kernel_file("long " + "z" * 70000)),
                                     ("/var/log/long", kernel_file("long enough"))]]),
    "December": Stream("filelog", [[("/var/log/december", b"Dec 31 23:59:59 host kernel: [1.0] last year's")], []]),
    "truncation": Stream("filelog", [
        [("/var/log/truncated", kernel_file("T " + "before " * 100))], [], [("/var/log/truncated", "truncate"),
                                                                         ("/var/log/truncated", kernel_file("T after"))]]),
    "rotation": Stream("filelog", [
        [("/var/log/rotated", kernel_file("R before"))], [], [("/var/log/rotated", "rotate")],
        [("/var/log/rotated.1", kernel_file("R of the old file"))], [("/var/log/rotated", kernel_file("R of the new file"))]]),
    "before a restart": Stream("filelog", [[], [("/var/log/restarted", kernel_file("broken 1"))]]),
    "journal": Stream("journald", [JOURNAL[:24], JOURNAL[24:]]),
}
PAIRS = [
    *[Pair(f"kmsg: {config}", [f"{config}.json"], "kmsg") for config in (
        "kernel-monitor", "readonly-monitor", "successors/kernel-monitor-current", "deployment/kernel-monitor",
        "deployment/readonly-monitor")],
    *[Pair(f"files: {config}", [f"{config}.json"], "files") for config in (
        "kernel-monitor-filelog", "docker-monitor-filelog", "disk-log-message-filelog", "successors/disk-monitor-current",
        "windows-containerd-monitor-filelog")],
    *[Pair(f"journal: {config}", [f"{config}.json"], "journal") for config in (
        "systemd-monitor", "docker-monitor", "abrt-adaptor", "successors/containerd-monitor", "deployment/docker-monitor")],
    Pair("plugins: shipped", [f"{config}.json" for config in (
        "custom-plugin-monitor", "network-problem-monitor", "iptables-mode-monitor", "health-checker-kubelet",
        "health-checker-containerd", "kernel-monitor-counter", "docker-monitor-counter", "systemd-monitor-counter")]),
    Pair("plugins: health-checker-docker", ["health-checker-docker.json"]),
    *[Pair(f"stats: {config}", [f"{config}.json"]) for config in (
        "system-stats-monitor", "windows-system-stats-monitor", "net-cgroup-system-stats-monitor")],
    Pair("several monitors of one process", [
        "kernel-monitor-filelog.json", "docker-monitor-filelog.json", "systemd-monitor.json", "plugins.json"], "files"),
    Pair("rules of our own", ["odd-rules.json"], "odd lines"),
    Pair("plugins of our own", ["plugins.json"]),
    Pair("plugins that run again", ["second-run.json"]),
    # Where the two differ.
    Pair("kmsg with devices", ["kernel-monitor.json"], "kmsg with devices"),
    Pair("kmsg flood", ["kernel-monitor.json"], "kmsg flood"),
    Pair("kmsg percent", ["kernel-monitor.json"], "kmsg percent"),
    Pair("kmsg torn", ["kernel-monitor.json"], "kmsg torn"),
    Pair("long line", ["log.json"], "long line"),
    Pair("truncation", ["truncated.json"], "truncation"),
    Pair("rotation", ["rotated.json"], "rotation"),
    Pair("a line of December", ["december.json"], "December"),
    Pair("no file", ["short-lookback.json", "no-file.json"], "before a restart"),
    Pair("no journal", ["short-lookback.json", "no-journal.json"], "before a restart"),
    Pair("restart", ["short-lookback.json"], "before a restart", restarted=["short-lookback.json"]),
    Pair("restart without a rule", ["short-lookback.json"], "before a restart", restarted=["rule-removed.json"]),
    *[Pair(f"plugins: {name}", [f"{name}.json"]) for name in (
        "cut-character", "percent", "two-rules", "leftover", "orphan", "skip-initial", "no-crictl", "counter-without-journal")],
    Pair("stats: percent used", ["percent-used.json"]),
    Pair("stats each second", ["stats-each-second.json"]),
    Pair("net each second", ["net-each-second.json"]),
    Pair("stats each second, compatible", ["stats-each-second.json"], ours=("--npd-stats-compatibility",)),
]


def lines_of(pair):
    return sum(map(len, STREAMS[pair.stream].phases)) if pair.stream else 0
