"""Objects that the API server accepts and that we cannot use: whoever wrote one is told on the object itself, and the rest
goes on.
"""
import pytest

from harness import FINDINGS, HEALTH, JOBS, NODES, POLICIES, RESUME, cluster, eventually, recovered, training_job

RETRIES = "sagemaker.amazonaws.com/job-max-retry-count"


@pytest.fixture
def up():
    with cluster() as up:
        up.controller()
        yield up


def told(up, name, reason):
    """The message of the Event with this reason on the object, once it is there."""
    return eventually(
        lambda: next((message for why, message in up.api.events(name) if why == reason), None), f"{reason} on {name}"
    )


def everything_else_goes_on(up):
    """Another job of the same cluster is stopped by the fault of a node, and resumed."""
    up.start_training()
    eventually(up.training, "training past its checkpoint")
    up.write_fault("node-b")
    eventually(lambda: recovered(up), "the end of the incident")


def test_a_retry_count_that_is_no_number(up):
    job = training_job("odd", retries="x")
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["nodeSelector"] = {"no": "node"}  # it never runs, and takes no place
    up.api.create(JOBS, job)
    message = told(up, "odd", "JobAnnotationInvalid")
    assert RETRIES in message and '"x"' in message
    everything_else_goes_on(up)
    assert RESUME not in up.job("odd")["metadata"]["annotations"]


def test_a_resume_annotation_that_we_did_not_write(up):
    job = training_job("odd", annotations={RESUME: '{"retry": "many"}'})
    job["spec"]["runPolicy"]["suspend"] = True
    up.api.create(JOBS, job)
    message = told(up, "odd", "JobAnnotationInvalid")
    assert RESUME in message and "retry" in message
    everything_else_goes_on(up)
    odd = up.job("odd")
    assert odd["spec"]["runPolicy"]["suspend"] is True
    assert odd["metadata"]["annotations"][RESUME] == '{"retry": "many"}'


def test_a_policy_with_a_time_that_no_clock_can_hold(up):
    up.api.create(POLICIES, {
        "apiVersion": "mainstay.dev/v1alpha1",
        "kind": "RecoveryPolicy",
        "metadata": {"name": "odd"},
        "spec": {"nodes": {"matchLabels": {"pool": "odd"}}, "drain": {"deadline": "99999999999999999999h"}},
    })
    message = told(up, "odd", "PolicyUnreadable")
    assert "drain.deadline" in message and "99999999999999999999h" in message
    everything_else_goes_on(up)


def test_findings_that_are_no_json(up):
    eventually(lambda: up.api.find(f"{NODES}/node-a"), "node-a")
    up.api.patch(f"{NODES}/node-a", {"metadata": {"annotations": {FINDINGS: "{"}}})
    assert FINDINGS in told(up, "node-a", "FindingsUnreadable")
    everything_else_goes_on(up)


def test_a_label_that_asks_for_what_we_cannot_do_yet(up):
    eventually(lambda: up.api.find(f"{NODES}/node-a"), "node-a")
    up.api.patch(f"{NODES}/node-a", {"metadata": {"labels": {HEALTH: "UnschedulablePendingReboot"}}})
    assert "UnschedulablePendingReplacement" in told(up, "node-a", "RebootNotImplemented")
    up.api.patch(f"{NODES}/node-a", {"metadata": {"labels": {HEALTH: "Schedulable"}}})
    everything_else_goes_on(up)


@pytest.mark.parametrize(
    "spec, says",
    [
        ({"mode": "Enforce"}, "mode Enforce needs a provider"),
        ({"mode": "Enfroce"}, "spec.mode"),
        ({"limits": {"perHour": -1}}, "spec.limits.perHour"),
        ({"spares": {"min": 1}}, "spares is not implemented in this release"),
        ({"faults": [{"match": {"type": "X"}, "ladder": [{"action": "reboot"}]}]}, "action"),
    ],
)
def test_the_schema_refuses_what_this_release_cannot_do(up, spec, says):
    odd = {
        "apiVersion": "mainstay.dev/v1alpha1",
        "kind": "RecoveryPolicy",
        "metadata": {"name": "odd"},
        "spec": {"nodes": {}, **spec},
    }
    with pytest.raises(Exception, match="HTTP 422.*" + says.replace(".", r"\.")):
        up.api.create(POLICIES, odd)
