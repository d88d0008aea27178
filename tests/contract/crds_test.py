"""Custom kinds: our own definitions as the files have them, and a small one of the test's for what ours do not use."""
import copy

import pytest

from client import CRDS, POLICIES, RECOVERIES, eventually, recovery, unique

POLICY = {
    "apiVersion": "mainstay.dev/v1alpha1", "kind": "RecoveryPolicy", "metadata": {"name": "p"},
    "spec": {"nodes": {"matchLabels": {"a": "b"}}, "mode": "Enforce", "provider": "local",
             "limits": {"isolated": {"max": "20%", "atLeast": 1}, "inRecovery": {"max": 2}, "perHour": 4},
             "faults": [{"match": {"type": "NeuronHealth"}, "confirm": "1m30s", "ladder": [{"action": "replace"}]}],
             "drain": {"deadline": "10m"}, "resume": {"enabled": True, "maxRetries": 3}},
}


def changed(body, path, value):
    """A copy with the value at "spec.limits.perHour"; None removes it. Numbers are places in a list."""
    body = copy.deepcopy(body)
    *parents, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at = body
    for step in parents:
        at = at[step] if isinstance(step, int) else at.setdefault(step, {})
    if value is None:
        del at[last]
    else:
        at[last] = value
    return body


@pytest.fixture
def try_policy(api, our_kinds):
    return lambda path, value, **query: api.create(POLICIES, changed(POLICY, path, value), dryRun="All", **query)


def test_a_whole_policy_is_accepted(api, our_kinds):
    spec = api.create(POLICIES, POLICY, dryRun="All").ok(201)["spec"]
    assert spec["faults"][0]["match"] == {"type": "NeuronHealth", "reason": "*"}, "reason has a default"
    del spec["faults"][0]["match"]["reason"]
    assert spec == POLICY["spec"]


def test_the_smallest_policy_observes(api, our_kinds):
    body = {**POLICY, "spec": {"nodes": {}}}
    assert api.create(POLICIES, body, dryRun="All").ok(201)["spec"] == {"nodes": {}, "mode": "Observe"}


@pytest.mark.parametrize("path, value, field", [
    ("spec.mode", "Destroy", "spec.mode"),
    ("spec.mode", 5, "spec.mode"),
    ("spec.nodes", None, "spec.nodes"),
    ("spec.nodes.matchLabels.a", 1, "spec.nodes.matchLabels.a"),
    ("spec.nodes.matchExpressions", [{"key": "a", "operator": "Near"}], "spec.nodes.matchExpressions[0].operator"),
    ("spec.provider", "gcp", "spec.provider"),
    ("spec.limits.perHour", -1, "spec.limits.perHour"),
    ("spec.limits.perHour", "4", "spec.limits.perHour"),
    ("spec.limits.perHour", 1.5, "spec.limits.perHour"),
    ("spec.limits.isolated.max", "120%", "spec.limits.isolated.max"),
    ("spec.limits.isolated.max", True, "spec.limits.isolated.max"),
    ("spec.limits.isolated.max", -1, "spec.limits.isolated.max"),
    ("spec.faults.0.match.type", None, "spec.faults[0].match.type"),
    ("spec.faults.0.match.type", "", "spec.faults[0].match.type"),
    ("spec.faults.0.ladder", [], "spec.faults[0].ladder"),
    ("spec.faults.0.ladder", [{"action": "replace"}, {"action": "replace"}], "spec.faults[0].ladder"),
    ("spec.faults.0.ladder.0.action", "reboot", "spec.faults[0].ladder[0].action"),
    ("spec.faults.0.confirm", "soon", "spec.faults[0].confirm"),
    ("spec.resume.maxRetries", 0, "spec.resume.maxRetries"),
    ("spec.resume.enabled", "yes", "spec.resume.enabled"),
    ("spec.drain", [], "spec.drain"),
])
def test_a_policy_with_a_wrong_field_is_refused(try_policy, path, value, field):
    try_policy(path, value).invalid(field)


