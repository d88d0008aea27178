"""The cloud of the real-cluster tests. moto speaks AWS's wire; what it does not do is done here: an instance that was marked
unhealthy is terminated, which ends its node without a word, and a new instance joins as a node of a new name.
"""
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

from control_plane import ROOM, ROOT, eventually

sys.path.append(str(ROOT / "tests/aws"))
import packages  # noqa: E402

REGION = "us-west-2"
ZONE = "us-west-2b"
GROUP = "trn1-workers"
PORT = 5555
ENDPOINT = f"http://{ROOM}:{PORT}"
_VERSIONS = {"autoscaling": "2011-01-01", "ec2": "2016-11-15"}


class Moto:
    def __init__(self, plane):
        plane.processes.start("moto", packages.environment() / "bin/moto_server", "-H", ROOM, "-p", str(PORT))
        eventually(self._answers, "moto")

    def _answers(self):
        plane_of = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with plane_of.open(f"{ENDPOINT}/moto-api/", timeout=5) as answer:
            return answer.status == 200

    def call(self, service, action, **parameters):
        """One call of the Query protocol; the answer's XML without name spaces."""
        date = time.strftime("%Y%m%d")
        request = urllib.request.Request(
            ENDPOINT, urllib.parse.urlencode({"Action": action, "Version": _VERSIONS[service], **parameters}).encode(),
            # moto reads the service's name here; this client is the test's own and not the one under test.
            {"Authorization": f"AWS4-HMAC-SHA256 Credential=test/{date}/{REGION}/{service}/aws4_request, "
                              "SignedHeaders=host, Signature=none"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
                root = xml.fromstring(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{action}: {error.read().decode()}") from None
        for element in root.iter():
            element.tag = element.tag.split("}")[-1]
        return root


class Cloud:
    """One Auto Scaling group of `size` instances."""

    def __init__(self, plane, size=3):
        self.moto = Moto(plane)
        self.moto.call("autoscaling", "CreateLaunchConfiguration", LaunchConfigurationName="trn1", ImageId="ami-12c6146b",
                       InstanceType="trn1.32xlarge")
        self.moto.call("autoscaling", "CreateAutoScalingGroup", AutoScalingGroupName=GROUP, LaunchConfigurationName="trn1",
                       MinSize=str(size), MaxSize=str(size + 1), DesiredCapacity=str(size),
                       **{"AvailabilityZones.member.1": ZONE})
        self.ended = []
        self._stopped = threading.Event()
        self._thread = None

    def instances(self):
        """{id: health} of the group."""
        groups = self.moto.call("autoscaling", "DescribeAutoScalingGroups", **{"AutoScalingGroupNames.member.1": GROUP})
        return {member.findtext("InstanceId"): member.findtext("HealthStatus")
                for member in groups.findall(".//Instances/member")}

    def provider_id(self, instance):
        return f"aws:///{ZONE}/{instance}"

    def replace_unhealthy(self, end_node, start_node):
        """From now on: `end_node(instance)` and `start_node(instance)` as the group replaces one by another."""
        def follow():
            while not self._stopped.wait(0.2):
                for instance, health in self.instances().items():
                    if health != "Healthy" and instance not in self.ended:
                        self._replace(instance, end_node, start_node)

        self._thread = threading.Thread(target=follow, daemon=True)
        self._thread.start()

    def stop(self):
        self._stopped.set()
        if self._thread:
            self._thread.join()

    def _replace(self, instance, end_node, start_node):
        before = set(self.instances())
        self.ended.append(instance)
        end_node(instance)
        self.moto.call("autoscaling", "TerminateInstanceInAutoScalingGroup", InstanceId=instance,
                       ShouldDecrementDesiredCapacity="false")
        for new in set(self.instances()) - before:
            start_node(new)
