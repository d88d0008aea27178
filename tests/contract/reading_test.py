"""Lists and their pages, selectors, tables, discovery, and what is not there.

Left out, because neither our programs nor kubectl use it: resourceVersionMatch=Exact, the fresh continue token of an
expired one, selectable fields of custom kinds, OpenAPI documents.
"""
import pytest

from client import (CRDS, JSON, MERGE_PATCH, NAMESPACES, NODES, POLICIES, RECOVERIES, STRATEGIC_PATCH, config_map, pod,
                    unique)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.fixture
def maps(api, ns):
    """The path of four ConfigMaps, a to d, of which a and c are red."""
    path = f"{ns}/configmaps"
    for name in "abcd":
        api.create(path, config_map(name, labels={"color": "red" if name in "ac" else "blue", "set": "four"})).ok(201)
    return path


# --- Lists ---

def test_a_list_tells_its_kind_and_a_version_to_watch_from(api, maps):
    body = api.get(maps, labelSelector="set=four").ok()
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(body["metadata"]["resourceVersion"]) >= max(
        int(item["metadata"]["resourceVersion"]) for item in body["items"])
    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "b", "c", "d"]


def test_pages_show_the_world_as_it_stood_at_the_first_one(api, maps):
    pages = [api.get(maps, labelSelector="set=four", limit=2).ok()]
    api.create(maps, config_map("cc", labels={"set": "four"})).ok(201)
    api.delete(f"{maps}/d").ok()
    while "continue" in pages[-1]["metadata"]:
        pages.append(api.get(maps, labelSelector="set=four", limit=2, **{"continue": pages[-1]["metadata"]["continue"]}).ok())

    assert [item["metadata"]["name"] for page in pages for item in page["items"]] == ["a", "b", "c", "d"]
    assert len(pages[0]["items"]) == 2
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1


def test_a_page_without_a_selector_tells_how_much_is_left(api, maps):
    first = api.get(maps, limit=1).ok()["metadata"]
    assert first["remainingItemCount"] >= 3 and first["continue"]


def test_a_continue_token_that_nobody_gave_is_refused(api, maps):
    api.get(maps, limit=2, **{"continue": "nonsense"}).refused(400, "BadRequest")


def test_a_namespaced_kind_is_listed_across_namespaces(api, maps):
    namespace = maps.split("/")[4]
    names = [(item["metadata"]["namespace"], item["metadata"]["name"])
             for item in api.get("/api/v1/configmaps", labelSelector="set=four").ok()["items"]]
    assert (namespace, "a") in names


def test_a_list_in_a_namespace_that_is_not_there_is_empty(api):
    assert api.items(f"{NAMESPACES}/{unique('nowhere')}/configmaps") == []


# --- Selectors ---

@pytest.mark.parametrize("selector, names", [
    ("color=red", "ac"), ("color==red", "ac"), ("color!=red", "bd"), ("color in (red,blue)", "abcd"),
    ("color notin (red)", "bd"), ("color,color!=blue", "ac"), ("!color", ""), ("missing", ""),
])
def test_labels_select(api, maps, selector, names):
    assert api.items(maps, labelSelector=f"set=four,{selector}") == list(names)


@pytest.mark.parametrize("selector", ["color in red", "a b", "=", "color in (", "-bad=1", "a=b=c"])
def test_a_label_selector_that_makes_no_sense_is_refused(api, maps, selector):
    api.get(maps, labelSelector=selector).refused(400, "BadRequest")


def test_names_select(api, maps):
    assert api.items(maps, fieldSelector="metadata.name=b") == ["b"]
    assert api.items(maps, fieldSelector="metadata.name!=b,metadata.name!=c", labelSelector="set=four") == ["a", "d"]


def test_a_field_that_cannot_be_selected_by_is_refused(api, maps):
    assert "data.x" in api.get(maps, fieldSelector="data.x=1").refused(400, "BadRequest")["message"]
    api.get(maps, fieldSelector="metadata.name").refused(400, "BadRequest")


def test_pods_are_selected_by_node_and_phase(api, ns, node):
    name = node.rpartition("/")[2]
    api.create(f"{ns}/pods", pod("here", name)).ok(201)
    api.create(f"{ns}/pods", pod("nowhere")).ok(201)
    everywhere = api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={name}")
    assert "here" in everywhere and "nowhere" not in everywhere
    assert api.items(f"{ns}/pods", fieldSelector=f"spec.nodeName={name}") == ["here"]
    assert api.items(f"{ns}/pods", fieldSelector="spec.nodeName=") == ["nowhere"]
    assert api.items(f"{ns}/pods", fieldSelector="status.phase=Pending") == ["here", "nowhere"]
    assert api.items(f"{ns}/pods", fieldSelector="status.phase!=Pending") == []


