"""The sidecar beside a detector, against AWS's own wire: what the seed's tutorial shows, and what it must never do."""
import datetime
import json
import signal

import pytest

from detectors import DETECTORS, Agent
from harness import FAULT, ROOT, Program, eventually
from stage import Metadata

POLICY = json.loads((ROOT / "deploy/aws/recovery-policy.json").read_text())
USER = "recovery"
DMA = "NeuronHasError_DMA_ERROR"
ERRORS = ["DMA_ERROR", "HANG_ON_COLLECTIVES", "HBM_UNCORRECTABLE_ERROR", "NC_UNCORRECTABLE_ERROR",
          "SRAM_UNCORRECTABLE_ERROR"]
MARK = "autoscaling:SetInstanceHealth"
QUICK = ["--startup-delay=0", "--interval=100ms", "--group-interval=200ms"]


@pytest.fixture
def workers(aws):
    """Ids of a group's three instances."""
    return aws.create_group()


@pytest.fixture
def environment(aws):
    return aws.environment(USER, POLICY)


class Node:
    """A detector and the sidecar, as they share a pod on an instance."""

    def __init__(self, aws, folder, programs, environment, instance, detector=Agent):
        self.instance = instance
        self._folder, self._programs = folder, programs
        self.environment = {**environment, "NODE_NAME": aws.private_dns_name(instance)}
        self.detector = detector(folder, instance)
        programs.append(self.detector.program)

    def start_sidecar(self, *flags, recovery="true"):
        self.sidecar = Program(
            self._folder, f"{self.instance}-recovery", "mainstay-recovery",
            f"--metrics-url=http://127.0.0.1:{self.detector.port}/metrics", *QUICK, *flags,
            **self.environment, ENABLE_RECOVERY=recovery,
        )
        self._programs.append(self.sidecar)
        return self

    def break_it(self):
        self.detector.write(FAULT)


@pytest.fixture
def node(aws, folder, programs, environment):
    return lambda *arguments: Node(aws, folder, programs, environment, *arguments)


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_exactly_the_faulty_instance_is_marked_and_cloudwatch_is_told(aws, workers, node, detector):
    start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=2)
    faulty, sound = [node(instance, detector).start_sidecar("--dimensions=InstanceId") for instance in workers[:2]]
    for each in (faulty, sound):
        eventually(lambda: "counters that the detector knows" in each.sidecar.text(), "the detector's first answer")
    faulty.break_it()
    eventually(lambda: aws.health()[faulty.instance] == "Unhealthy", "the mark")
    assert aws.health() == {workers[0]: "Unhealthy", workers[1]: "Healthy", workers[2]: "Healthy"}
    eventually(lambda: aws.metrics(), "the metric")
    # Of all five only the one that was seen, for all nodes together and for this one.
    told = sorted(aws.metrics(), key=lambda metric: len(metric[1]))
    assert told == [(DMA, {}), (DMA, {"InstanceId": faulty.instance})]
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=2)
    assert set(aws.values(DMA, start, end)) == {1.0}
    assert len(aws.calls_of(USER, MARK)) == 1


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_each_of_the_five_errors_has_a_metric_of_its_own(aws, workers, node, detector):
    watched = node(workers[0], detector).start_sidecar(recovery="false")
    for error in ERRORS:
        watched.detector.write(FAULT.replace("DMA_ERROR", error))
    eventually(lambda: len(aws.metrics()) == len(ERRORS), "five metrics")
    assert {name for name, _ in aws.metrics()} == {f"NeuronHasError_{error}" for error in ERRORS}


def test_without_enable_recovery_it_publishes_and_marks_nothing(aws, workers, node):
    watched = node(workers[0]).start_sidecar(recovery="false")
    watched.break_it()
    eventually(lambda: aws.metrics() == [(DMA, {})], "the metric")
    assert watched.sidecar.stop(signal.SIGTERM) == 0
    assert set(aws.health().values()) == {"Healthy"}
    assert {call.action for call in aws.calls_of(USER)} == {"cloudwatch:PutMetricData"}


