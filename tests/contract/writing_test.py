"""Creating and replacing: names, conflicts, preconditions, what only the server writes, the status subresource, dry runs,
and how a refusal reads.

Left out, because neither our programs nor kubectl use it: creating by PUT, fieldValidation=Warn, stringData of Secrets, and
unknown fields of built-in kinds (the local server does not know their schemas).
"""
import pytest

from client import NAMESPACES, NODES, RECOVERIES, STRATEGIC_PATCH, config_map, pod, recovery, unique

LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
         "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-11-30T10:00:00.000000Z"}}


@pytest.fixture
def leases(ns):
    return ns.replace("/api/v1", "/apis/coordination.k8s.io/v1") + "/leases"


# --- Creating ---

def test_the_server_writes_what_is_its_own(api, ns):
    body = config_map("a", {"x": "1"}, uid="mine", creationTimestamp="2001-01-01T00:00:00Z", generation=7,
                      labels={"k": "v"})
    created = api.create(f"{ns}/configmaps", body).ok(201)
    metadata = created["metadata"]
    assert (created["kind"], created["apiVersion"], created["data"]) == ("ConfigMap", "v1", {"x": "1"})
    assert metadata["namespace"] == ns.rpartition("/")[2] and metadata["labels"] == {"k": "v"}
    assert len(metadata["uid"]) == 36 and int(metadata["resourceVersion"]) > 0
    assert not metadata["creationTimestamp"].startswith("2001")
    assert api.get(f"{ns}/configmaps/a").ok() == created


def test_an_object_may_leave_kind_and_version_to_the_path(api, ns):
    created = api.create(f"{ns}/configmaps", {"metadata": {"name": "a"}}).ok(201)
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")


def test_what_exists_is_not_created_again(api, ns):
    api.create(f"{ns}/configmaps", config_map("a")).ok(201)
    body = api.create(f"{ns}/configmaps", config_map("a")).refused(409, "AlreadyExists")
    assert body["message"] == 'configmaps "a" already exists'
    assert body["details"] == {"name": "a", "kind": "configmaps"}


def test_a_generated_name_has_five_characters_more(api, ns):
    names = {api.create(f"{ns}/configmaps", {"metadata": {"generateName": "map-"}}).ok(201)["metadata"]["name"]
             for _ in range(3)}
    assert len(names) == 3 and all(name.startswith("map-") and len(name) == 9 for name in names)


def test_nothing_is_created_in_a_namespace_that_is_not_there(api):
    name = unique("nowhere")
    body = api.create(f"{NAMESPACES}/{name}/configmaps", config_map("a")).refused(404, "NotFound")
    assert body["message"] == f'namespaces "{name}" not found'


def test_nothing_is_created_in_a_namespace_that_ends(api, ns):
    api.create(f"{ns}/configmaps", config_map("a", finalizers=["example.com/wait"])).ok(201)
    api.delete(ns).ok()
    body = api.create(f"{ns}/configmaps", config_map("b")).refused(403, "Forbidden")
    assert body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    api.patch(f"{ns}/configmaps/a", {"metadata": {"finalizers": None}}).ok()


@pytest.mark.parametrize("body", [
    config_map("a", namespace="another"),
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
    {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}},
    "no JSON",
    "[]",
])
def test_a_body_that_is_not_what_the_path_takes_is_refused(api, ns, body):
    api.create(f"{ns}/configmaps", body).refused(400, "BadRequest")


def test_wrong_fields_are_named(api, ns):
    answer = api.create(f"{ns}/configmaps", config_map("Upper", labels={"a b": "c"}))
    causes = answer.invalid("metadata.name", "metadata.labels")
    assert {cause["reason"] for cause in causes} == {"FieldValueInvalid"}
    details = answer.body["details"]
    assert (details["name"], details["kind"]) == ("Upper", "ConfigMap")
    assert answer.body["message"].startswith('ConfigMap "Upper" is invalid: [metadata.')