@pytest.mark.parametrize("path, value, field, message", [
    ("spec.provider", None, "spec", "mode Enforce needs a provider"),
    ("spec.breaker", {}, "spec", "breaker is not implemented in this release"),
    ("spec.validate", [], "spec", "validate is not implemented in this release"),
    ("spec.limits.perJob", {"max": 1}, "spec.limits", "perJob is not implemented in this release"),
    ("spec.faults.0.match.class", "x", "spec.faults[0].match", "matching by class is not implemented in this release"),
    ("spec.faults.0.ladder.0.attempts", 2, "spec.faults[0].ladder[0]", "attempts is not implemented in this release"),
    ("spec.drain.checkpointNotice", "1m", "spec.drain", "checkpointNotice is not implemented in this release"),
])
def test_a_policy_that_breaks_a_rule_is_refused_in_the_rules_words(try_policy, path, value, field, message):
    [cause] = try_policy(path, value).invalid(field)
    assert message in cause["message"]


def test_what_a_definition_does_not_know_is_dropped(try_policy):
    spec = try_policy("spec.drain.patience", "1h").ok(201)["spec"]
    assert spec["drain"] == {"deadline": "10m"}
    message = try_policy("spec.drain.patience", "1h", fieldValidation="Strict").refused(400, "BadRequest")["message"]
    assert 'unknown field "spec.drain.patience"' in message


def test_an_incident_never_changes_whom_it_is_about(api, our_kinds, cluster_wide):
    body = recovery(unique("contract"))
    path = f"{RECOVERIES}/{body['metadata']['name']}"
    cluster_wide(RECOVERIES, body)
    [cause] = api.patch(path, {"spec": {"policy": "another"}}).invalid("spec")
    assert "the node in evidence and its policy never change" in cause["message"]
    api.patch(path, {"spec": {"node": {"uid": "u-1"}}}).ok()


@pytest.mark.parametrize("status, field", [
    ({"phase": "Lost"}, "status.phase"),
    ({"since": "yesterday"}, "status.since"),
    ({"jobs": [{"state": "Stopped"}]}, "status.jobs[0].name"),
    ({"evidence": [{"seq": "1"}]}, "status.evidence[0].seq"),
    ({"phaseSeconds": {"Held": "1"}}, "status.phaseSeconds.Held"),
    ({"jobs": [{"name": "j"}] * 65}, "status.jobs"),
])
def test_a_status_with_a_wrong_field_is_refused(api, our_kinds, cluster_wide, status, field):
    body = recovery(unique("contract"))
    cluster_wide(RECOVERIES, body)
    api.patch(f"{RECOVERIES}/{body['metadata']['name']}/status", {"status": status}).invalid(field)


