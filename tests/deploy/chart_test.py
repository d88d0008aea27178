"""What the chart makes of its values. What an API server says to it: tests/kubernetes/chart_test.py."""
import json
import pathlib

import pytest
import yaml

from chart import CHART, ROOT, VALUES, containers, helm, of_kind, pod_of, refusal, render

RULES = ROOT / "rules/neuron/kernel-monitor.json"
SEED = ROOT / "deploy/manifests/neuron-healthcheck-system.yaml"


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_lints_and_renders(values):
    done = helm("lint", "--strict", CHART, "--values", values, "--kube-version", "1.34.0")
    assert done.returncode == 0, done.stdout + done.stderr
    objects = render("--values", values)
    names = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects]
    assert len(set(names)) == len(names)


def test_every_value_is_described_by_the_schema_and_its_default_is_accepted():
    schema, values = json.loads((CHART / "values.schema.json").read_text()), yaml.safe_load((CHART / "values.yaml").read_text())

    def compare(part, value, path):
        known = part.get("properties")
        if known is None or not isinstance(value, dict) or path == "policies":
            return
        assert part.get("additionalProperties") is False, path
        assert set(known) - {"global"} == set(value), path
        for key, inner in value.items():
            compare(resolve(known[key]), inner, f"{path}.{key}" if path else key)

    def resolve(part):
        return schema["definitions"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part

    compare(schema, values, "")


@pytest.mark.parametrize("setting, complaint", [
    ("agnt.enabled=true", "'agnt' not allowed"),
    ("agent.statusPort=high", "'/agent/statusPort': got string, want integer"),
    ("agent.metricsPort=70000", "'/agent/metricsPort': maximum: got 70,000, want 65,535"),
    ("image.pullPolicy=Sometimes", "'/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"),
    ("image.digest=latest", "'/image/digest'"),
    ("log.level=loud", "'/log/level'"),
    ("policies.mine.mode=Enforce", "'/policies/mine': missing property 'provider'"),
    ("agent.extraArgs={take-conditions}", "'/agent/extraArgs/0'"),
    ("sidecar.startupDelay=soon", "'/sidecar/startupDelay'"),
    ("agent.rulePacks.use=null", "there is nothing to watch"),
    ("agent.kernelLog.enabled=false", "rule packs read the kernel log"),
    ("agent.rulePacks.use={Shipped}", "'/agent/rulePacks/use/0'"),
    ("agent.monitors.log.files={kernel-monitor.json}", "'/agent/monitors/log/files/0'"),
    ("agent.journal.folder=log", "'/agent/journal/folder'"),
    ("agent.stateFolder=/state/", "'/agent/stateFolder'"),
    ("agent.alsoConditions={hyperpot}", "'/agent/alsoConditions/0'"),
])
def test_wrong_values_are_refused_by_name(setting, complaint):
    assert complaint in refusal(setting)


def test_two_ways_of_replacing_instances_are_refused_together():
    both = ("sidecar.enabled=true", "sidecar.enableRecovery=true", "policies.watch.mode=Enforce", "policies.watch.provider=local")
    assert "policies.watch.mode=Enforce would both have instances replaced" in refusal(*both)
    for one in (both[:2], both[2:], (*both, "controller.enabled=false")):
        assert render(*[word for setting in one for word in ("--set", setting)])
    assert "set agent.enabled as well" in refusal("sidecar.enabled=true", "agent.enabled=false")


def test_images_come_from_a_private_registry_by_digest():
    objects = render("--values", ROOT / "tests/deploy/values/mirror.yaml", "--set", "sidecar.enabled=true")
    digest = yaml.safe_load((ROOT / "tests/deploy/values/mirror.yaml").read_text())["image"]["digest"]
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"]
    assert len(containers(objects)) == 4
    assert {c["image"] for c in containers(objects)} == {
        f"123456789012.dkr.ecr.us-west-2.amazonaws.com/mirror/mainstay:{version}@{digest}"}
    assert {c["imagePullPolicy"] for c in containers(objects)} == {"Always"}
    for kind in ("DaemonSet", "Deployment", "Job"):
        assert pod_of(objects, kind)["imagePullSecrets"] == [{"name": "ecr"}, {"name": "other"}]


def test_a_blind_agent_is_not_ready_but_lives():
    agent, = [c for c in pod_of(render(), "DaemonSet")["containers"] if c["name"] == "agent"]
    assert agent["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert agent["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_only_the_agent_is_privileged_and_only_for_the_device():
    objects = render("--set", "sidecar.enabled=true")
    for container in containers(objects):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        if container["name"] == "agent":
            assert context["privileged"] is True
            assert context["capabilities"] == {"drop": ["ALL"], "add": ["SYSLOG"]}
        else:
            assert context["runAsNonRoot"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    agent = pod_of(render("--values", ROOT / "tests/deploy/values/stand-in.yaml"), "DaemonSet")["containers"][0]
    assert "privileged" not in agent["securityContext"]
    assert agent["securityContext"]["allowPrivilegeEscalation"] is False


def test_with_a_certificate_everything_served_is_over_tls():
    objects = render("--values", ROOT / "tests/deploy/values/tls.yaml")
    for kind in ("DaemonSet", "Deployment"):
        pod = pod_of(objects, kind)
        container = pod["containers"][0]
        assert {"--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key"} <= set(container["args"])
        assert {"name": "tls", "mountPath": "/tls", "readOnly": True} in container["volumeMounts"]
        assert {"name": "tls", "secret": {"secretName": "mainstay-metrics"}} in pod["volumes"]
        assert {container[probe]["httpGet"]["scheme"] for probe in ("livenessProbe", "readinessProbe")} == {"HTTPS"}
    assert "in plain text" in refusal("tls.secretName=x", "sidecar.enabled=true")


def test_the_sidecar_gets_no_token_of_the_api_server():
    pod = pod_of(render("--set", "sidecar.enabled=true"), "DaemonSet")
    assert pod["automountServiceAccountToken"] is False
    mounted = {c["name"]: [m["mountPath"] for m in c.get("volumeMounts", [])] for c in pod["containers"]}
    assert "/var/run/secrets/kubernetes.io/serviceaccount" in mounted["agent"]
    assert mounted["recovery"] == []


def test_nobody_is_granted_a_wildcard():
    for role in of_kind(render(), "ClusterRole") + of_kind(render(), "Role"):
        for rule in role["rules"]:
            assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], role["metadata"]["name"]


def test_the_uninstall_has_an_account_of_its_own_that_exists_only_then():
    hooks = [o for o in render() if "helm.sh/hook" in o["metadata"].get("annotations", {})]
    assert sorted(o["kind"] for o in hooks) == ["ClusterRole", "ClusterRoleBinding", "Job", "ServiceAccount"]
    for hook in hooks:
        assert hook["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete,post-delete"
        assert "hook-succeeded" in hook["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
    weights = {o["kind"]: int(o["metadata"]["annotations"]["helm.sh/hook-weight"]) for o in hooks}
    assert weights["Job"] == max(weights.values())
    [container] = pod_of(render(), "Job")["containers"]
    assert container["args"][:2] == ["release", "--all"]


def test_the_uninstall_reaches_the_cloud_as_the_controller_does():
    values = ROOT / "tests/deploy/values/enforce.yaml"
    objects = render("--values", values)
    given = yaml.safe_load(values.read_text())["controller"]
    [container] = pod_of(objects, "Job")["containers"]
    assert container["env"] == given["extraEnv"]
    for component in ("controller", "release"):
        [account] = of_kind(objects, "ServiceAccount", component)
        assert account["metadata"]["annotations"].items() >= given["serviceAccount"]["annotations"].items()


def agent_of(*arguments):
    """The pod of the agents, and its container."""
    pod = pod_of(render(*arguments), "DaemonSet")
    [agent] = [c for c in pod["containers"] if c["name"] == "agent"]
    return pod, agent


def mounts_of(pod, container):
    """What of the host is mounted where; only the folder of the agent's state is not read-only."""
    paths = {v["name"]: (v["hostPath"]["path"], v["hostPath"]["type"]) for v in pod["volumes"] if "hostPath" in v}
    mounts = [m for m in container["volumeMounts"] if m["name"] in paths]
    assert len(mounts) == len(paths) and all(m.get("readOnly") for m in mounts if m["name"] != "state")
    return {m["mountPath"]: paths[m["name"]] for m in mounts}


STATE = {"/var/lib/mainstay": ("/var/lib/mainstay", "DirectoryOrCreate")}


def test_the_agent_leaves_its_state_on_the_host_unless_told_otherwise():
    pod, agent = agent_of()
    assert "--state-file=/var/lib/mainstay/$(NODE_NAME).json" in agent["args"]
    [mount] = [m for m in agent["volumeMounts"] if m["name"] == "state"]
    assert "readOnly" not in mount
    pod, agent = agent_of("--set", "agent.stateFolder=")
    assert not [a for a in agent["args"] if "state-file" in a]
    assert not [v for v in pod["volumes"] if v["name"] == "state"]


def test_rule_files_of_the_image_and_of_the_user_reach_the_agent():
    objects = render("--values", ROOT / "tests/deploy/values/own-rules.yaml")
    pod = pod_of(objects, "DaemonSet")
    agent = pod["containers"][0]
    assert [a for a in agent["args"] if "rule-packs" in a or "config." in a] == [
        "--rule-packs=shipped,/inline/acme.yaml",
        "--config.system-log-monitor=/a.json,/inline/mine.json",
        "--config.system-stats-monitor=/config/system-stats-monitor.json"]
    [config] = of_kind(objects, "ConfigMap")
    assert json.loads(config["data"]["mine.json"])["source"] == "mine"
    assert yaml.safe_load(config["data"]["acme.yaml"])["pack"] == "acme"
    [volume] = [v for v in pod["volumes"] if v.get("configMap", {}).get("name") == config["metadata"]["name"]]
    assert {"name": volume["name"], "mountPath": "/inline", "readOnly": True} in agent["volumeMounts"]


def test_a_rule_change_restarts_the_agents():
    def checksum(*arguments):
        [agents] = of_kind(render("--values", ROOT / "tests/deploy/values/own-rules.yaml", *arguments), "DaemonSet")
        return agents["spec"]["template"]["metadata"]["annotations"]["checksum/configs"]

    assert checksum() != checksum("--set", "agent.monitors.plugin.inline.other\\.json=text")


def test_two_texts_of_one_name_are_refused():
    assert "mine.json is there twice" in refusal("agent.monitors.log.inline.mine\\.json=a", "agent.monitors.stats.inline.mine\\.json=b")


def test_a_configmap_of_node_problem_detector_is_used_as_it_is():
    pod, agent = agent_of("--values", ROOT / "tests/deploy/values/npd.yaml")
    assert {"name": "configmap", "mountPath": "/configmap", "readOnly": True} in agent["volumeMounts"]
    assert {"name": "configmap", "configMap": {"name": "node-problem-detector-config", "defaultMode": 0o555}} in pod["volumes"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["securityContext"] == {"supplementalGroups": [4]}
    assert mounts_of(pod, agent) == {
        "/dev/kmsg": ("/dev/kmsg", "CharDevice"),
        "/var/log/journal": ("/var/log/journal", "Directory"),
        "/etc/machine-id": ("/etc/machine-id", "File"),
        "/var/log": ("/var/log", "Directory"),
        "/opt/app/log": ("/opt/app/log", "Directory"),
        **STATE}


def test_by_default_the_agent_knows_our_packs_and_sees_the_kernel_log_alone():
    pod, agent = agent_of()
    assert [a for a in agent["args"] if "rule-packs" in a or "config." in a or "kmsg" in a] == [
        "--rule-packs=shipped", "--kmsg-path=/dev/kmsg"]
    assert mounts_of(pod, agent) == {"/dev/kmsg": ("/dev/kmsg", "CharDevice"), **STATE}
    assert "hostNetwork" not in pod and "securityContext" not in pod


def test_without_the_kernel_log_and_probes_the_agent_has_no_privilege():
    pod, agent = agent_of("--values", ROOT / "tests/deploy/values/unprivileged.yaml")
    assert agent["securityContext"] == {
        "runAsUser": 65532, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
    assert set(mounts_of(pod, agent)) == {"/run/log/journal", "/etc/machine-id"}
    assert not [a for a in agent["args"] if "kmsg" in a]


def test_every_path_that_the_chart_names_is_in_the_image():
    """image_test.py looks for the rest in the image itself."""
    places = {"/usr/share/mainstay/rules/": ROOT / "rules", "/config/": ROOT / "rules/npd"}
    named = [file for values in VALUES for flag in agent_arguments(values)
             for file in flag.partition("=")[2].split(",") if file.startswith(tuple(places))]
    assert len(named) >= 6
    for file in named:
        [place] = [place for place in places if file.startswith(place)]
        assert (places[place] / pathlib.Path(file).relative_to(place)).is_file(), file
    programs = {p.split()[0] for p in (ROOT / "apps/CMakeLists.txt").read_text().split("mainstay_program(NAME ")[1:]}
    for container in containers(render("--set", "sidecar.enabled=true")):
        assert pathlib.Path(container["command"][0]).name in programs, container["name"]


def agent_arguments(values):
    return [a for c in containers(render("--values", values)) if c["name"] == "agent" for a in c["args"]]


def test_the_packs_that_the_neuron_values_name_are_shipped():
    """All for the machine itself; of the devices, the seed's rules tell."""
    [flag] = [a for a in agent_arguments(CHART / "values-neuron.yaml") if a.startswith("--rule-packs=")]
    named = set(flag.partition("=")[2].split(","))
    assert named <= {p.stem for p in (ROOT / "rules").glob("*.yaml")} - {"neuron"}


def test_the_charts_crds_are_the_repositorys():
    """A link, not a copy: a packaged chart holds the files themselves, and there is nothing to fall behind."""
    assert (CHART / "crds").resolve() == ROOT / "deploy/crds"
    shown = [o for o in yaml.safe_load_all(helm("show", "crds", CHART).stdout) if o]
    written = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "deploy/crds").glob("*.yaml"))]
    assert sorted(shown, key=str) == sorted(written, key=str)


def seed_object(kind, name="node-problem-detector"):
    [found] = [o for o in yaml.safe_load_all(SEED.read_text()) if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def test_the_seeds_manifest_bears_the_seeds_names():
    agents = seed_object("DaemonSet")
    assert agents["metadata"]["namespace"] == "neuron-healthcheck-system"
    detector, recovery = agents["spec"]["template"]["spec"]["containers"]
    assert (detector["name"], recovery["name"]) == ("node-problem-detector", "node-recovery")
    assert {"name": "ENABLE_RECOVERY", "value": "false"} in recovery["env"]
    assert [e["name"] for e in detector["env"]] == ["NODE_NAME"]
    rules = seed_object("ConfigMap", "node-problem-detector-config")["data"]["kernel-monitor.json"]
    assert rules == RULES.read_text()


def test_the_seeds_manifest_and_the_chart_agree_on_where_and_what_is_allowed():
    objects = render("--values", CHART / "values-neuron.yaml")
    assert seed_object("DaemonSet")["spec"]["template"]["spec"]["affinity"] == pod_of(objects, "DaemonSet")["affinity"]
    for kind in ("ClusterRole", "Role"):
        [role] = of_kind(objects, kind, "agent")
        assert seed_object(kind, "neuron-healthcheck-node-problem-detector")["rules"] == role["rules"]


def test_probes_see_the_host_and_their_settings():
    values = ROOT / "tests/deploy/values/probes.yaml"
    objects = render("--values", values)
    pod, agent = agent_of("--values", values)
    assert {"--probes=nvidia,storage", "--host-root=/host", "--probe-config=/probes/probes.yaml"} <= set(agent["args"])
    assert agent["securityContext"]["capabilities"]["add"] == ["SYSLOG", "SYS_ADMIN", "SYS_PTRACE"]
    assert mounts_of(pod, agent)["/host"] == ("/", "Directory")
    [host] = [m for m in agent["volumeMounts"] if m["name"] == "host"]
    assert host["mountPropagation"] == "HostToContainer"
    [settings] = [o for o in of_kind(objects, "ConfigMap") if o["metadata"]["name"].endswith("-probes")]
    assert yaml.safe_load(settings["data"]["probes.yaml"]) == yaml.safe_load(values.read_text())["agent"]["probes"]["config"]


def test_other_vocabularies_are_asked_for_by_name():
    _, agent = agent_of("--set", "agent.alsoConditions={hyperpod,eks}")
    assert "--also-conditions=hyperpod,eks" in agent["args"]
    _, agent = agent_of()
    assert not [arg for arg in agent["args"] if arg.startswith("--also-conditions")]


def test_probes_need_no_kernel_log():
    _, agent = agent_of("--set", "agent.probes.run={all},agent.rulePacks.use=null,agent.kernelLog.enabled=false")
    assert agent["securityContext"]["privileged"] is True, "device nodes of drives and GPUs"
    assert agent["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_without_probes_the_host_is_not_mounted():
    _, agent = agent_of()
    assert not [a for a in agent["args"] if "probe" in a]
