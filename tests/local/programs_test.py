"""What the programs say to a wrong command line, file or server, and what people can do about one node or job while an
incident is under way.
"""
import json
import os
import pathlib

import pytest

from harness import (
    FAULT, FINDINGS, HEALTH, JOBS, NODES, PODS, POLICIES, RESUME, SOUND, LoneAgent, Program, cluster, eventually,
    incident_state, job_state, node_state, recovered, run, scratch,
)

RULES = '{"plugin": "kmsg", "source": "x",\n "rules": [\n  {"type": "temporary", "reason": "A", "pattern": "%s"}]}\n'
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here}}]
clusters:
- {name: here, cluster: {server: %s}}
"""
NOBODY = "http://127.0.0.1:1"  # a reserved port, on which nothing listens


@pytest.fixture
def folder():
    with scratch() as folder:
        yield folder


# --- Wrong command lines, files and servers ---


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["mainstay"], "a command is missing, one of: demo, local"),
        (["mainstay", "dmeo"], "unknown command dmeo, did you mean demo?"),
        (["mainstay", "demo", "--kep"], "mainstay demo: unknown flag --kep, did you mean --keep?"),
        (["mainstay", "why", "node", "a", "-o", "xml"], "expected one of text, json, yaml"),
        (["mainstay", "release", "--reason=x"], "say --all"),
        (["mainstay", "node", "release", "a"], "say why with --reason"),
        (["mainstay-agent", "--hostname-overide=a"], "unknown flag --hostname-overide, did you mean --hostname-override?"),
        (["mainstay-agent"], "no monitor is configured"),
        (["mainstay-controller", "--lease-duration=x"], "--lease-duration: expected a duration"),
        (["mainstay-controller"], "no API server is configured"),
        (["mainstay-recovery", "--max-unhealthy=0"], "must be at least 1"),
        (["mainstay-recovery", "--startup-delay=soon"], "--startup-delay: expected seconds such as 60"),
        (["mainstay-trainer", "--stepz=3"], '"--stepz=3"'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_is_refused_with_what_is_wrong(folder, arguments, says):
    refused = run(*arguments, folder=folder)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert refused.stdout == ""
    assert says in refused.stderr


@pytest.mark.parametrize(
    "text, place, says",
    [
        (None, "", "No such file or directory"),
        ('{"plugin": "kmsg",\n "rules": [}\n', ":2:12: invalid JSON: ", ""),
        (RULES % "a(b", ":3:51: rules[0].pattern", "missing )"),
        (RULES.replace('"A"', "7") % "a", ":3:35: rules[0].reason", "expected a string, found an integer"),
        (RULES.replace("kmsg", "journald") % "a", ":1:1: pluginConfig.source", "SYSLOG_IDENTIFIER"),
        (RULES.replace("kmsg", "syslog") % "a", ":1:12: plugin", '"kmsg", "journald" or "filelog", found "syslog"'),
    ],
)
def test_a_wrong_rule_file_is_refused_with_its_place(folder, text, place, says):
    rules = folder / "rules.json"
    if text:
        rules.write_text(text)
    refused = run("mainstay-agent", f"--config.system-log-monitor={rules}", "--enable-k8s-exporter=false", folder=folder)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert f"{rules}{place}" in refused.stderr
    assert says in refused.stderr


RULE_FILE = "rules.json"
THOSE_THAT_ASK_A_SERVER = [
    ["mainstay-agent", f"--config.system-log-monitor={RULE_FILE}"],
    ["mainstay-controller"],
    ["mainstay", "why", "node", "a"],
    ["mainstay", "node", "release", "a", "--reason=x"],
    ["mainstay", "job", "release", "a", "--reason=x"],
    ["mainstay", "release", "--all", "--reason=x"],
    ["mainstay", "local", "nodes"],
    ["mainstay", "local", "kmsg", "a", "x"],
]


def with_files(arguments, folder):
    """Relative to the test's folder."""
    (folder / RULE_FILE).write_text(RULES % "a")
    return [argument.replace(RULE_FILE, str(folder / RULE_FILE)) for argument in arguments]


