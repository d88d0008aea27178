"""Deletion: what is answered, finalizers, owners and those they own, namespaces.

Left out: the foreground's blockOwnerDeletion, owners in other namespaces.
"""
import pytest

from client import NAMESPACES, RECOVERIES, config_map, eventually, owner, recovery, unique


@pytest.fixture
def maps(ns):
    return f"{ns}/configmaps"


def test_what_goes_at_once_is_answered_with_what_it_was(api, maps):
    uid = api.create(maps, config_map("a")).ok(201)["metadata"]["uid"]
    status = api.delete(f"{maps}/a").ok()
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {"name": "a", "kind": "configmaps", "uid": uid}


def test_a_custom_object_is_answered_with_its_group(api, our_kinds):
    name = unique("contract")
    uid = api.create(RECOVERIES, recovery(name)).ok(201)["metadata"]["uid"]
    assert api.delete(f"{RECOVERIES}/{name}").ok()["details"] == {
        "name": name, "group": "mainstay.dev", "kind": "noderecoveries", "uid": uid}


def test_a_collection_is_deleted_by_selector(api, maps):
    for name in "abc":
        api.create(maps, config_map(name, labels={"of": "test" if name != "c" else "another"})).ok(201)
    api.delete(maps, labelSelector="of=test").ok()
    assert {"a", "b", "c"} & set(api.items(maps)) == {"c"}


# --- Finalizers ---

def test_an_object_lives_until_its_last_finalizer_goes(api, maps):
    path = f"{maps}/a"
    api.create(maps, config_map("a", finalizers=["example.com/one", "example.com/two"])).ok(201)
    deleted = api.delete(path).ok()
    assert deleted["kind"] == "ConfigMap"
    assert deleted["metadata"]["deletionTimestamp"] and deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    again = api.delete(path).ok()
    assert again["metadata"]["deletionTimestamp"] == deleted["metadata"]["deletionTimestamp"]
    api.patch(path, {"metadata": {"finalizers": ["example.com/two"]}}).ok()
    assert api.get(path).ok()["metadata"]["finalizers"] == ["example.com/two"]
    last = api.patch(path, {"metadata": {"finalizers": None}}).ok()
    assert "finalizers" not in last["metadata"]
    assert api.get(path).status == 404


def test_nobody_else_is_made_to_wait_for_an_object_that_goes(api, maps):
    path = f"{maps}/a"
    api.create(maps, config_map("a", finalizers=["example.com/one"])).ok(201)
    api.delete(path).ok()
    more = {"metadata": {"finalizers": ["example.com/one", "example.com/two"]}}
    api.patch(path, more).invalid("metadata.finalizers")
    api.patch(path, {"metadata": {"finalizers": None}}).ok()


def test_deletion_cannot_be_taken_back(api, maps):
    path = f"{maps}/a"
    api.create(maps, config_map("a", finalizers=["example.com/one"])).ok(201)
    api.delete(path).ok()
    kept = api.patch(path, {"metadata": {"deletionTimestamp": None}, "data": {"x": "1"}})
    assert kept.status in (200, 422) and "deletionTimestamp" in api.get(path).ok()["metadata"]
    api.patch(path, {"metadata": {"finalizers": None}}).ok()


def test_a_custom_object_counts_its_deletion_as_a_generation(api, our_kinds, cluster_wide):
    body = recovery(unique("contract"))
    body["metadata"]["finalizers"] = ["example.com/one"]
    cluster_wide(RECOVERIES, body)
    assert api.delete(f"{RECOVERIES}/{body['metadata']['name']}").ok()["metadata"]["generation"] == 2


# --- Owners ---

@pytest.fixture
def family(api, maps):
    """A parent, a child, and a grandchild."""
    parent = api.create(maps, config_map("parent")).ok(201)
    child = api.create(maps, config_map("child", ownerReferences=[owner(parent, blockOwnerDeletion=True)])).ok(201)
    api.create(maps, config_map("grandchild", ownerReferences=[owner(child)])).ok(201)
    return parent


