"""What both agents are given: the shipped config files with lines that their rules must and must not match, and configs of
our own for what those do not reach.
"""
import dataclasses
import datetime
import os
import time

MAX_LOOKBACK = 24 * 3600


@dataclasses.dataclass
class Pair:
    """Both agents, each on a node of its own, with the same configs: files of rules/npd, or our own by name (OWN)."""
    name: str
    stream: str
    configs: list


@dataclasses.dataclass
class Stream:
    """`source` says where the lines go: kmsg (text, or Raw), journald (identifier, message[, seconds ago]), filelog (path, line),
    or none. The first `before` of them are there before the agents start.
    """
    source: str
    lines: list = dataclasses.field(default_factory=list)
    before: int = 0


class Raw(bytes):
    """A kernel record with nothing added."""


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
    r"EXT4-fs error (device \x22\xc3\xa9\x22): escaped", "EXT4-fs error (device é): not escaped", "  EXT4-fs error trimmed  \t",
    b"EXT4-fs error (device \xff\xfe): no UTF-8", "", "   ", "EXT4-fs error long " + "x" * 900,
    # No records.
    Raw(b"no record at all\n"), Raw(b"3,1;EXT4-fs error of two fields\n"), Raw(b"a,1,2,-;EXT4-fs error of no number\n"),
    Raw(b"3,b,2,-;EXT4-fs error without sequence\n"), Raw(b"3,7,c,-;EXT4-fs error without time\n"),
    # Of a user's program, and with flags and fields that are not known yet.
    (14, "EXT4-fs error by a program"), Raw(b"@4,@,@,-,caller=T1,more;EXT4-fs error with fields\n"),
    # Too old for the lookback.
    (3, "EXT4-fs error of an hour ago", 3600),
]
DICTIONARY = "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:1f.0"
FLOOD = [f"EXT4-fs error (device sda1): block {i}" for i in range(60)] + ["Buffer I/O error on dev sdb1"] * 40


def stamp(layout, ago=0):
    return (datetime.datetime.now().astimezone() - datetime.timedelta(seconds=ago)).strftime(layout)


def syslog(text, ago=0):
    return stamp("%b %e %H:%M:%S", ago).encode() + b" host " + (text if isinstance(text, bytes) else text.encode())


def kernel_file(text, ago=0):
    return syslog(b"kernel: [   12.345678] " + (text if isinstance(text, bytes) else text.encode()), ago)


def docker_file(text, ago=0):
    at = stamp("%Y-%m-%dT%H:%M:%S.%f", ago) + "000" + stamp("%z", ago)[:3] + ":" + stamp("%z", ago)[3:]
    return f'time="{at}" level=error msg="{text}"'.encode()


def containerd_file(text):
    at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return f'time="{at}Z" level=error msg="{text}"'.encode()


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
    (CONTAINERD, containerd_file("failed to create containerd container: error unpacking image: wrong diff id calculated on extraction")),
    (CONTAINERD, containerd_file("failed to pull and unpack image: failed to extract layer: archive/tar: invalid tar header")),
    (CONTAINERD, containerd_file("Failed to unmarshall layerchain json - invalid character '\0' looking for beginning of value")),
]
JOURNAL = [
    # Found by log-counter, which looks further back than the monitors.
    *[("systemd", "Started kubelet.service - Kubernetes kubelet.", 600 + i) for i in range(5)],
    *[("systemd", "Starting containerd container runtime...", 650 - i) for i in range(5)],
    ("systemd", "Stopping containerd container runtime...", 605),
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
    ("containerd", 'msg="failed to create containerd container" error="error unpacking image: wrong diff id calculated on extraction"'),
    ("containerd", 'msg="failed to pull and unpack image: failed to extract layer: archive/tar: invalid tar header"'),
    ("containerd", "Starting containerd container runtime..."),
]

STREAMS = {
    "kmsg": Stream("kmsg", KERNEL, before=20),
    "files": Stream("filelog", FILES, before=4),
    "journal": Stream("journald", JOURNAL, before=24),
}
OWN = {}
PAIRS = [
    Pair("kernel-monitor", "kmsg", ["kernel-monitor.json"]),
    Pair("kernel-monitor-filelog", "files", ["kernel-monitor-filelog.json"]),
]