@pytest.mark.parametrize("metadata, field", [
    ({"labels": {"a": "no spaces"}}, "metadata.labels"),
    ({"annotations": {"/": "x"}}, "metadata.annotations"),
    ({"finalizers": ["example.com/has space"]}, "metadata.finalizers"),
    ({"finalizers": ["unqualified"]}, "metadata.finalizers[0]"),
    ({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}]}, "metadata.ownerReferences.uid"),
    ({"name": ""}, "metadata.name"),
])
def test_bad_metadata_is_refused(api, ns, metadata, field):
    api.create(f"{ns}/configmaps", {"metadata": {"name": "a", **metadata}}).invalid(field)


@pytest.mark.parametrize("spec, fields", [
    ({"containers": []}, ["spec.containers"]),
    ({"containers": [{"name": "Main", "image": "i"}]}, ["spec.containers[0].name"]),
    ({"containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]}, ["spec.containers[1].name"]),
    ({"containers": [{"name": "a"}]}, ["spec.containers[0].image"]),
    ({"containers": [{"name": "a", "image": "i"}], "restartPolicy": "Sometimes"}, ["spec.restartPolicy"]),
])
def test_bad_pods_are_refused(api, ns, spec, fields):
    answer = api.create(f"{ns}/pods", {"metadata": {"name": "p"}, "spec": spec})
    answer.refused(422, "Invalid")
    assert set(fields) <= {cause["field"] for cause in answer.body["details"]["causes"]}, answer


@pytest.mark.parametrize("taints, field", [
    ([{"key": "a", "effect": "Never"}], "metadata.taints[0].effect"),
    ([{"key": "has space", "effect": "NoSchedule"}], "metadata.taints[0].key"),
    ([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "x"}], "metadata.taints[1]"),
])
def test_bad_taints_are_refused(api, node, taints, field):
    answer = api.patch(node, {"spec": {"taints": taints}})
    answer.refused(422, "Invalid")
    assert field in {cause["field"] for cause in answer.body["details"]["causes"]}, answer


def test_the_provider_id_of_a_node_is_set_once(api, node):
    api.patch(node, {"spec": {"providerID": "aws:///zone/i-1"}}).ok()
    api.patch(node, {"spec": {"providerID": "aws:///zone/i-2"}}).invalid("spec.providerID")


def test_an_event_lives_where_its_subject_does(api, ns):
    event = {"metadata": {"name": unique("e")}, "reason": "R", "type": "Normal", "message": "m",
             "involvedObject": {"kind": "Node", "name": "n"}}
    api.create(f"{ns}/events", event).invalid("involvedObject.namespace")
    api.create(f"{NAMESPACES}/default/events", event).ok(201)
    api.delete(f"{NAMESPACES}/default/events/{event['metadata']['name']}").ok()


def test_an_event_is_counted_up_by_a_patch(api, ns):
    namespace = ns.rpartition("/")[2]
    event = {"metadata": {"name": "e"}, "reason": "R", "type": "Warning", "message": "m", "count": 1,
             "firstTimestamp": "2026-11-30T10:00:00Z", "lastTimestamp": "2026-11-30T10:00:00Z",
             "source": {"component": "c", "host": "h"},
             "involvedObject": {"kind": "Pod", "name": "p", "namespace": namespace}}
    api.create(f"{ns}/events", event).ok(201)
    patched = api.patch(f"{ns}/events/e", {"count": 2, "lastTimestamp": "2026-11-30T10:01:00Z"},
                        STRATEGIC_PATCH).ok()
    assert (patched["count"], patched["firstTimestamp"], patched["lastTimestamp"]) == (
        2, "2026-11-30T10:00:00Z", "2026-11-30T10:01:00Z")
    assert patched["source"] == {"component": "c", "host": "h"}


# --- Conflicts and preconditions ---

def test_who_writes_with_an_old_version_loses(api, ns):
    path = f"{ns}/configmaps/a"
    old = api.create(f"{ns}/configmaps", config_map("a", {"n": "1"})).ok(201)
    api.replace(path, old | {"data": {"n": "2"}}).ok()
    body = api.replace(path, old | {"data": {"n": "3"}}).refused(409, "Conflict")
    assert body["message"] == ('Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply '
                               "your changes to the latest version and try again")
    assert body["details"] == {"name": "a", "kind": "configmaps"}
    stale = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {"n": "4"}}
    api.patch(path, stale).refused(409, "Conflict")
    api.patch(path, stale, STRATEGIC_PATCH).refused(409, "Conflict")
    assert api.get(path).ok()["data"] == {"n": "2"}


