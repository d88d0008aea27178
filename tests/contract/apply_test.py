"""Server-side apply: a manager says what it wants; it owns that, is told of conflicts, and what it no longer wants goes.

Left out, because neither our programs nor kubectl's plain use needs it: fields that a schema does not know, changes of an
object's version, DaemonSets' own defaults, ownership taken over from client-side apply (kubectl does that itself).
"""
import pytest

from client import APPLY_PATCH, NODES, RECOVERIES, config_map, pod, recovery, unique


@pytest.fixture
def path(ns):
    return f"{ns}/configmaps/a"


def wanted(data=None, **metadata):
    return config_map("a", data, **metadata)


def owned(body, manager, operation="Apply", subresource=None):
    """The fields that the manager owns, in fieldsV1's own form; None when it owns nothing."""
    found = [each for each in body["metadata"].get("managedFields", [])
             if (each["manager"], each["operation"], each.get("subresource")) == (manager, operation, subresource)]
    assert len(found) < 2, found
    return found[0]["fieldsV1"] if found else None


# --- Owning ---

def test_what_is_not_there_is_created(api, path):
    created = api.apply(path, wanted({"x": "1"}, labels={"k": "v"}), "one").ok(201)
    assert created["data"] == {"x": "1"} and created["metadata"]["uid"]
    [entry] = created["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["apiVersion"], entry["fieldsType"]) == (
        "one", "Apply", "v1", "FieldsV1")
    assert entry["fieldsV1"] == {"f:data": {"f:x": {}}, "f:metadata": {"f:labels": {"f:k": {}}}}


def test_applying_the_same_again_changes_nothing(api, path):
    first = api.apply(path, wanted({"x": "1"}), "one").ok(201)
    assert api.apply(path, wanted({"x": "1"}), "one").ok() == first


def test_a_body_may_be_yaml(api, path):
    created = api.apply(path, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 'yes'}  # text\n", "one").ok(201)
    assert created["data"] == {"x": "yes"} and created["metadata"]["name"] == "a"


def test_what_another_owns_stays(api, path):
    api.create(path.rpartition("/")[0], wanted({"y": "2"}), fieldManager="creator").ok(201)
    applied = api.apply(path, wanted({"x": "1"}), "one").ok()
    assert applied["data"] == {"x": "1", "y": "2"}
    assert owned(applied, "one") == {"f:data": {"f:x": {}}}
    assert owned(applied, "creator", "Update") == {"f:data": {".": {}, "f:y": {}}}


def test_two_managers_may_want_the_same(api, path):
    api.apply(path, wanted({"x": "1"}), "one").ok(201)
    shared = api.apply(path, wanted({"x": "1"}), "two").ok()
    assert owned(shared, "one") == owned(shared, "two") == {"f:data": {"f:x": {}}}
    left = api.apply(path, wanted(), "one").ok()
    assert left["data"] == {"x": "1"} and not (owned(left, "one") or {}).get("f:data", {}).get("f:x")


def test_an_update_takes_a_field_from_who_applied_it(api, path):
    api.apply(path, wanted({"x": "1", "y": "1"}), "one").ok(201)
    patched = api.patch(path, {"data": {"x": "2"}}, fieldManager="two").ok()
    assert owned(patched, "one") == {"f:data": {"f:y": {}}}
    assert owned(patched, "two", "Update") == {"f:data": {"f:x": {}}}


# --- Conflicts ---