def test_another_unhealthy_instance_holds_it_back_until_it_is_well(aws, workers, node):
    faulty, other = node(workers[0]), workers[1]
    aws.set_health(other, "Unhealthy")
    faulty.start_sidecar()
    faulty.break_it()
    eventually(lambda: "the instance is not marked" in faulty.sidecar.text(), "its standing back")
    assert f"{other} is Unhealthy and InService; --max-unhealthy=1" in faulty.sidecar.text()
    assert aws.health()[faulty.instance] == "Healthy"
    assert not aws.calls_of(USER, MARK)
    aws.set_health(other, "Healthy")
    eventually(lambda: aws.health()[faulty.instance] == "Unhealthy", "the mark")


def test_a_fault_of_all_nodes_at_once_marks_no_more_than_allowed(aws, workers, node):
    """As a bad release of the driver would have it. Looks at the group and marks may fall together in any way."""
    nodes = [node(instance).start_sidecar() for instance in workers]
    for each in nodes:
        each.break_it()
    eventually(lambda: sum("nothing is left to do" in each.sidecar.text() for each in nodes) == 1, "one mark that is kept")
    eventually(lambda: sorted(aws.health().values()) == ["Healthy", "Healthy", "Unhealthy"], "one mark")
    for each in nodes:
        if aws.health()[each.instance] == "Healthy":
            eventually(lambda: "the instance is not marked" in each.sidecar.text(), "its standing back")


def test_a_sidecar_that_starts_again_does_not_mark_again(aws, workers, node):
    faulty = node(workers[0]).start_sidecar()
    faulty.break_it()
    eventually(lambda: aws.calls_of(USER, MARK), "the mark")
    faulty.sidecar.stop(signal.SIGKILL)
    before = len(faulty.sidecar.text())
    # The counter stands above zero at its start: an error all the same.
    faulty.start_sidecar()
    eventually(lambda: "nothing is left to do" in faulty.sidecar.text()[before:], "the sidecar's word")
    assert len(aws.calls_of(USER, MARK)) == 1


def test_zeros_are_published_when_asked_for(aws, workers, node):
    node(workers[0]).start_sidecar("--publish-zeros", recovery="false")
    eventually(lambda: len(aws.metrics()) == 5, "all five metrics")


def test_the_metadata_service_says_which_instance_this_is(aws, workers, folder, programs, environment):
    metadata = Metadata(workers[2])
    told = {**environment, "AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url}
    faulty = Node(aws, folder, programs, told, workers[2])
    faulty.environment["NODE_NAME"] = "node-3"  # no name that EC2 knows
    faulty.start_sidecar()
    faulty.break_it()
    eventually(lambda: aws.health()[workers[2]] == "Unhealthy", "the mark")
    metadata.close()


def test_without_a_way_to_know_its_instance_it_marks_none(aws, workers, folder, programs, environment):
    faulty = Node(aws, folder, programs, environment, workers[0])
    faulty.environment["NODE_NAME"] = "node-1"
    faulty.start_sidecar()
    faulty.break_it()
    eventually(lambda: "0 have the private DNS name node-1; set --instance-id" in faulty.sidecar.text(), "its trouble")
    assert set(aws.health().values()) == {"Healthy"}
    assert not aws.calls_of(USER, MARK)


def test_a_wrong_secret_is_told_and_nothing_else_happens(aws, workers, folder, programs):
    stranger = {**aws.environment("stranger", POLICY), "AWS_SECRET_ACCESS_KEY": "wrong"}
    faulty = Node(aws, folder, programs, stranger, workers[0]).start_sidecar()
    faulty.break_it()
    eventually(lambda: "SignatureDoesNotMatch" in faulty.sidecar.text(), "AWS's word")
    assert not faulty.sidecar.ended()
    assert set(aws.health().values()) == {"Healthy"}