def test_a_write_that_means_another_object_of_the_name_is_refused(api, ns):
    path = f"{ns}/configmaps/a"
    api.create(f"{ns}/configmaps", config_map("a")).ok(201)
    another = {"uid": "11111111-2222-3333-4444-555555555555"}
    assert "UID" in api.replace(path, config_map("a", **another)).refused(409, "Conflict")["message"]
    api.patch(path, {"metadata": another}).refused(422, "Invalid")


def test_two_leaders_cannot_both_take_a_lease(api, leases):
    lease = api.create(leases, LEASE).ok(201)
    api.create(leases, LEASE).refused(409, "AlreadyExists")
    taken = api.replace(f"{leases}/leader", lease | {"spec": {**LEASE["spec"], "holderIdentity": "b"}}).ok()
    assert taken["spec"]["holderIdentity"] == "b" and taken["spec"]["renewTime"] == LEASE["spec"]["renewTime"]
    api.replace(f"{leases}/leader", lease).refused(409, "Conflict")


def test_a_lease_is_never_replaced_blindly(api, leases):
    api.create(leases, LEASE).ok(201)
    api.replace(f"{leases}/leader", LEASE).invalid("metadata.resourceVersion")


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_lease_lasts_a_while(api, leases, seconds):
    api.create(leases, LEASE | {"spec": {"leaseDurationSeconds": seconds}}).invalid("spec.leaseDurationSeconds")


def test_a_config_map_may_be_replaced_blindly(api, ns):
    api.create(f"{ns}/configmaps", config_map("a", {"n": "1"}, labels={"k": "v"})).ok(201)
    replaced = api.replace(f"{ns}/configmaps/a", config_map("a", {"m": "2"})).ok()
    assert replaced["data"] == {"m": "2"} and "labels" not in replaced["metadata"]


def test_a_custom_object_is_never_replaced_blindly(api, our_kinds, cluster_wide):
    body = recovery(unique("contract"))
    cluster_wide(RECOVERIES, body)
    api.replace(f"{RECOVERIES}/{body['metadata']['name']}", body).invalid("metadata.resourceVersion")


def test_the_name_in_the_body_is_the_name_in_the_path(api, ns):
    api.create(f"{ns}/configmaps", config_map("a")).ok(201)
    api.replace(f"{ns}/configmaps/a", config_map("b")).refused(400, "BadRequest")


# --- Status and generation ---

def test_status_is_written_by_its_own_path_alone(api, node):
    api.patch(node, {"status": {"phase": "Running"}, "metadata": {"labels": {"a": "1"}}}).ok()
    assert "phase" not in api.get(node).ok()["status"]
    patched = api.patch(f"{node}/status", {"status": {"phase": "Running"}, "spec": {"unschedulable": True}}).ok()
    assert patched["status"]["phase"] == "Running" and "unschedulable" not in patched["spec"]
    assert api.get(f"{node}/status").ok()["status"]["phase"] == "Running"


def test_status_of_a_custom_object_is_written_by_its_own_path_alone(api, our_kinds, cluster_wide):
    body = recovery(unique("contract"))
    path = f"{RECOVERIES}/{body['metadata']['name']}"
    created = cluster_wide(RECOVERIES, body | {"status": {"phase": "Held"}})
    assert "status" not in created and created["metadata"]["generation"] == 1
    assert "status" not in api.patch(path, {"status": {"phase": "Held"}}).ok()
    patched = api.patch(f"{path}/status", {"status": {"phase": "Held"}, "metadata": {"labels": {"a": "1"}}}).ok()
    assert patched["status"] == {"phase": "Held"} and patched["metadata"]["generation"] == 1
    assert "labels" not in patched["metadata"]