@pytest.mark.parametrize("arguments", THOSE_THAT_ASK_A_SERVER, ids=" ".join)
@pytest.mark.parametrize(
    "text, place, says",
    [
        (None, "", "No such file or directory"),
        (KUBECONFIG % "]", ":6:", ""),
        (KUBECONFIG % "7", ":6:34: clusters[0].cluster.server", "expected a string, found an integer"),
        (KUBECONFIG.replace("current-context: here", "current-context: there") % NOBODY, "", "there"),
    ],
    ids=["missing", "no YAML", "wrong type", "unknown context"],
)
def test_a_wrong_kubeconfig_is_refused_with_its_place(folder, arguments, text, place, says):
    config = folder / "config"
    if text:
        config.write_text(text)
    refused = run(*with_files(arguments, folder), f"--kubeconfig={config}", folder=folder)
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert refused.stdout == ""
    assert f"{config}{place}" in refused.stderr
    assert says in refused.stderr


@pytest.mark.parametrize("arguments", THOSE_THAT_ASK_A_SERVER[2:], ids=" ".join)
def test_a_server_that_does_not_answer_is_told_in_words(folder, arguments):
    config = folder / "config"
    config.write_text(KUBECONFIG % NOBODY)
    failed = run(*arguments, f"--kubeconfig={config}", folder=folder)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert f"{NOBODY}: no connection" in failed.stderr
    assert "check that the server runs" in failed.stderr


@pytest.mark.parametrize("arguments", THOSE_THAT_ASK_A_SERVER[:2], ids=lambda arguments: arguments[0])
def test_a_daemon_says_that_it_waits_for_the_server_and_ends_when_told(folder, arguments):
    config = folder / "config"
    config.write_text(KUBECONFIG % NOBODY)
    ports = ["--port=0", "--prometheus-port=0", "--hostname-override=a"] if arguments[0] == "mainstay-agent" else []
    daemon = Program(folder, "daemon", *with_files(arguments, folder), f"--kubeconfig={config}", *ports)
    eventually(lambda: "check that the server runs" in daemon.text(), "a word about the server")
    assert not daemon.ended()
    assert daemon.stop() == 0


def test_the_local_commands_refuse_a_server_elsewhere(folder):
    config = folder / "config"
    config.write_text(KUBECONFIG % "https://example.test")
    refused = run("mainstay", "local", "kmsg", "a", "x", f"--kubeconfig={config}", folder=folder)
    assert refused.returncode == 2
    assert "https://example.test is not on this machine's loopback address" in refused.stderr


def test_a_wrong_crash_point_is_refused(folder):
    config = folder / "config"
    config.write_text(KUBECONFIG % NOBODY)
    refused = run("mainstay-controller", f"--kubeconfig={config}", folder=folder, MAINSTAY_CRASH_AT="soon")
    assert refused.returncode == 2
    assert "MAINSTAY_CRASH_AT=soon: expected the number of a write" in refused.stderr


# --- What the agent may do ---

DAC_READ_SEARCH, SYSLOG = 1 << 2, 1 << 34  # <linux/capability.h>


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")
def test_the_agent_gives_up_what_its_sources_do_not_take(folder):
    agent = LoneAgent(folder, "--rule-packs=kernel", f"--kmsg-path={folder}/none")
    eventually(lambda: 'msg="started"' in agent.text(), "the agent to start")
    threads = [dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines() if ":\t" in line)
               for thread in pathlib.Path(f"/proc/{agent.process.pid}/task").iterdir()]
    assert len(threads) > 1
    for thread in threads:
        assert all(int(thread[kind], 16) & ~(DAC_READ_SEARCH | SYSLOG) == 0 for kind in ("CapEff", "CapPrm", "CapBnd")), thread
        assert thread["NoNewPrivs"] == "1"
    assert agent.stop() == 0


# --- In the middle of an incident ---

@pytest.fixture
def held_up():
    """The drain of node-b waits for a pod that a disruption budget protects; the job is stopped."""
    with cluster() as up:
        up.start_training()
        up.api.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "precious"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "precious"}}},
        })
        up.start_bystander({"app": "precious"})
        controller = up.controller()
        eventually(lambda: up.training() and up.bystander_runs(), "work on node-b")
        written = up.mainstay("local", "kmsg", "node-b", f"<3>{FAULT}")
        assert written.returncode == 0 and written.stdout + written.stderr == ""
        eventually(lambda: up.phase() == "Draining" and up.job()["spec"]["runPolicy"].get("suspend"), "the drain")
        eventually(lambda: no_pods(up), "the group to be gone")
        yield up, controller