def test_nodes_are_selected_by_their_cordon(api, node):
    name = node.rpartition("/")[2]
    assert name not in api.items(NODES, fieldSelector="spec.unschedulable=true")
    api.patch(node, {"spec": {"unschedulable": True}}).ok()
    assert name in api.items(NODES, fieldSelector="spec.unschedulable=true")
    assert name not in api.items(NODES, fieldSelector="spec.unschedulable=false")


def test_events_are_selected_by_their_subject(api, ns):
    namespace = ns.rpartition("/")[2]
    for name, reason in (("one", "Drained"), ("two", "Held")):
        api.create(f"{ns}/events", {
            "metadata": {"name": name}, "reason": reason, "type": "Normal", "message": "m",
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": f"p-{name}", "uid": f"u-{name}"},
        }).ok(201)
    for selector in ("involvedObject.name=p-one", "involvedObject.uid=u-one", "reason=Drained",
                     f"involvedObject.kind=Pod,involvedObject.namespace={namespace},reason!=Held,type=Normal"):
        assert api.items(f"{ns}/events", fieldSelector=selector) == ["one"], selector


# --- Tables ---

def columns(api, path):
    body = api.get(path, accept=TABLE).ok()
    assert (body["kind"], body["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    return [(column["name"], column["priority"] > 0) for column in body["columnDefinitions"]]


def narrow(*names):
    return [(name, False) for name in names]


def wide(*names):
    return [(name, True) for name in names]


@pytest.mark.parametrize("path, expected", [
    (NODES, narrow("Name", "Status", "Roles", "Age", "Version")
     + wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime")),
    ("/api/v1/pods", narrow("Name", "Ready", "Status", "Restarts", "Age")
     + wide("IP", "Node", "Nominated Node", "Readiness Gates")),
    (NAMESPACES, narrow("Name", "Status", "Age")),
    ("/api/v1/configmaps", narrow("Name", "Data", "Age")),
    ("/api/v1/secrets", narrow("Name", "Type", "Data", "Age")),
    ("/api/v1/events", [("Last Seen", False), ("Type", False), ("Reason", False), ("Object", False), ("Subobject", True),
                        ("Source", True), ("Message", False), ("First Seen", True), ("Count", True), ("Name", True)]),
    ("/apis/coordination.k8s.io/v1/leases", narrow("Name", "Holder", "Age")),
    ("/apis/policy/v1/poddisruptionbudgets",
     narrow("Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age")),
    ("/apis/apps/v1/daemonsets", narrow("Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector",
                                        "Age") + wide("Containers", "Images", "Selector")),
    ("/api/v1/services", narrow("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age") + wide("Selector")),
    (CRDS, narrow("Name", "Created At")),
])
def test_tables_have_the_columns_of_their_kind(api, path, expected):
    assert columns(api, path) == expected


def test_tables_of_our_kinds_have_the_columns_of_their_definitions(api, our_kinds):
    assert columns(api, RECOVERIES) == narrow(
        "Name", "Node", "Fault", "Action", "Phase", "Since", "Jobs", "Age") + wide("Message")
    assert columns(api, POLICIES) == narrow("Name", "Mode", "Provider", "Active", "Age")
    assert columns(api, "/apis/kubeflow.org/v1/pytorchjobs") == narrow("Name", "State", "Age")


def test_a_row_of_a_node_reads_as_kubectl_prints_it(api, node):
    api.patch(node, {"spec": {"unschedulable": True}, "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}}).ok()
    api.patch(f"{node}/status", {"status": {"nodeInfo": {"kubeletVersion": "v1.34.4"}}}).ok()
    [row] = api.get(node, accept=TABLE).ok()["rows"]
    name, status, roles, age, version = row["cells"][:5]
    assert (name, status, roles, version) == (
        node.rpartition("/")[2], "Unknown,SchedulingDisabled", "worker", "v1.34.4")
    assert age.endswith("s")
    assert row["object"]["kind"] == "PartialObjectMetadata" and row["object"]["metadata"]["name"] == name


def test_a_row_of_a_pod_reads_as_kubectl_prints_it(api, ns, node):
    path = f"{ns}/pods/p"
    api.create(f"{ns}/pods", pod("p", node.rpartition("/")[2])).ok(201)
    container = {"name": "main", "ready": False, "restartCount": 2, "image": "i", "imageID": "",
                 "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    api.patch(f"{path}/status", {"status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
                                            "containerStatuses": [container]}}, STRATEGIC_PATCH).ok()
    [row] = api.get(path, accept=TABLE).ok()["rows"]
    cells = row["cells"]
    assert cells[:4] == ["p", "0/1", "CrashLoopBackOff", "2"] and cells[5:7] == ["10.1.2.3", node.rpartition("/")[2]]
    assert cells[7:] == ["<none>", "<none>"]


def test_a_table_may_carry_whole_objects(api, node):
    [row] = api.get(node, accept=TABLE, includeObject="Object").ok()["rows"]
    assert row["object"]["kind"] == "Node" and "status" in row["object"]


# --- Discovery ---

def test_the_version_says_whose_behaviour_it_is(api):
    body = api.get("/version").ok()
    assert (body["major"], body["minor"]) == ("1", "34") and body["gitVersion"].startswith("v1.34.")


def test_the_core_group_is_discovered(api):
    assert api.get("/api").ok()["versions"] == ["v1"]
    body = api.get("/api/v1").ok()
    assert (body["kind"], body["groupVersion"]) == ("APIResourceList", "v1")
    found = {each["name"]: each for each in body["resources"]}
    pods = found["pods"]
    assert (pods["kind"], pods["namespaced"], pods["singularName"], pods["shortNames"]) == ("Pod", True, "pod", ["po"])
    assert sorted(pods["verbs"]) == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    assert pods["categories"] == ["all"]
    assert (found["nodes"]["namespaced"], found["nodes"]["shortNames"]) == (False, ["no"])
    eviction = found["pods/eviction"]
    assert (eviction["kind"], eviction["group"], eviction["version"], eviction["verbs"]) == (
        "Eviction", "policy", "v1", ["create"])
    assert sorted(found["nodes/status"]["verbs"]) == ["get", "patch", "update"]


def test_our_group_is_discovered(api, our_kinds):
    groups = {each["name"]: each for each in api.get("/apis").ok()["groups"]}
    assert groups["mainstay.dev"]["preferredVersion"] == {"groupVersion": "mainstay.dev/v1alpha1", "version": "v1alpha1"}
    assert api.get("/apis/mainstay.dev").ok()["kind"] == "APIGroup"
    found = {each["name"]: each for each in api.get("/apis/mainstay.dev/v1alpha1").ok()["resources"]}
    assert set(found) == {"noderecoveries", "noderecoveries/status", "recoverypolicies", "recoverypolicies/status"}
    assert (found["noderecoveries"]["kind"], found["noderecoveries"]["shortNames"]) == ("NodeRecovery", ["nrec"])
    assert found["noderecoveries"]["namespaced"] is False


def test_discovery_is_aggregated_for_those_who_ask(api, our_kinds):
    for path, group, resource in (("/api", "", "nodes"), ("/apis", "mainstay.dev", "noderecoveries")):
        answer = api.get(path, accept=AGGREGATED)
        assert "as=APIGroupDiscoveryList" in answer.headers["Content-Type"]
        body = answer.ok()
        assert (body["kind"], body["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
        [ours] = [each for each in body["items"] if each["metadata"].get("name", "") == group]
        [version] = ours["versions"]
        [found] = [each for each in version["resources"] if each["resource"] == resource]
        assert found["scope"] == "Cluster" and "patch" in found["verbs"]
        assert found["responseKind"]["kind"] in ("Node", "NodeRecovery")
        assert "status" in [each["subresource"] for each in found["subresources"]]


# --- What is not there ---

def test_an_object_that_is_not_there_is_named(api, ns):
    body = api.get(f"{ns}/configmaps/none").refused(404, "NotFound")
    assert body["message"] == 'configmaps "none" not found'
    assert body["details"] == {"name": "none", "kind": "configmaps"}


def test_an_object_of_a_group_that_is_not_there_is_named_with_the_group(api, our_kinds):
    body = api.get(f"{RECOVERIES}/none").refused(404, "NotFound")
    assert body["message"] == 'noderecoveries.mainstay.dev "none" not found'
    assert body["details"] == {"name": "none", "group": "mainstay.dev", "kind": "noderecoveries"}


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_nothing_can_be_done_to_what_is_not_there(api, ns, method):
    body = config_map("none") if method == "PUT" else {} if method == "PATCH" else None
    kind = MERGE_PATCH if method == "PATCH" else JSON
    api.call(method, f"{ns}/configmaps/none", body, kind).refused(404, "NotFound")


def test_a_kind_or_group_that_is_not_served_is_404(api):
    for path in ("/api/v1/unicorns", "/apis/nowhere.example.com/v1/things", f"{NODES}/a/unicorn"):
        assert api.get(path).status == 404, path


def test_a_method_that_makes_no_sense_is_405(api, node):
    api.create(node, {}).refused(405, "MethodNotAllowed")
    api.replace(NODES, {}).refused(405, "MethodNotAllowed")