def test_in_the_background_dependents_follow(api, maps, family):
    assert api.delete(f"{maps}/parent", propagationPolicy="Background").ok()["kind"] == "Status"
    assert api.get(f"{maps}/parent").status == 404
    api.gone(f"{maps}/child")
    api.gone(f"{maps}/grandchild")


def test_orphans_stay_and_forget_their_owner(api, maps, family):
    api.delete(f"{maps}/parent", {"propagationPolicy": "Orphan"}).ok()
    api.gone(f"{maps}/parent")
    assert "ownerReferences" not in api.get(f"{maps}/child").ok()["metadata"]
    assert api.get(f"{maps}/grandchild").ok()["metadata"]["ownerReferences"]


def test_in_the_foreground_dependents_go_first(api, maps, family):
    api.patch(f"{maps}/child", {"metadata": {"finalizers": ["example.com/hold"]}}).ok()
    waiting = api.delete(f"{maps}/parent", {"propagationPolicy": "Foreground"}).ok()
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"] and waiting["metadata"]["deletionTimestamp"]
    eventually(lambda: "deletionTimestamp" in api.get(f"{maps}/child").ok()["metadata"], "the child to be deleted")
    assert api.get(f"{maps}/parent").ok()["metadata"]["uid"] == family["metadata"]["uid"]
    left = [each for each in api.get(f"{maps}/child").ok()["metadata"]["finalizers"] if each != "example.com/hold"]
    api.patch(f"{maps}/child", {"metadata": {"finalizers": left}}).ok()
    api.gone(f"{maps}/child")
    api.gone(f"{maps}/parent")
    api.gone(f"{maps}/grandchild")


def test_who_has_two_owners_stays_for_the_second(api, maps):
    one, two = (api.create(maps, config_map(name)).ok(201) for name in ("one", "two"))
    api.create(maps, config_map("child", ownerReferences=[owner(one), owner(two)])).ok(201)
    api.delete(f"{maps}/one").ok()
    eventually(lambda: len(api.get(f"{maps}/child").ok()["metadata"]["ownerReferences"]) == 1, "the first owner to be forgotten")
    api.delete(f"{maps}/two").ok()
    api.gone(f"{maps}/child")


def test_who_names_an_owner_that_is_not_there_goes(api, maps):
    parent = api.create(maps, config_map("parent")).ok(201)
    api.delete(f"{maps}/parent").ok()
    api.create(maps, config_map("child", ownerReferences=[owner(parent)])).ok(201)
    api.gone(f"{maps}/child")


def test_a_cluster_wide_owner_takes_what_it_owns_along(api, our_kinds, ns, cluster_wide):
    made = cluster_wide(RECOVERIES, recovery(unique("contract")))
    api.create(f"{ns}/configmaps", config_map("child", ownerReferences=[owner(made)])).ok(201)
    api.delete(f"{RECOVERIES}/{made['metadata']['name']}").ok()
    api.gone(f"{ns}/configmaps/child", within=60)


# --- Namespaces ---

def test_a_namespace_takes_all_that_is_in_it_along(api, our_kinds):
    name = api.create(NAMESPACES, {"metadata": {"generateName": "contract-"}}).ok(201)["metadata"]["name"]
    path = f"{NAMESPACES}/{name}"
    api.create(f"{path}/configmaps", config_map("a", finalizers=["example.com/hold"])).ok(201)
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "j"}, "spec": {}}
    jobs = path.replace("/api/v1", "/apis/kubeflow.org/v1") + "/pytorchjobs"
    api.create(jobs, job).ok(201)
    deleted = api.delete(path).ok()
    assert deleted["metadata"]["deletionTimestamp"] and deleted["status"]["phase"] == "Terminating"
    eventually(lambda: "deletionTimestamp" in api.get(f"{path}/configmaps/a").ok()["metadata"], "the map to be deleted")
    assert api.get(path).ok()["spec"]["finalizers"] == ["kubernetes"]
    api.patch(f"{path}/configmaps/a", {"metadata": {"finalizers": None}}).ok()
    api.gone(path)
    assert api.get(f"{jobs}/j").status == 404