def no_pods(up):
    return not up.api.items("/api/v1/namespaces/kubeflow/pods")


def test_why_tells_the_story_of_a_node(held_up):
    up, _ = held_up
    eventually(lambda: "default/bystander" in up.mainstay("why", "node", "node-b").stdout, "what the drain waits for")
    why = up.mainstay("why", "node", "node-b")
    assert why.returncode == 0, why.stderr
    for text in ["node-b is draining", "NEURON_HW_ERR=DMA_ERROR", "job kubeflow/train", "mainstay node release node-b"]:
        assert text in why.stdout
    document = json.loads(up.mainstay("why", "node", "node-b", "-o=json").stdout)
    assert document["node"] == "node-b" and document["phase"] == "Draining"
    assert "no incident is open" in up.mainstay("why", "node", "node-a").stdout
    unknown = up.mainstay("why", "node", "node-x")
    assert unknown.returncode == 1 and "node-x" in unknown.stderr


def test_a_released_node_is_as_before_and_its_job_trains_again(held_up):
    up, controller = held_up
    rehearsed = up.mainstay("node", "release", "node-b", "--dry-run")
    assert rehearsed.returncode == 0 and "would be released" in rehearsed.stdout
    assert up.phase() == "Draining"
    released = up.mainstay("node", "release", "node-b", "--reason", "we looked, it is fine")
    assert released.returncode == 0, released.stderr
    assert "released" in released.stdout
    eventually(lambda: up.progress("resumed") == [2] and up.progress("step")[-1] > 2, "training to go on")
    assert controller.stop() == 0
    assert node_state(up.api.get(f"{NODES}/node-b")) == SOUND
    [incident] = map(incident_state, up.incidents())
    assert incident["outcome"] == "Released" and incident["replacement"] is None
    assert up.effects() == {"LaunchInstance": 3}
    assert up.bystander_runs()
    assert "bears no marks" in up.mainstay("node", "release", "node-b", "--reason=x").stdout


def test_a_released_job_is_its_owners_again(held_up):
    up, controller = held_up
    assert up.mainstay("job", "release", "train", "-n", "kubeflow", "--reason=x").returncode == 0
    job = job_state(up.job())
    assert not job["suspended"] and job["phase"] == "Released" and job["retry"] == 1
    eventually(lambda: len(up.api.items("/api/v1/namespaces/kubeflow/pods")) == 3, "the operator to make its pods")
    assert controller.stop() == 0
    assert not job_state(up.job())["suspended"], "the same incident stops it again"
    assert "nothing to release" in up.mainstay("job", "release", "train", "-n", "kubeflow", "--reason=x").stdout
    unknown = up.mainstay("job", "release", "none", "--reason=x")
    assert unknown.returncode == 1 and "default/none" in unknown.stderr


def test_release_all_leaves_nothing_of_ours(held_up):
    up, controller = held_up
    up.api.patch(f"{NODES}/node-a", {"spec": {"unschedulable": True}})  # a person's
    assert controller.stop() == 0
    released = up.mainstay("release", "--all", "--reason=uninstalling")
    assert released.returncode == 0, released.stderr
    bare = {**SOUND, "health": None}
    cordoned = {**bare, "cordoned": True, "taints": ["node.kubernetes.io/unschedulable"]}
    states = {node["metadata"]["name"]: node_state(node) for node in up.api.items(NODES)}
    assert states == {"node-a": cordoned, "node-b": bare, "node-c": bare}
    assert not job_state(up.job())["suspended"]
    assert [incident_state(incident)["outcome"] for incident in up.incidents()] == ["Released"]
    assert up.api.get(f"{POLICIES}/default").get("status", {}).get("active", []) == []
    assert up.effects() == {"LaunchInstance": 3}


# --- Observe ---


