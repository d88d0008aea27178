"""Two controllers share one lease: whoever leads may end, or stop and wake too late, and the incident goes its way once.

The leader reaches the server through a Relay, which knows every write that it sends, and which can hold an answer back: so
each test catches the leader at an exact place in its work.
"""
import contextlib
import datetime
import re
import signal

import pytest

from harness import LEASE, cluster, eventually, recovered
from relay import Relay

# Places at which the leader is caught: it has sent this request, and waits for the answer.
TAKING_A_PLACE = "PATCH /apis/mainstay.dev/v1alpha1/recoverypolicies/default/status"
MARKING_THE_INSTANCE = "POST /cloud/v1/instances/.*/health"
STOPPING_THE_JOB = "PATCH /apis/kubeflow.org/.*/pytorchjobs/train"
# Longer than a busy machine keeps a leader from renewing.
LEASE_FLAGS = ["--lease-duration=3s", "--lease-renew-deadline=2s", "--lease-retry-period=300ms"]


def identity(controller):
    return re.search(r'msg="started".* identity=(\S+)', controller.text()).group(1)


def leads(up, controller):
    return "leadership gained" in controller.text() and up.leader() == identity(controller)


def writes(requests):
    return [request for request in requests if not request.startswith("GET ")]


def is_at_rest(relay):
    """For a check that is asked again and again: whether no write has come since the last time. A write that was begun cannot be
    called back, so that who is stopped in the middle of one sends it when it wakes.
    """
    seen = []

    def check():
        seen.append(len([request for request in writes(relay.requests) if LEASE not in request]))
        return len(seen) > 1 and seen[-1] == seen[-2]
    return check


@contextlib.contextmanager
def caught_leader(at):
    """A cluster whose leader is caught in the middle of an incident, with another controller beside it."""
    with cluster() as up:
        relay = Relay(up.api.server)
        try:
            up.start_training()
            leader = up.controller("leader", through=relay.url, lease=LEASE_FLAGS)
            eventually(lambda: leads(up, leader), "the first controller to lead")
            other = up.controller("other", lease=LEASE_FLAGS)
            eventually(up.training, "training past its checkpoint")
            relay.hold(at)
            up.write_fault("node-b")
            eventually(relay.held.is_set, f"the leader to be at {at}")
            yield up, relay, leader, other
        finally:
            relay.close()


@pytest.mark.parametrize("at", [TAKING_A_PLACE, STOPPING_THE_JOB, MARKING_THE_INSTANCE])
def test_the_other_finishes_what_a_killed_leader_began(at):
    with caught_leader(at) as (up, _, leader, other):
        assert not any(incident["status"].get("closed") for incident in up.incidents() if "status" in incident)
        leader.stop(signal.SIGKILL)
        eventually(lambda: recovered(up), "the other to finish the incident")
        assert leads(up, other)
        assert other.stop() == 0
        assert recovered(up), "a late write changed the outcome"


@pytest.mark.parametrize("at", [TAKING_A_PLACE, STOPPING_THE_JOB, MARKING_THE_INSTANCE])
def test_a_leader_that_wakes_past_its_lease_writes_nothing(at):
    with caught_leader(at) as (up, relay, leader, other):
        eventually(is_at_rest(relay), "its other loops to have nothing to write", every=0.2)
        leader.send(signal.SIGSTOP)
        eventually(lambda: leads(up, other), "the other to take the lease")
        eventually(lambda: recovered(up), "the other to finish the incident")
        before = len(relay.requests)
        leader.send(signal.SIGCONT)
        relay.release()
        eventually(lambda: "leadership lost" in leader.text(), "the first to see that it has lost the lease")
        # It has looked at the lease twice more: all that it had begun is over by then.
        eventually(lambda: relay.requests[before:].count(f"GET {LEASE}") > 2, "the first to go on living")
        assert writes(relay.requests[before:]) == []
        assert recovered(up)
        assert leader.stop() == 0 and other.stop() == 0


def test_a_leader_that_slept_past_its_lease_goes_on_when_nobody_took_it():
    with cluster() as up:
        up.start_training()
        leader = up.controller("leader", lease=LEASE_FLAGS)
        eventually(up.training, "training past its checkpoint")
        leader.send(signal.SIGSTOP)
        up.write_fault("node-b")
        eventually(lambda: renewed_ago(up) > 3, "the lease to run out")
        leader.send(signal.SIGCONT)
        eventually(lambda: recovered(up), "the end of the incident")


def renewed_ago(up):
    """Seconds."""
    renewed = datetime.datetime.strptime(up.api.get(LEASE)["spec"]["renewTime"], "%Y-%m-%dT%H:%M:%S.%fZ")
    return (datetime.datetime.utcnow() - renewed).total_seconds()
