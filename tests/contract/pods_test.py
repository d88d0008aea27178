"""Binding, eviction and the end of pods, where no kubelet has a say.

Left out: logs, exec and attach, which need one; taint-based eviction, which is a controller's.
"""
import pytest

from client import eventually, pod

READY = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


@pytest.fixture
def pods(ns):
    return f"{ns}/pods"


@pytest.fixture
def node_name(node):
    return node.rpartition("/")[2]


def running(api, pods, name, node, **metadata):
    api.create(pods, pod(name, node, **metadata)).ok(201)
    api.patch(f"{pods}/{name}/status", READY).ok()


def evict(api, pods, name, **options):
    return api.create(f"{pods}/{name}/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **options})


# --- Binding ---

def test_a_binding_gives_a_pod_its_node_once(api, pods, node_name):
    api.create(pods, pod("p")).ok(201)
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": node_name}}
    assert api.create(f"{pods}/p/binding", binding).ok(201)["status"] == "Success"
    bound = api.get(f"{pods}/p").ok()
    assert bound["spec"]["nodeName"] == node_name
    [scheduled] = [each for each in bound["status"]["conditions"] if each["type"] == "PodScheduled"]
    assert scheduled["status"] == "True"
    message = api.create(f"{pods}/p/binding", binding).refused(409, "Conflict")["message"]
    assert f'pod p is already assigned to node "{node_name}"' in message


def test_a_binding_may_mean_one_pod_alone(api, pods, node_name):
    api.create(pods, pod("p")).ok(201)
    uid = "11111111-2222-3333-4444-555555555555"
    api.create(f"{pods}/p/binding", {"metadata": {"name": "p", "uid": uid}, "target": {"kind": "Node", "name": node_name}}
               ).refused(409, "Conflict")


# --- Deletion ---

def test_a_pod_without_a_node_goes_at_once(api, pods):
    api.create(pods, pod("p")).ok(201)
    assert api.delete(f"{pods}/p").ok()["metadata"]["name"] == "p"
    assert api.get(f"{pods}/p").status == 404


def test_a_pod_on_a_node_waits_for_its_kubelet(api, pods, node_name):
    running(api, pods, "p", node_name)
    deleted = api.delete(f"{pods}/p").ok()["metadata"]
    assert deleted["deletionTimestamp"] and deleted["deletionGracePeriodSeconds"] == 30
    sooner = api.delete(f"{pods}/p", gracePeriodSeconds=5).ok()["metadata"]
    assert sooner["deletionGracePeriodSeconds"] == 5 and sooner["deletionTimestamp"] < deleted["deletionTimestamp"]
    assert api.delete(f"{pods}/p").ok()["metadata"]["deletionGracePeriodSeconds"] == 5, "never later"
    api.delete(f"{pods}/p", {"gracePeriodSeconds": 0}).ok()
    assert api.get(f"{pods}/p").status == 404


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(api, pods, node_name, phase):
    running(api, pods, "p", node_name)
    api.patch(f"{pods}/p/status", {"status": {"phase": phase}}).ok()
    api.delete(f"{pods}/p").ok()
    assert api.get(f"{pods}/p").status == 404


def test_the_pod_that_was_meant_is_deleted_or_none(api, pods):
    uid = api.create(pods, pod("p")).ok(201)["metadata"]["uid"]
    api.delete(f"{pods}/p", {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}).refused(409, "Conflict")
    api.delete(f"{pods}/p", {"preconditions": {"resourceVersion": "1"}}).refused(409, "Conflict")
    api.delete(f"{pods}/p", {"preconditions": {"uid": uid}}).ok()


# --- Eviction ---

def budget(api, pods, **spec):
    """A budget for pods with app=x, once the controllers have counted."""
    path = pods.replace("/api/v1", "/apis/policy/v1").removesuffix("/pods") + "/poddisruptionbudgets"
    api.create(path, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "keep"},
                      "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec}}).ok(201)
    return f"{path}/keep"


def counted(api, path, **expected):
    def check():
        status = api.get(path).ok().get("status", {})
        seen = {key: status.get(key) for key in expected}
        assert seen == expected, status
        return True

    eventually(check, f"{path} to be counted")


def test_without_a_budget_a_pod_is_evicted(api, pods, node_name):
    running(api, pods, "p", node_name)
    assert evict(api, pods, "p").ok(201)["status"] == "Success"
    evicted = api.get(f"{pods}/p").ok()
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30
    [target] = [each for each in evicted["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")


def test_a_budget_refuses_what_would_break_it(api, pods, node_name):
    running(api, pods, "p", node_name, labels={"app": "x"})
    path = budget(api, pods, minAvailable=1)
    counted(api, path, expectedPods=1, currentHealthy=1, desiredHealthy=1, disruptionsAllowed=0, observedGeneration=1)
    refused = evict(api, pods, "p").refused(429, "TooManyRequests")
    assert refused["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    [cause] = refused["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget keep needs 1 healthy pods and has 1 currently"
    assert "deletionTimestamp" not in api.get(f"{pods}/p").ok()["metadata"]


def test_a_budget_allows_as_many_as_it_says(api, pods, node_name):
    for name in ("p", "q"):
        running(api, pods, name, node_name, labels={"app": "x"})
    path = budget(api, pods, minAvailable=1)
    counted(api, path, currentHealthy=2, disruptionsAllowed=1)
    evict(api, pods, "p").ok(201)
    evict(api, pods, "q").refused(429, "TooManyRequests")
    counted(api, path, currentHealthy=1, disruptionsAllowed=0)


def test_a_budget_does_not_hold_a_pod_that_does_not_run(api, pods, node_name):
    api.create(pods, pod("p", node_name, labels={"app": "x"})).ok(201)
    path = budget(api, pods, minAvailable=1)
    counted(api, path, expectedPods=1, disruptionsAllowed=0)
    evict(api, pods, "p").ok(201)


def test_two_budgets_for_one_pod_are_an_error(api, pods, node_name):
    running(api, pods, "p", node_name, labels={"app": "x"})
    path = budget(api, pods, minAvailable=0)
    second = api.get(path).ok()
    api.create(path.rpartition("/")[0], {"metadata": {"name": "second"}, "spec": second["spec"]}).ok(201)
    answer = evict(api, pods, "p")
    assert answer.status == 500 and "more than one PodDisruptionBudget" in answer.body["message"], answer


def test_a_budget_says_how_many_in_one_way(api, pods):
    path = pods.replace("/api/v1", "/apis/policy/v1").removesuffix("/pods") + "/poddisruptionbudgets"
    api.create(path, {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}}).invalid("spec")


def test_a_dry_eviction_asks_the_budget_and_evicts_nobody(api, pods, node_name):
    running(api, pods, "p", node_name, labels={"app": "x"})
    evict(api, pods, "p", deleteOptions={"dryRun": ["All"]}).ok(201)
    path = budget(api, pods, minAvailable=1)
    counted(api, path, currentHealthy=1, disruptionsAllowed=0)
    evict(api, pods, "p", deleteOptions={"dryRun": ["All"]}).refused(429, "TooManyRequests")
    assert "deletionTimestamp" not in api.get(f"{pods}/p").ok()["metadata"]


def test_an_eviction_has_grace_and_means_one_pod(api, pods, node_name):
    running(api, pods, "p", node_name)
    another = {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}
    evict(api, pods, "p", deleteOptions=another).refused(409, "Conflict")
    evict(api, pods, "p", deleteOptions={"gracePeriodSeconds": 3}).ok(201)
    assert api.get(f"{pods}/p").ok()["metadata"]["deletionGracePeriodSeconds"] == 3


def test_who_is_not_there_is_not_evicted(api, pods):
    evict(api, pods, "p").refused(404, "NotFound")