def as_people_left_it(up):
    """Nodes, pods and jobs without what their own keepers change all the time, and the agents' conditions and findings."""
    objects = {}
    for path in (NODES, PODS, JOBS):
        for item in up.api.items(path):
            meta = item["metadata"]
            meta.pop("managedFields", None)
            meta.pop("resourceVersion")
            meta.setdefault("annotations", {}).pop(FINDINGS, None)
            if path == NODES:
                item["status"].pop("conditions")
            objects[f"{path}/{meta['name']}"] = item
    return objects


def test_observe_changes_nothing_but_what_is_ours():
    with cluster() as up:
        up.api.patch(f"{POLICIES}/default", {"spec": {"mode": "Observe"}})
        eventually(lambda: len(up.api.items(NODES)) == 3, "three nodes")
        for node in ("node-a", "node-b", "node-c"):
            up.api.patch(f"{NODES}/{node}", {"metadata": {"labels": {HEALTH: "Schedulable"}}})
        up.start_training()
        controller = up.controller()
        eventually(up.training, "training past its checkpoint")
        eventually(lambda: job_state(up.job())["conditions"].get("Running") == "True", "the job to be Running")
        before, effects = as_people_left_it(up), up.effects()
        up.write_fault("node-b")
        eventually(lambda: up.phase() == "Held", "the incident")
        eventually(lambda: "only observes" in up.incidents()[0]["status"].get("message", ""), "what it would have done")
        why = up.mainstay("why", "node", "node-b").stdout
        assert "nothing, as long as policy default only observes" in why
        assert controller.stop() == 0
        assert as_people_left_it(up) == before
        assert up.effects() == effects
        assert RESUME not in up.job()["metadata"]["annotations"]

        released = up.mainstay("release", "--all", "--reason=uninstalling")
        assert released.returncode == 0, released.stderr
        assert [incident_state(incident)["outcome"] for incident in up.incidents()] == ["Released"]


def test_enforce_takes_up_what_observe_has_seen():
    with cluster() as up:
        up.api.patch(f"{POLICIES}/default", {"spec": {"mode": "Observe"}})
        eventually(lambda: len(up.api.items(NODES)) == 3, "three nodes")
        up.controller()
        for node in ("node-a", "node-b", "node-c"):
            up.api.patch(f"{NODES}/{node}", {"metadata": {"labels": {HEALTH: "Schedulable"}}})
        up.start_training()
        eventually(up.training, "training past its checkpoint")
        up.write_fault("node-b")
        eventually(lambda: up.phase() == "Held", "the incident")
        up.api.patch(f"{POLICIES}/default", {"spec": {"mode": "Enforce"}})
        eventually(lambda: recovered(up), "the end of the incident")


# --- `mainstay local` ---


def test_the_local_commands_tell_of_machines_and_break_them():
    with cluster() as up:
        eventually(lambda: len(up.api.items(NODES)) == 3, "three nodes")
        nodes = json.loads(up.mainstay("local", "nodes", "-o", "json").stdout)
        assert [(node["name"], node["alive"], node["kubelet"]) for node in nodes] == [
            ("node-a", True, True), ("node-b", True, True), ("node-c", True, True)]
        assert up.mainstay("local", "kill", "node-c").returncode == 0
        table = up.mainstay("local", "nodes").stdout.splitlines()
        assert table[0].split() == ["NAME", "MACHINE", "KUBELET", "PROVIDER-ID"]
        assert table[3].split()[:3] == ["node-c", "off", "silent"]
        for command in (["kmsg", "node-x", "text"], ["kill", "node-x"], ["kmsg", "node-c", "text"]):
            failed = up.mainstay("local", *command)
            assert failed.returncode == 1, command
            assert command[1] in failed.stderr


def test_a_line_in_the_kernel_log_becomes_a_condition_of_the_node():
    with cluster() as up:
        eventually(lambda: len(up.api.items(NODES)) == 3, "three nodes")
        eventually(lambda: neuron_health(up) == "False", "the agent")
        assert up.mainstay("local", "kmsg", "node-b", f"<3>{FAULT}").returncode == 0
        eventually(lambda: neuron_health(up) == "True", "the condition")


def neuron_health(up):
    conditions = up.api.get(f"{NODES}/node-b")["status"]["conditions"]
    return next((condition["status"] for condition in conditions if condition["type"] == "NeuronHealth"), None)
