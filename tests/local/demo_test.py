"""`mainstay demo`: the whole story goes as it should, and whatever ends it, no process of it is left."""
import json
import os
import signal

import pytest

from harness import Program, eventually, processes_of, run, scratch

KILLED = -signal.SIGKILL


def test_the_story_goes_as_it_should_and_leaves_nothing_behind():
    with scratch() as folder:
        demo = run("mainstay", "demo", "-o", "json", within=120, folder=folder)
        assert demo.returncode == 0, demo.stdout + demo.stderr
        document = json.loads(demo.stdout)
        assert document["failures"] == []
        assert document["resumedFrom"] == 77 and document["stepAtFault"] >= 86
        assert document["finalStep"] == 120
        assert len(document["sha256"]) == 64 and document["sha256"] == document["sha256Unbroken"]
        assert 0 < document["faultToNextStepSeconds"] <= 5
        assert document["detectSeconds"] < document["faultToNextStepSeconds"]
        assert {row["who"] for row in document["timeline"]} == {"node-b", "agent", "controller", "cloud", "job"}
        times = [row["time"] for row in document["timeline"]]
        assert times == sorted(times)
        assert processes_of(folder) == []
        assert os.listdir(folder) == []


def test_people_read_a_timeline_and_a_summary():
    with scratch() as folder:
        demo = run("mainstay", "demo", within=120, folder=folder)
        assert demo.returncode == 0, demo.stdout + demo.stderr
        for text in ["since fault", "node-b isolated", "resumed from step 77", "parameters equal those of an unbroken run: yes"]:
            assert text in demo.stdout
        assert "\033" not in demo.stdout, "colours are for terminals"


def test_the_real_kernel_log_is_left_alone_unless_that_is_asked_for():
    with scratch() as folder:
        demo = run("mainstay", "demo", "--kmsg", "/dev/kmsg", folder=folder)
        assert demo.returncode == 2
        assert "MAINSTAY_REAL_KMSG=1" in demo.stdout + demo.stderr
        assert os.listdir(folder) == []


@pytest.fixture
def demo_under_way():
    """Cluster, controller, agents and trainers run, those of the run without a fault among them."""
    with scratch() as folder:
        demo = Program(folder, "demo", "mainstay", "demo", "-o", "json")
        try:
            eventually(lambda: list(folder.glob("mainstay-demo*/host/checkpoints/progress-rank-0.jsonl")), "training")
            programs = " ".join(processes_of(folder))
            assert all(name in programs for name in ("mainstay-agent", "mainstay-controller", "mainstay-trainer"))
            yield folder, demo
        finally:
            demo.stop(signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_interrupted_demo_leaves_nothing_behind(demo_under_way, number):
    folder, demo = demo_under_way
    assert demo.stop(number) == 1
    assert "interrupted" in demo.text()
    assert processes_of(folder) == []
    assert os.listdir(folder) == ["demo.log"]


def test_a_killed_demo_leaves_no_process(demo_under_way):
    folder, demo = demo_under_way
    assert demo.stop(signal.SIGKILL) == KILLED
    eventually(lambda: not processes_of(folder), "every process of the demo to end")
    # Nobody was left to remove the folders of the cluster and of the run without a fault.
    left = [name for name in os.listdir(folder) if name != "demo.log"]
    assert all(name.startswith(("mainstay-demo", "mainstay-rehearsal")) for name in left), left
