"""Worker nodes that run real containers: for each a kubelet with a containerd, runc and control groups of its own."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading

from control_plane import PARTS, ROOM, eventually

PAUSE = "mainstay.test/pause:1"
INIT = "mainstay.test/init:1"  # busybox: what the training operator's init container needs
_CGROUPS = pathlib.Path("/sys/fs/cgroup")
_READY_WITHIN = 90

_PAUSE_SOURCE = """
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void end(int number) { (void)number; _exit(0); }
int main(void) { signal(SIGTERM, end); signal(SIGINT, end); for (;;) pause(); }
"""


def build_image(folder, name, files, entrypoint):
    """An image of these files ({path in it: path here}); the archive's path."""
    archive = folder / (name.replace("/", "-").replace(":", "-") + ".tar")
    environment = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
    roots = ["--root", str(folder / "buildah"), "--runroot", str(folder / "buildah-run")]

    def buildah(*arguments):
        done = subprocess.run(["buildah", *roots, *map(str, arguments)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"buildah {arguments[0]}: {done.stderr}"
        return done.stdout.strip()

    container = buildah("from", "scratch")
    for inside, here in files.items():
        buildah("copy", "--chmod", "755", container, here.resolve(), inside)
    buildah("config", "--entrypoint", json.dumps(entrypoint), container)
    buildah("commit", "--rm", container, name)
    buildah("push", name, f"oci-archive:{archive}:{name}")
    return archive


def build_test_images(folder):
    """The pause container and the init container's busybox."""
    source = folder / "pause.c"
    source.write_text(_PAUSE_SOURCE)
    subprocess.run(["gcc", "-static", "-Os", "-s", "-o", folder / "pause", source], check=True)
    busybox = shutil.which("busybox")
    assert busybox, "busybox-static is not installed"
    links = folder / "busybox-bin"
    links.mkdir()
    shutil.copy(busybox, links / "busybox")
    for applet in ("sh", "nslookup", "seq", "sleep", "echo", "cat"):
        (links / applet).symlink_to("busybox")
    return [build_image(folder, PAUSE, {"/pause": folder / "pause"}, ["/pause"]),
            build_image(folder, INIT, {"/bin": links}, ["/bin/sh"])]


class Dns:
    """Cluster DNS: dnsmasq, told of each service's pods. A name leads to the pods themselves, headless or not, for there is
    no kube-proxy here.
    """

    def __init__(self, plane):
        self._plane = plane
        self._hosts = plane.folder / "hosts"
        self._hosts.write_text("")
        self._stopped = threading.Event()
        self._process = plane.processes.start(
            "dnsmasq", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", f"--listen-address={ROOM}",
            "--bind-interfaces", "--no-resolv", "--no-hosts", f"--addn-hosts={self._hosts}", "--local=/cluster.local/",
            "--cache-size=0", "--user=root", "--pid-file=")
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def _follow(self):
        told = ""
        while not self._stopped.wait(0.1):
            try:
                now = self._names()
            except Exception:  # the API server starts, or ends
                continue
            if now != told:
                told = now
                self._hosts.write_text(now)
                self._process.send_signal(signal.SIGHUP)

    def _names(self):
        lines = []
        for endpoints in self._plane.api.items("/api/v1/endpoints"):
            meta = endpoints["metadata"]
            for subset in endpoints.get("subsets") or []:
                for address in (subset.get("addresses") or []) + (subset.get("notReadyAddresses") or []):
                    lines.append(f"{address['ip']} {meta['name']}.{meta['namespace']}.svc.cluster.local\n")
        return "".join(sorted(lines))


class Node:
    """One worker. `number` gives it its address in the machine room."""

    def __init__(self, plane, name, number, provider_id="", labels=None, images=()):
        self.plane, self.name, self.provider_id = plane, name, provider_id
        self.address = f"10.88.0.{10 + number}"
        self.folder = plane.folder / name
        self.folder.mkdir()
        self._group = f"{os.environ['MAINSTAY_SANDBOX']}/{name}"
        self._labels = labels or {}
        subprocess.run(["ip", "address", "add", f"{self.address}/32", "dev", "room"], check=True)
        self._make_cgroups()
        self._start_containerd()
        for image in images:
            self._import(image)
        self._start_kubelet()

    def ready(self):
        node = self.plane.api.find(f"/api/v1/nodes/{self.name}")
        conditions = (node or {}).get("status", {}).get("conditions", [])
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    def wait_ready(self):
        def check():
            self.plane.processes.check(f"{self.name}-kubelet")
            return self.ready()

        eventually(check, f"{self.name} to be Ready", _READY_WITHIN, every=0.2)

    def set_capacity(self, resource, count):
        """A device plugin's part: the kubelet keeps what stands in the status."""
        self.plane.api.patch(f"/api/v1/nodes/{self.name}/status",
                             {"status": {"capacity": {resource: str(count)}, "allocatable": {resource: str(count)}}})

    def stop(self):
        """As when the power goes: the kubelet and every container end at once, without a word."""
        for part in ("kubelet", "containerd"):
            self.plane.processes.stop(f"{self.name}-{part}")
        mark = f"{self.folder}/containerd.sock".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)  # a container's shim
            except OSError:
                pass
        for pids in (_CGROUPS / "memory" / self._group).rglob("cgroup.procs"):
            for pid in pids.read_text().split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except OSError:
                    pass
        subprocess.run(["ip", "address", "del", f"{self.address}/32", "dev", "room"], check=False)

    def _make_cgroups(self):
        """A root of its own for the kubelet in every controller; a new cpuset is empty until it is told its processors."""
        for controller in _CGROUPS.iterdir():
            if controller.name == "unified" or controller.is_symlink():
                continue
            at = controller
            for part in self._group.split("/"):
                at = at / part
                at.mkdir(exist_ok=True)
                if controller.name == "cpuset":
                    for setting in ("cpuset.cpus", "cpuset.mems"):
                        (at / setting).write_text((at.parent / setting).read_text())

    def _start_containerd(self):
        cni = self.folder / "cni"
        cni.mkdir()
        (cni / "10-room.conflist").write_text(json.dumps({
            "cniVersion": "0.4.0", "name": "room",
            "plugins": [{"type": "bridge", "bridge": "room", "isGateway": False, "ipMasq": False, "ipam": {
                "type": "host-local", "dataDir": str(self.plane.folder / "addresses"),
                "ranges": [[{"subnet": "10.88.0.0/16", "rangeStart": "10.88.1.1", "rangeEnd": "10.88.9.254",
                             "gateway": ROOM}]],
                "routes": [{"dst": "0.0.0.0/0"}]}}],
        }))
        config = self.folder / "containerd.toml"
        config.write_text(f"""version = 2
root = "{self.folder}/containerd"
state = "{self.folder}/containerd-run"
disabled_plugins = ["io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
address = "{self.folder}/containerd.sock"
[ttrpc]
address = "{self.folder}/containerd.sock.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{cni}"
""")
        self.plane.processes.start(f"{self.name}-containerd", "containerd", f"--config={config}", "--log-level=warn")
        eventually((self.folder / "containerd.sock").exists, f"{self.name}'s containerd")

    def _import(self, archive):
        command = ["ctr", "-a", self.folder / "containerd.sock", "-n", "k8s.io", "images", "import", archive]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 0, f"ctr images import {archive}: {done.stderr}"

    def _start_kubelet(self):
        (self.folder / "resolv.conf").write_text("")
        config = self.folder / "kubelet.yaml"
        config.write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "address": self.address, "port": 10250, "healthzPort": 0,
            "authentication": {"x509": {"clientCAFile": str(self.plane.ca)}, "webhook": {"enabled": True},
                               "anonymous": {"enabled": False}},
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{self.folder}/containerd.sock",
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self._group}", "failSwapOn": False, "failCgroupV1": False,
            "enforceNodeAllocatable": [], "evictionHard": {"memory.available": "20Mi", "nodefs.available": "1%"},
            "imageGCHighThresholdPercent": 100, "clusterDNS": [ROOM], "clusterDomain": "cluster.local",
            "resolvConf": str(self.folder / "resolv.conf"), "providerID": self.provider_id,
            "nodeStatusUpdateFrequency": "2s", "nodeStatusReportFrequency": "2s", "nodeLeaseDurationSeconds": 6,
            "syncFrequency": "5s",
        }))
        labels = ",".join(f"{key}={value}" for key, value in self._labels.items())
        self.plane.processes.start(
            f"{self.name}-kubelet", PARTS / "kubelet", f"--config={config}",
            f"--kubeconfig={self.plane.write_kubeconfig(f'system:node:{self.name}')}",
            f"--root-dir={self.folder}/kubelet", f"--cert-dir={self.folder}/pki", f"--hostname-override={self.name}",
            f"--node-ip={self.address}", f"--node-labels={labels}")