def test_a_job_may_hold_anything(api, our_kinds, ns):
    jobs = ns.replace("/api/v1", "/apis/kubeflow.org/v1") + "/pytorchjobs"
    spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": {"anything": [1, {"a": None}]}}}}}
    made = api.create(jobs, {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": spec})
    assert made.ok(201)["spec"] == spec


@pytest.mark.parametrize("missing", ["apiVersion", "kind"])
def test_a_custom_object_says_what_it_is(api, our_kinds, missing):
    body = recovery(unique("contract"))
    del body[missing]
    api.create(RECOVERIES, body, dryRun="All").refused(400, "BadRequest")


# --- Definitions ---

@pytest.fixture
def define(api, cluster_wide):
    """Makes a kind of the test's own, with these schemas; the path of its objects, and its name."""
    def make(spec, status=None, **version):
        kind = unique("t").replace("-", "")
        body = definition(kind, spec, status, **version)
        cluster_wide(CRDS, body)
        path = f"/apis/contract.example.com/v1/{kind}s"
        eventually(lambda: api.get(path).status == 200, f"{path} to be served")
        return path, kind.capitalize()

    return make


def definition(kind, spec, status=None, **version):
    properties = {"spec": spec, **({"status": status} if status else {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind}s.contract.example.com"},
        "spec": {"group": "contract.example.com", "scope": "Cluster",
                 "names": {"plural": f"{kind}s", "kind": kind.capitalize()},
                 "versions": [{"name": "v1", "served": True, "storage": True, **version,
                               "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}]},
    }


def thing(kind, spec, name="a"):
    return {"apiVersion": "contract.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_a_definition_is_established_with_its_names(api, define):
    path, kind = define({"type": "object"})
    plural = path.rpartition("/")[2]
    made = api.get(f"{CRDS}/{plural}.contract.example.com").ok()
    assert made["status"]["acceptedNames"] == {"plural": plural, "singular": kind.lower(), "kind": kind,
                                               "listKind": f"{kind}List"}
    assert made["status"]["storedVersions"] == ["v1"]
    assert {each["type"]: each["status"] for each in made["status"]["conditions"]} == {
        "NamesAccepted": "True", "Established": "True"}


def test_lists_merge_as_their_schema_says(api, define):
    entry = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
    path, kind = define({"type": "object", "properties": {
        "entries": {"type": "array", "items": entry, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}}}})
    api.apply(f"{path}/a", thing(kind, {"entries": [{"name": "x", "n": 1}], "tags": ["s"], "whole": {"a": "1"}}), "one").ok(201)
    applied = api.apply(f"{path}/a", thing(kind, {"entries": [{"name": "y", "n": 2}], "tags": ["t"]}), "two").ok()
    assert applied["spec"] == {"entries": [{"name": "x", "n": 1}, {"name": "y", "n": 2}], "tags": ["s", "t"],
                               "whole": {"a": "1"}}
    causes = api.apply(f"{path}/a", thing(kind, {"entries": [{"name": "x", "n": 3}], "whole": {"b": "1"}}), "two").refused(
        409, "Conflict")["details"]["causes"]
    assert {cause["field"] for cause in causes} == {'.spec.entries[name="x"].n', ".spec.whole"}
    doubled = thing(kind, {"entries": [{"name": "x"}, {"name": "x"}]}, "b")
    api.create(path, doubled).invalid("spec.entries[1]")
    api.create(path, thing(kind, {"tags": ["a", "a"]}, "b")).invalid("spec.tags[1]")


def test_spec_and_status_are_written_by_a_path_each(api, define):
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    path, kind = define(free, status=free, subresources={"status": {}})
    made = api.create(path, thing(kind, {"suspend": False})).ok(201)
    assert made["metadata"]["generation"] == 1
    both = {"spec": {"suspend": True}, "status": {"conditions": [{"type": "Running"}]}, "metadata": {"labels": {"a": "1"}}}
    reported = api.patch(f"{path}/a/status", both).ok()
    assert reported["spec"] == {"suspend": False} and "labels" not in reported["metadata"]
    assert reported["status"] == both["status"] and reported["metadata"]["generation"] == 1
    wanted = api.patch(f"{path}/a", both | {"status": {}}).ok()
    assert wanted["spec"] == {"suspend": True} and wanted["status"] == both["status"]
    assert wanted["metadata"]["generation"] == 2
    assert api.patch(f"{path}/a", {"metadata": {"labels": {"a": "2"}}}).ok()["metadata"]["generation"] == 2


def test_defaults_fill_what_is_missing_and_null(api, define):
    path, kind = define({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"}, "b": {"type": "integer", "default": 3},
        "c": {"type": "object", "default": {}, "properties": {"d": {"type": "boolean", "default": True}}}}})
    assert api.create(path, thing(kind, {"a": None})).ok(201)["spec"] == {"a": "x", "b": 3, "c": {"d": True}}


@pytest.mark.parametrize("change, field", [
    (("metadata.name", "other.contract.example.com"), "metadata.name"),
    (("spec.scope", "Galaxy"), "spec.scope"),
    (("spec.versions.0.storage", False), "spec.versions"),
    (("spec.versions.0.schema", {}), "spec.versions[0].schema.openAPIV3Schema"),
])
def test_a_wrong_definition_is_refused(api, change, field):
    kind = unique("t").replace("-", "")
    answer = api.create(CRDS, changed(definition(kind, {"type": "object"}), *change), dryRun="All")
    answer.refused(422, "Invalid")
    assert field in {cause["field"] for cause in answer.body["details"]["causes"]}, answer


def test_a_definition_takes_its_objects_along(api, define):
    path, kind = define({"type": "object"})
    api.create(path, thing(kind, {})).ok(201)
    api.delete(f"{CRDS}/{path.rpartition('/')[2]}.contract.example.com").ok()
    api.gone(f"{CRDS}/{path.rpartition('/')[2]}.contract.example.com")
    eventually(lambda: api.get(path).status == 404, f"{path} to be served no longer")
