"""The three patch types that say what changes. (apply_test.py has the one that says what is wanted.)"""
import pytest

from client import JSON_PATCH, MERGE_PATCH, RECOVERIES, STRATEGIC_PATCH, config_map, pod, recovery, unique

FOREIGN = {"key": "example.com/foreign", "value": "x", "effect": "NoSchedule"}
OURS = {"key": "sagemaker.amazonaws.com/node-health-status", "value": "Unschedulable", "effect": "NoSchedule"}


@pytest.fixture
def path(api, ns):
    api.create(f"{ns}/configmaps", config_map("a", {"x": "1", "y": "2"}, labels={"k": "v"})).ok(201)
    return f"{ns}/configmaps/a"


# --- Merge patch ---

def test_a_merge_patch_changes_what_it_names_and_null_removes(api, path):
    patched = api.patch(path, {"data": {"x": None, "z": "3"}, "metadata": {"annotations": {"n": "1"}}}).ok()
    assert patched["data"] == {"y": "2", "z": "3"}
    assert (patched["metadata"]["labels"], patched["metadata"]["annotations"]) == ({"k": "v"}, {"n": "1"})
    assert "labels" not in api.patch(path, {"metadata": {"labels": {"k": None}}}).ok()["metadata"]


def test_a_merge_patch_replaces_lists(api, node):
    api.patch(node, {"spec": {"taints": [FOREIGN]}}).ok()
    assert api.patch(node, {"spec": {"taints": [OURS]}}).ok()["spec"]["taints"] == [OURS]
    assert "taints" not in api.patch(node, {"spec": {"taints": None}}).ok()["spec"]


def test_a_merge_patch_that_is_no_object_is_refused(api, path):
    api.patch(path, "[]").refused(400, "BadRequest")


# --- JSON patch ---

def test_a_json_patch_does_its_operations_in_order(api, path):
    patched = api.patch(path, [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "replace", "path": "/data/x", "value": "9"},
        {"op": "copy", "from": "/data/x", "path": "/data/copied"},
        {"op": "move", "from": "/data/y", "path": "/data/moved"},
        {"op": "add", "path": "/metadata/annotations", "value": {"example.com/a": "1"}},
        {"op": "add", "path": "/metadata/annotations/example.com~1b", "value": "2"},
        {"op": "remove", "path": "/metadata/labels/k"},
    ], JSON_PATCH).ok()
    assert patched["data"] == {"x": "9", "copied": "9", "moved": "2"}
    assert patched["metadata"]["annotations"] == {"example.com/a": "1", "example.com/b": "2"}
    assert "labels" not in patched["metadata"]


@pytest.mark.parametrize("operation", [
    {"op": "test", "path": "/data/x", "value": "2"},
    {"op": "remove", "path": "/data/none"},
    {"op": "replace", "path": "/spec/none", "value": "1"},
    {"op": "add", "path": "/spec/none", "value": "1"},
])
def test_a_json_patch_that_does_not_fit_changes_nothing(api, path, operation):
    before = api.get(path).ok()
    operations = [{"op": "add", "path": "/data/new", "value": "1"}, operation]
    api.patch(path, operations, JSON_PATCH).refused(422, "Invalid")
    assert api.get(path).ok() == before


def test_a_json_patch_may_replace_a_member_that_is_not_there(api, path):
    """RFC 6902 would have it refused; kube-apiserver's library does not."""
    patched = api.patch(path, [{"op": "replace", "path": "/data/none", "value": "1"}], JSON_PATCH).ok()
    assert patched["data"] == {"none": "1", "x": "1", "y": "2"}


def changed_node(api, node, change, kind=MERGE_PATCH):
    """Patches with what `change` makes of the node as read, and again when the node's own controllers were faster."""
    for _ in range(20):
        answer = api.patch(node, change(api.get(node).ok()), kind)
        if answer.status not in (409, 422):
            break
    return answer.ok()


def place(node, taint):
    return f"/spec/taints/{node['spec']['taints'].index(taint)}"


def test_a_json_patch_guards_taints_by_what_it_read(api, node):
    api.patch(node, {"spec": {"taints": [FOREIGN]}}).ok()
    changed = changed_node(api, node, lambda read: [
        {"op": "test", "path": place(read, FOREIGN), "value": FOREIGN}, {"op": "add", "path": "/spec/taints/-", "value": OURS}],
        JSON_PATCH)
    assert FOREIGN in changed["spec"]["taints"] and OURS in changed["spec"]["taints"]
    remove = [{"op": "test", "path": place(changed, FOREIGN), "value": {"key": "none"}},
              {"op": "remove", "path": place(changed, FOREIGN)}]
    api.patch(node, remove, JSON_PATCH).refused(422, "Invalid")
    assert FOREIGN in api.get(node).ok()["spec"]["taints"]


