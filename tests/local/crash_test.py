"""A controller that dies at any write of the whole path, and another that takes over, end where an undisturbed controller
ends, with every effect outside made once.

The crash point (src/base/crash_point.h) ends the controller at its n-th write of one kind: before it is sent, or carried out
but with its answer never heard. n rises until whole incidents end without reaching it. Counting each kind by itself makes
sure of every step: the two loops of a controller write side by side, so the n-th write of all is another one in each run.
"""
import concurrent.futures
import itertools
import re

import pytest

from harness import LEASE, cluster, eventually, recovered
from relay import Relay

SIDES = ("before", "after")
CRASHED = 137
AT_ONCE = 4  # clusters: their programs wait more than they work
MOST_WRITES = 40  # of one kind; an incident has not so many, then something repeats itself without end
# Every kind of write of an incident; the longest series first. The test below sees to it that none is missing.
KINDS = [
    "PATCH /apis/mainstay.dev/v1alpha1/noderecoveries/",
    "PATCH /apis/mainstay.dev/v1alpha1/recoverypolicies/",
    "POST /apis/mainstay.dev/v1alpha1/noderecoveries",
    "PATCH /api/v1/nodes/node-a",
    "PATCH /api/v1/nodes/node-b",
    "PATCH /api/v1/nodes/node-c",
    "PATCH /api/v1/nodes/node-d",
    "/pytorchjobs/train",
    "/eviction",
    "SetInstanceHealth",
    "DELETE /api/v1/nodes/node-b",
    "DELETE /api/v1/namespaces/mainstay-system/pods/",
    "/namespaces/default/events",
    "/namespaces/kubeflow/events",
]


def start_work(up):
    """The job, and on the node that will fail a pod that nobody but the drain moves."""
    up.start_training()
    up.start_bystander()


def at_work(up):
    return up.training() and up.bystander_runs()


def play(crash_at):
    """One incident from the first write to the resumed step. The write at which the first controller died; None when it
    lived to the end.
    """
    with cluster() as up:
        start_work(up)
        controllers = [up.controller("first", MAINSTAY_CRASH_AT=crash_at)]

        def await_(reached, what):
            def look():
                if len(controllers) == 1 and controllers[0].ended():
                    if controllers[0].process.returncode != CRASHED:
                        pytest.fail(f"the controller ended by itself: {controllers[0].text()}")
                    controllers.append(up.controller("second"))
                return "leadership gained" in controllers[-1].text() and reached()

            eventually(look, f"{what}, with a crash at {crash_at}")

        await_(lambda: at_work(up), "training past its checkpoint")
        up.write_fault("node-b")
        await_(lambda: recovered(up), "the end of the incident")
        if controllers[-1].stop() == CRASHED:  # at its very last write, just now
            await_(lambda: recovered(up), "the other to find nothing left to do")
        assert controllers[-1].stop() == 0
        assert recovered(up), "a late write changed the outcome"
        died = re.search(r'msg="crash point reached".* what="(.*)"', controllers[0].text())
        return died.group(1) if died else None


def crashes(kind_and_side):
    """Raises n until an incident ends without reaching it; [(crash point, write)]."""
    kind, side = kind_and_side
    reached = []
    for n in range(1, MOST_WRITES):
        what = play(f"{n}:{side}:{kind}")
        if not what:
            return reached
        reached.append((f"{n}:{side}", what))
    pytest.fail(f"still {kind} after {MOST_WRITES} of them")


def test_an_undisturbed_controller_recovers_and_makes_no_other_writes_than_those_that_crash_below():
    with cluster() as up:
        relay = Relay(up.api.server)
        try:
            start_work(up)
            controller = up.controller(through=relay.url)
            eventually(lambda: at_work(up), "training past its checkpoint")
            up.write_fault("node-b")
            eventually(lambda: recovered(up), "the end of the incident")
            assert controller.stop() == 0
            assert recovered(up), "a late write changed the outcome"
        finally:
            relay.close()
        leases = LEASE.rsplit("/", 1)[0]
        writes = [request for request in relay.requests if not request.startswith("GET ") and leases not in request]
        marks = [request for request in writes if re.match(r"POST /cloud/v1/instances/.*/health", request)]
        assert len(marks) == 1
        assert [write for write in writes if write not in marks and not any(kind in write for kind in KINDS)] == []


def test_a_crash_at_any_write_ends_like_no_crash(capsys):
    points = list(itertools.product(KINDS, SIDES))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        reached = dict(zip(points, pool.map(crashes, points)))
    with capsys.disabled():
        print("\nthe controller was ended at each of these writes, and another took over:")
        for found in reached.values():
            print(*(f"  {point:<10} {what}" for point, what in found), sep="\n")
    assert [point for point, found in reached.items() if not found] == [], "never reached: the proof has a hole"
