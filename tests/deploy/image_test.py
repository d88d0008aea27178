"""The images of scripts/image: small, without a shell but for the one that is named after it, and every program runs in them
as a user without rights.
"""
import json
import os
import pathlib
import re
import subprocess
import tarfile

import pytest

from chart import ROOT

ARCHIVES = ROOT / "build/image"
NOBODY = 65532
# What is pulled to every node; the second figure of each is what it takes there.
MOST_MEGABYTES = {"mainstay": (20, 40), "mainstay-shell": (24, 45), "mainstay-trainer": (8, 15)}
PROGRAMS = re.findall(r"mainstay_program\(NAME (\S+)", (ROOT / "apps/CMakeLists.txt").read_text())


class Image:
    """An OCI archive, unpacked."""

    def __init__(self, name, folder):
        self.archive = ARCHIVES / f"{name}.tar"
        self.root = folder / "root"
        with tarfile.open(self.archive) as archive:
            archive.extractall(folder)
        self._blobs = folder / "blobs/sha256"
        [self.entry] = json.loads((folder / "index.json").read_text())["manifests"]
        manifest = self._json(self.entry)
        self.config = self._json(manifest["config"])["config"]
        for layer in manifest["layers"]:
            with tarfile.open(self._blob(layer)) as files:
                files.extractall(self.root)

    def run(self, program, *arguments):
        def enter():
            os.chroot(self.root)
            os.chdir("/")
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        return subprocess.run([os.path.join("/usr/bin", program), *arguments], preexec_fn=enter, capture_output=True, text=True,
                              env=dict(word.split("=", 1) for word in self.config["Env"]), timeout=30)

    def _blob(self, entry):
        return self._blobs / entry["digest"].removeprefix("sha256:")

    def _json(self, entry):
        return json.loads(self._blob(entry).read_text())


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    assert os.geteuid() == 0, "a program is tried in its image with chroot, which needs root"
    subprocess.run([ROOT / "scripts/image", "--tag", "test"], check=True)
    return {name: Image(name, tmp_path_factory.mktemp(name)) for name in MOST_MEGABYTES}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_runs_in_the_image_with_its_libraries_alone(images, program):
    done = images["mainstay"].run(program, "--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_trainer_runs_in_its_image(images):
    done = images["mainstay-trainer"].run("mainstay-trainer", "--help")
    assert done.returncode == 0, done.stderr


def test_rules_of_the_image_are_read_from_there(images):
    done = images["mainstay"].run(
        "mainstay-agent", "--config.system-log-monitor=/usr/share/mainstay/rules/neuron/kernel-monitor.json",
        "--kubeconfig=/none", "--boot-id-path=/etc/passwd")  # chroot has no /proc
    assert done.stderr == "mainstay-agent: reading the kubeconfig: reading /none: No such file or directory\n"


@pytest.mark.parametrize("path, program", [
    ("/node-problem-detector", "mainstay-agent"),
    ("/home/kubernetes/bin/health-checker", "health-checker"),
    ("/home/kubernetes/bin/log-counter", "log-counter"),
])
def test_node_problem_detectors_programs_are_where_its_image_has_them(images, path, program):
    assert images["mainstay"].run(path, "--version").stdout == images["mainstay"].run(program, "--version").stdout


def test_node_problem_detectors_files_are_where_its_image_has_them(images):
    """Those that name programs, scripts and files beside them name what is there."""
    root = images["mainstay"].root
    shipped = [p.relative_to(ROOT / "rules/npd") for p in (ROOT / "rules/npd").rglob("*") if p.is_file()]
    for path in shipped:
        assert (root / "config" / path).read_bytes() == (ROOT / "rules/npd" / path).read_bytes()
    for script in (root / "config/plugin").iterdir():
        assert script.stat().st_mode & 0o555 == 0o555, script
    configs = {path: json.loads((root / "config" / path).read_text()) for path in shipped if path.suffix == ".json"}
    named = [(path, rule["path"]) for path, config in configs.items() if isinstance(config, dict)
             for rule in config.get("rules", []) if "path" in rule]
    assert named
    for path, program in named:
        assert os.path.lexists(root / pathlib.PurePath("/", program).relative_to("/")), (path, program)


@pytest.mark.parametrize("script", sorted(p.name for p in (ROOT / "rules/npd/plugin").iterdir()))
def test_node_problem_detectors_scripts_run_in_the_image_with_a_shell(images, script):
    """What they find there is not the question: there is no /proc, no systemd and no cluster."""
    done = images["mainstay-shell"].run(f"/config/plugin/{script}")
    assert done.returncode in (0, 1, 2), done
    assert "not found" not in done.stdout + done.stderr


def test_the_agent_reads_every_kind_of_config_file_of_the_image(images):
    (images["mainstay"].root / "proc").mkdir(exist_ok=True)  # every container has one
    done = images["mainstay"].run(
        "mainstay-agent", "--rule-packs=shipped", "--probes=all", "--config.system-log-monitor=/config/kernel-monitor.json,"
        "/config/systemd-monitor.json,/config/disk-log-message-filelog.json", "--config.custom-plugin-monitor="
        "/config/health-checker-kubelet.json,/config/kernel-monitor-counter.json,/config/network-problem-monitor.json",
        "--config.system-stats-monitor=/config/system-stats-monitor.json", "--kubeconfig=/none", "--boot-id-path=/etc/passwd")
    assert done.stderr.splitlines()[-1] == "mainstay-agent: reading the kubeconfig: reading /none: No such file or directory"


@pytest.mark.parametrize("name", MOST_MEGABYTES)
def test_an_image_is_small_and_holds_a_shell_only_where_it_says_so(images, name):
    image = images[name]
    files = [p for p in image.root.rglob("*") if p.is_file()]
    packed, unpacked = MOST_MEGABYTES[name]
    assert image.archive.stat().st_size <= packed << 20
    assert sum(p.lstat().st_size for p in files) <= unpacked << 20
    assert bool({"sh", "bash", "busybox", "dash"} & {p.name for p in files}) == (name == "mainstay-shell")
    assert image.config["User"] == f"{NOBODY}:{NOBODY}"
    assert not [p for p in files if p.stat().st_mode & 0o6022], "set-user-id, or writable by others"


def test_its_name_is_what_kubernetes_makes_of_the_charts(images):
    assert images["mainstay"].entry["annotations"]["org.opencontainers.image.ref.name"] == "docker.io/library/mainstay:test"


def test_the_same_programs_are_the_same_image(images):
    before = images["mainstay"].entry["digest"]
    subprocess.run([ROOT / "scripts/image", "--tag", "test"], check=True)
    with tarfile.open(ARCHIVES / "mainstay.tar") as archive:
        [entry] = json.load(archive.extractfile("index.json"))["manifests"]
    assert entry["digest"] == before