def test_pods_count_generations_and_nodes_do_not(api, ns, node):
    api.create(f"{ns}/pods", pod("p")).ok(201)
    path = f"{ns}/pods/p"
    assert api.get(path).ok()["metadata"]["generation"] == 1
    assert api.patch(f"{path}/status", {"status": {"phase": "Running"}}).ok()["metadata"]["generation"] == 1
    longer = {"spec": {"containers": [{"name": "main", "image": "example.com/main:2"}]}}
    assert api.patch(path, longer, STRATEGIC_PATCH).ok()["metadata"]["generation"] == 2
    assert "generation" not in api.patch(node, {"spec": {"unschedulable": True}}).ok()["metadata"]


def test_the_spec_of_a_pod_hardly_changes(api, ns):
    api.create(f"{ns}/pods", pod("p")).ok(201)
    api.patch(f"{ns}/pods/p", {"spec": {"nodeName": "another"}}).invalid("spec")
    api.patch(f"{ns}/pods/p", {"spec": {"restartPolicy": "Never"}}).invalid("spec")


def test_a_new_pod_is_given_defaults(api, ns):
    body = pod("p")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi", "aws.amazon.com/neuron": "16"}}
    made = api.create(f"{ns}/pods", body | {"status": {"phase": "Running"}}).ok(201)
    spec, status = made["spec"], made["status"]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"], spec["dnsPolicy"]) == ("Always", 30, "ClusterFirst")
    assert spec["containers"][0]["resources"]["requests"] == body["spec"]["containers"][0]["resources"]["limits"]
    assert (status["phase"], status["qosClass"]) == ("Pending", "Guaranteed")
    assert {(each["key"], each["effect"], each["tolerationSeconds"]) for each in spec["tolerations"]} == {
        ("node.kubernetes.io/not-ready", "NoExecute", 300), ("node.kubernetes.io/unreachable", "NoExecute", 300)}


def test_a_new_node_is_not_trusted_before_it_is_ready(api, cluster_wide):
    made = cluster_wide(NODES, {"metadata": {"name": unique("contract")}})
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_a_namespace_is_labelled_with_its_name(api, ns):
    body = api.get(ns).ok()
    assert body["metadata"]["labels"] == {"kubernetes.io/metadata.name": body["metadata"]["name"]}
    assert body["status"]["phase"] == "Active" and body["spec"]["finalizers"] == ["kubernetes"]


# --- Dry runs ---

def test_a_dry_run_answers_as_if_and_stores_nothing(api, ns):
    maps = f"{ns}/configmaps"
    made = api.create(maps, config_map("a"), dryRun="All").ok(201)
    assert made["metadata"]["uid"] and api.get(f"{maps}/a").status == 404

    stored = api.create(maps, config_map("a", {"n": "1"})).ok(201)
    assert api.patch(f"{maps}/a", {"data": {"n": "2"}}, dryRun="All").ok()["data"] == {"n": "2"}
    assert api.replace(f"{maps}/a", config_map("a", {"n": "3"}), dryRun="All").ok()["data"] == {"n": "3"}
    api.delete(f"{maps}/a", dryRun="All").ok()
    assert api.get(f"{maps}/a").ok() == stored


def test_a_dry_run_refuses_what_would_be_refused(api, ns):
    api.create(f"{ns}/configmaps", config_map("Upper"), dryRun="All").invalid("metadata.name")


# --- Unknown fields ---

def test_unknown_fields_of_our_kinds_are_refused_when_asked_strictly(api, our_kinds):
    body = recovery(unique("contract"), nodes=1) | {"extra": True}
    message = api.create(RECOVERIES, body, fieldValidation="Strict").refused(400, "BadRequest")["message"]
    assert "strict decoding error" in message
    assert 'unknown field "spec.nodes"' in message and 'unknown field "extra"' in message