def test_a_json_patch_of_no_operations_is_refused(api, path):
    api.patch(path, {"op": "remove", "path": "/data"}, JSON_PATCH).refused(400, "BadRequest")


# --- Our own way to change a node: a merge patch of the whole list, guarded by the version it was read at ---

def test_a_foreign_taint_survives(api, node):
    read = api.get(node).ok()
    api.patch(node, {"spec": {"taints": [FOREIGN]}}).ok()
    version = {"resourceVersion": read["metadata"]["resourceVersion"]}
    late = {"metadata": version, "spec": {"taints": [OURS], "unschedulable": True}}
    api.patch(node, late).refused(409, "Conflict")

    taints = changed_node(api, node, lambda read: {
        "metadata": {"resourceVersion": read["metadata"]["resourceVersion"]},
        "spec": {"taints": [*read["spec"]["taints"], OURS], "unschedulable": True}})["spec"]["taints"]
    assert FOREIGN in taints and OURS in taints


# --- Strategic merge patch ---

def conditions(node):
    return {each["type"]: each["status"] for each in node["status"].get("conditions", [])}


def test_conditions_are_merged_by_type(api, node):
    for kind, status in (("Ready", "True"), ("NeuronHealth", "False"), ("NeuronHealth", "True")):
        patched = api.patch(f"{node}/status", {"status": {"conditions": [{"type": kind, "status": status, "reason": "R"}]}},
                            STRATEGIC_PATCH).ok()
    assert conditions(patched)["Ready"] == conditions(patched)["NeuronHealth"] == "True"
    removed = {"status": {"conditions": [{"$patch": "delete", "type": "NeuronHealth"}]}}
    assert "NeuronHealth" not in conditions(api.patch(f"{node}/status", removed, STRATEGIC_PATCH).ok())


def test_taints_are_replaced_as_a_whole(api, node):
    api.patch(node, {"spec": {"taints": [FOREIGN]}}, STRATEGIC_PATCH).ok()
    assert api.patch(node, {"spec": {"taints": [OURS]}}, STRATEGIC_PATCH).ok()["spec"]["taints"] == [OURS]


def test_containers_are_merged_by_name(api, ns):
    body = pod("p")
    body["spec"]["containers"].append({"name": "side", "image": "example.com/side:1"})
    api.create(f"{ns}/pods", body).ok(201)
    patch = {"spec": {"containers": [{"name": "side", "image": "example.com/side:2"}]}}
    patched = api.patch(f"{ns}/pods/p", patch, STRATEGIC_PATCH).ok()
    assert {each["name"]: each["image"] for each in patched["spec"]["containers"]} == {
        "main": "example.com/main:1", "side": "example.com/side:2"}


def test_a_pod_may_tolerate_more(api, ns):
    api.create(f"{ns}/pods", pod("p")).ok(201)
    more = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
    old = api.get(f"{ns}/pods/p").ok()["spec"]["tolerations"]
    patched = api.patch(f"{ns}/pods/p", {"spec": {"tolerations": old + more}}, STRATEGIC_PATCH).ok()
    assert patched["spec"]["tolerations"] == old + more


def test_finalizers_are_a_set(api, ns):
    path = f"{ns}/configmaps/f"
    api.create(f"{ns}/configmaps", config_map("f", finalizers=["example.com/a"])).ok(201)
    added = api.patch(path, {"metadata": {"finalizers": ["example.com/b", "example.com/a"]}}, STRATEGIC_PATCH).ok()
    assert sorted(added["metadata"]["finalizers"]) == ["example.com/a", "example.com/b"]
    removed = api.patch(path, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}, STRATEGIC_PATCH).ok()
    assert removed["metadata"]["finalizers"] == ["example.com/b"]
    api.patch(path, {"metadata": {"finalizers": None}}).ok()


def test_directives_replace_and_remove(api, path):
    replaced = api.patch(path, {"data": {"$patch": "replace", "only": "1"}}, STRATEGIC_PATCH).ok()
    assert replaced["data"] == {"only": "1"}
    assert "labels" not in api.patch(path, {"metadata": {"labels": {"$patch": "delete"}}}, STRATEGIC_PATCH).ok()["metadata"]


def test_a_custom_kind_takes_no_strategic_patch(api, our_kinds, cluster_wide):
    body = recovery(unique("contract"))
    cluster_wide(RECOVERIES, body)
    answer = api.patch(f"{RECOVERIES}/{body['metadata']['name']}", {}, STRATEGIC_PATCH)
    message = answer.refused(415, "UnsupportedMediaType")["message"]
    assert "application/merge-patch+json" in message and "application/apply-patch+yaml" in message


def test_a_patch_of_another_type_is_refused(api, path):
    api.patch(path, {}, "application/json").refused(415, "UnsupportedMediaType")