def test_a_conflict_names_the_field_and_who_owns_it(api, path):
    api.apply(path, wanted({"x": "1", "y": "1"}), "one").ok(201)
    refused = api.apply(path, wanted({"x": "2", "y": "1"}), "two").refused(409, "Conflict")
    assert refused["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}]
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    assert api.get(path).ok()["data"]["x"] == "1"


def test_several_conflicts_are_all_named(api, path):
    api.apply(path, wanted({"x": "1", "y": "1"}), "one").ok(201)
    refused = api.apply(path, wanted({"x": "2", "y": "2"}), "two").refused(409, "Conflict")
    assert refused["message"] == 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\n- .data.y'
    assert {cause["field"] for cause in refused["details"]["causes"]} == {".data.x", ".data.y"}


def test_a_conflict_with_an_update_tells_its_version(api, path):
    api.create(path.rpartition("/")[0], wanted({"x": "1"}), fieldManager="creator").ok(201)
    [cause] = api.apply(path, wanted({"x": "2"}), "one").refused(409, "Conflict")["details"]["causes"]
    assert cause["message"] == 'conflict with "creator" using v1'


def test_force_takes_the_field(api, path):
    api.apply(path, wanted({"x": "1", "y": "1"}), "one").ok(201)
    forced = api.apply(path, wanted({"x": "2"}), "two", force="true").ok()
    assert forced["data"] == {"x": "2", "y": "1"}
    assert owned(forced, "two") == {"f:data": {"f:x": {}}} and owned(forced, "one") == {"f:data": {"f:y": {}}}


def test_the_version_in_the_body_guards(api, path):
    old = api.apply(path, wanted({"x": "1"}), "one").ok(201)["metadata"]["resourceVersion"]
    api.apply(path, wanted({"x": "2"}, resourceVersion=old), "one").ok()
    api.apply(path, wanted({"x": "3"}, resourceVersion=old), "one").refused(409, "Conflict")


# --- No longer wanted ---

def test_what_is_no_longer_applied_goes(api, path):
    api.apply(path, wanted({"x": "1", "y": "1"}, labels={"k": "v"}, annotations={"n": "1"}), "one").ok(201)
    applied = api.apply(path, wanted({"x": "1"}), "one").ok()
    assert applied["data"] == {"x": "1"}
    assert "labels" not in applied["metadata"] and "annotations" not in applied["metadata"]


def test_what_another_still_wants_stays(api, path):
    api.apply(path, wanted({"x": "1", "y": "1"}), "one").ok(201)
    api.apply(path, wanted({"y": "1"}), "two").ok()
    assert api.apply(path, wanted({"x": "1"}), "one").ok()["data"] == {"x": "1", "y": "1"}


def test_finalizers_are_owned_one_by_one(api, path):
    api.apply(path, wanted(finalizers=["example.com/one"]), "one").ok(201)
    both = api.apply(path, wanted(finalizers=["example.com/two"]), "two").ok()
    assert sorted(both["metadata"]["finalizers"]) == ["example.com/one", "example.com/two"]
    assert owned(both, "two") == {"f:metadata": {"f:finalizers": {'v:"example.com/two"': {}}}}
    left = api.apply(path, wanted(), "one").ok()
    assert left["metadata"]["finalizers"] == ["example.com/two"]
    assert "finalizers" not in api.apply(path, wanted(), "two").ok()["metadata"]


# --- Lists of built-in kinds ---

def condition(kind, status):
    return {"apiVersion": "v1", "kind": "Node", "status": {"conditions": [{"type": kind, "status": status, "reason": "R"}]}}


def test_conditions_of_a_node_belong_to_those_who_apply_them(api, node):
    path = f"{node}/status"
    api.apply(path, condition("DiskHealth", "True"), "disk").ok()
    applied = api.apply(path, condition("NeuronHealth", "False"), "neuron").ok()
    assert {"DiskHealth", "NeuronHealth"} <= {each["type"] for each in applied["status"]["conditions"]}
    assert owned(applied, "neuron", subresource="status") == {"f:status": {"f:conditions": {
        'k:{"type":"NeuronHealth"}': {".": {}, "f:type": {}, "f:status": {}, "f:reason": {}}}}}
    [cause] = api.apply(path, condition("DiskHealth", "False"), "neuron").refused(409, "Conflict")["details"]["causes"]
    assert cause["message"] == 'conflict with "disk" with subresource "status"'
    assert cause["field"] == '.status.conditions[type="DiskHealth"].status'

    gone = api.apply(path, {"apiVersion": "v1", "kind": "Node", "status": {}}, "neuron").ok()
    assert "NeuronHealth" not in {each["type"] for each in gone["status"]["conditions"]}
    assert "DiskHealth" in {each["type"] for each in gone["status"]["conditions"]}


def test_the_status_path_takes_the_status_alone(api, node):
    body = condition("NeuronHealth", "False") | {"spec": {"unschedulable": True}}
    applied = api.apply(f"{node}/status", body, "neuron").ok()
    assert "unschedulable" not in applied["spec"]
    assert "f:spec" not in owned(applied, "neuron", subresource="status")
    applied = api.apply(node, body, "neuron").ok()
    assert applied["spec"]["unschedulable"] and owned(applied, "neuron") == {"f:spec": {"f:unschedulable": {}}}


def test_taints_are_owned_as_a_whole(api, cluster_wide):
    name = unique("contract")
    cluster_wide(NODES, {"metadata": {"name": name}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}})
    body = {"apiVersion": "v1", "kind": "Node", "spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    refused = api.apply(f"{NODES}/{name}", body, "one").refused(409, "Conflict")
    assert {cause["field"] for cause in refused["details"]["causes"]} == {".spec.taints"}
    forced = api.apply(f"{NODES}/{name}", body, "one", force="true").ok()
    assert [taint["key"] for taint in forced["spec"]["taints"]] == ["b"]
    assert owned(forced, "one") == {"f:spec": {"f:taints": {}}}


def test_a_pod_is_applied_with_its_containers_and_ports(api, ns):
    body = pod("p")
    body["spec"]["containers"][0] |= {
        "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "1"}], "args": ["x", "y"]}
    body["spec"]["nodeSelector"] = {"a": "b"}
    created = api.apply(f"{ns}/pods/p", body, "one").ok(201)
    assert created["spec"]["restartPolicy"] == "Always"
    assert owned(created, "one") == {"f:spec": {
        "f:schedulerName": {}, "f:nodeSelector": {}, "f:containers": {'k:{"name":"main"}': {
            ".": {}, "f:name": {}, "f:image": {}, "f:args": {},
            "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}}}}}}}
    body["spec"]["containers"][0]["image"] = "example.com/main:2"
    assert api.apply(f"{ns}/pods/p", body, "one").ok()["spec"]["containers"][0]["image"] == "example.com/main:2"
    body["spec"]["containers"][0]["image"] = "example.com/main:3"
    [cause] = api.apply(f"{ns}/pods/p", body, "two").refused(409, "Conflict")["details"]["causes"]
    assert cause["field"] == '.spec.containers[name="main"].image'


def test_a_service_and_a_budget_are_applied(api, ns):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80, "name": "web"}]}}
    created = api.apply(f"{ns}/services/s", service, "one").ok(201)
    assert owned(created, "one") == {"f:spec": {
        "f:clusterIP": {}, "f:selector": {},
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {
        "maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
    path = ns.replace("/api/v1", "/apis/policy/v1") + "/poddisruptionbudgets/b"
    created = api.apply(path, budget, "one").ok(201)
    assert owned(created, "one") == {"f:spec": {"f:maxUnavailable": {}, "f:selector": {}}}


def test_through_the_status_labels_are_applied_to_built_in_kinds_alone(api, our_kinds, node, cluster_wide):
    """As patches of a node's status carry the agent's findings."""
    labelled = {"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"a": "1"}, "finalizers": ["example.com/x"]}}
    applied = api.apply(f"{node}/status", labelled, "one").ok()
    assert applied["metadata"]["labels"]["a"] == "1"
    name = unique("contract")
    cluster_wide(RECOVERIES, recovery(name))
    labelled |= {"apiVersion": "mainstay.dev/v1alpha1", "kind": "NodeRecovery", "status": {"phase": "Held"}}
    applied = api.apply(f"{RECOVERIES}/{name}/status", labelled, "one").ok()
    assert "labels" not in applied["metadata"] and "finalizers" not in applied["metadata"]
    assert owned(applied, "one", subresource="status")["f:status"] == {"f:phase": {}}, applied


# --- Custom kinds ---

def test_our_kinds_are_applied(api, our_kinds, cluster_wide):
    name = unique("contract")
    path = f"{RECOVERIES}/{name}"
    cluster_wide(RECOVERIES, recovery(name))
    jobs = [{"name": "train", "state": "Stopped", "lost": ["w-1"]}]
    body = {"apiVersion": "mainstay.dev/v1alpha1", "kind": "NodeRecovery", "status": {"phase": "Held", "jobs": jobs}}
    applied = api.apply(f"{path}/status", body, "jobs").ok()
    assert applied["status"] == {"phase": "Held", "jobs": jobs}
    # Lists of a schema that says nothing else belong to one manager as a whole.
    assert owned(applied, "jobs", subresource="status") == {"f:status": {"f:phase": {}, "f:jobs": {}}}

    other = {**body, "status": {"message": "m"}}
    assert api.apply(f"{path}/status", other, "recovery").ok()["status"] == {"phase": "Held", "jobs": jobs, "message": "m"}
    refused = api.apply(f"{path}/status", {**body, "status": {"phase": "Draining"}}, "recovery").refused(409, "Conflict")
    assert refused["details"]["causes"][0]["field"] == ".status.phase"
    left = api.apply(f"{path}/status", {**body, "status": {"phase": "Held"}}, "jobs").ok()
    assert left["status"] == {"phase": "Held", "message": "m"}


def test_a_custom_object_is_created_by_apply_and_checked(api, our_kinds, cluster_wide):
    name = unique("contract")
    bad = recovery(name)
    del bad["spec"]["policy"]
    api.apply(f"{RECOVERIES}/{name}", bad, "one").invalid("spec.policy")
    created = api.apply(f"{RECOVERIES}/{name}", recovery(name), "one").ok(201)
    assert created["metadata"]["generation"] == 1
    assert owned(created, "one") == {"f:spec": {"f:node": {"f:name": {}, "f:uid": {}}, "f:policy": {}}}
    api.delete(f"{RECOVERIES}/{name}").ok()


def test_free_form_parts_are_owned_field_by_field(api, our_kinds, ns):
    path = ns.replace("/api/v1", "/apis/kubeflow.org/v1") + "/pytorchjobs/j"
    body = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": {
        "runPolicy": {"cleanPodPolicy": "None"}, "pytorchReplicaSpecs": {"Master": {"replicas": 1}}}}
    api.apply(path, body, "person").ok(201)
    stopped = api.patch(path, {"spec": {"runPolicy": {"suspend": True}}}, fieldManager="mainstay").ok()
    assert owned(stopped, "mainstay", "Update") == {"f:spec": {"f:runPolicy": {"f:suspend": {}}}}
    applied = api.apply(path, body, "person").ok()
    assert applied["spec"]["runPolicy"] == {"cleanPodPolicy": "None", "suspend": True}


# --- How to ask ---

def test_apply_needs_a_manager(api, path):
    api.call("PATCH", path, wanted(), APPLY_PATCH).refused(422, "Invalid")


def test_only_apply_can_be_forced(api, path):
    api.apply(path, wanted(), "one").ok(201)
    api.patch(path, {"data": {"x": "1"}}, force="true").refused(422, "Invalid")


@pytest.mark.parametrize("change", [
    {"metadata": {"name": "b"}}, {"kind": "Secret"}, {"apiVersion": "v2"},
    {"metadata": {"name": "a", "managedFields": [{"manager": "x"}]}},
])
def test_a_body_for_something_else_is_refused(api, path, change):
    api.apply(path, wanted() | change, "one").refused(400, "BadRequest")


def test_a_dry_run_tells_of_conflicts_and_stores_nothing(api, path):
    assert api.apply(path, wanted({"x": "1"}), "one", dryRun="All").ok(201)["data"] == {"x": "1"}
    assert api.get(path).status == 404
    stored = api.apply(path, wanted({"x": "1"}), "one").ok(201)
    api.apply(path, wanted({"x": "2"}), "two", dryRun="All").refused(409, "Conflict")
    assert api.apply(path, wanted({"x": "2"}), "one", dryRun="All").ok()["data"] == {"x": "2"}
    assert api.get(path).ok() == stored
