"""AWS, as moto plays it in this process: it checks every signature and, by IAM, every action. Each call of a program is
recorded.
"""
import http.server
import io
import json
import threading
import urllib.parse
from dataclasses import dataclass

import boto3
import moto.settings
from moto.core.base_backend import BackendDict
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

REGION = "us-west-2"
ZONE = "us-west-2a"
NAMESPACE = "NeuronHealthCheck"
# moto names an action after the service in the signature, IAM after the service.
_MOTO_PREFIX = {"cloudwatch": "monitoring"}
_IAM_PREFIX = {moto: iam for iam, moto in _MOTO_PREFIX.items()}


@dataclass(frozen=True)
class Call:
    """One call of a program: who, "autoscaling:SetInstanceHealth", HTTP status."""

    user: str
    action: str
    status: int


def actions_of(policy):
    """All that the policy document allows."""
    return {action for statement in policy["Statement"] for action in statement["Action"]}


class _Quiet(WSGIRequestHandler):
    def log_request(self, *_):
        pass


class Aws:
    """One server for the whole run of the tests; `reset` clears it and sets the stage for one of them."""

    def __init__(self):
        self.calls = []  # of the present test's programs
        self.all_calls = []
        self._users = {}  # access key id -> user
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._recorded, threaded=True, request_handler=_Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()

    def reset(self):
        self.calls = []
        BackendDict.reset()
        moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
        self._admin = {"aws_access_key_id": "first", "aws_secret_access_key": "first"}
        key = self._create_user("admin", ["*"])
        self._admin = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = 0  # from now on signatures and IAM count
        self.ec2, self.scaling, self.watch = map(self._client, ("ec2", "autoscaling", "cloudwatch"))

    def _client(self, service):
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **self._admin)

    def _create_user(self, name, actions):
        """Its access key. Resources and conditions of policies are not moto's to check: it knows actions only."""
        moto_actions = [":".join([_MOTO_PREFIX.get(part, part) for part in action.split(":")]) for action in actions]
        policy = {"Version": "2012-10-17",
                  "Statement": [{"Effect": "Allow", "Action": moto_actions, "Resource": "*"}]}
        iam = self._client("iam")
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
        return iam.create_access_key(UserName=name)["AccessKey"]

    def environment(self, user, policy):
        """For a program: the credentials of a new user who may do what the policy says, and where AWS is."""
        key = self._create_user(user, sorted(actions_of(policy)))
        self._users[key["AccessKeyId"]] = user
        return {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def create_group(self, name="workers", size=3):
        """Ids of its instances."""
        self.ec2.create_launch_template(
            LaunchTemplateName=name, LaunchTemplateData={"ImageId": "ami-12c6146b", "InstanceType": "trn1.32xlarge"})
        self.scaling.create_auto_scaling_group(
            AutoScalingGroupName=name, MinSize=size, MaxSize=size + 1, DesiredCapacity=size, AvailabilityZones=[ZONE],
            LaunchTemplate={"LaunchTemplateName": name})
        return sorted(self.health(name))

    def health(self, group="workers"):
        """Instance id -> HealthStatus."""
        groups = self.scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[group])["AutoScalingGroups"]
        return {instance["InstanceId"]: instance["HealthStatus"] for instance in groups[0]["Instances"]}

    def set_health(self, instance, health):
        self.scaling.set_instance_health(InstanceId=instance, HealthStatus=health)

    def private_dns_name(self, instance):
        answer = self.ec2.describe_instances(InstanceIds=[instance])
        return answer["Reservations"][0]["Instances"][0]["PrivateDnsName"]

    def metrics(self):
        """What CloudWatch has in our namespace: (name, dimensions as a dict) of each metric."""
        listed = self.watch.list_metrics(Namespace=NAMESPACE)["Metrics"]
        return [(metric["MetricName"], {d["Name"]: d["Value"] for d in metric["Dimensions"]}) for metric in listed]

    def values(self, metric, start, end):
        """The largest value of each minute with data, over all nodes."""
        answer = self.watch.get_metric_statistics(
            Namespace=NAMESPACE, MetricName=metric, StartTime=start, EndTime=end, Period=60, Statistics=["Maximum"])
        return [point["Maximum"] for point in answer["Datapoints"]]

    def calls_of(self, user, action=None):
        return [call for call in self.calls if call.user == user and action in (None, call.action)]

    def _recorded(self, environ, start_response):
        """The WSGI application: moto, with an ear at its door."""
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)

        def start(status, *rest):
            self._note(environ.get("HTTP_AUTHORIZATION", ""), body, int(status.split()[0]))
            return start_response(status, *rest)

        return self._moto(environ, start)

    def _note(self, authorization, body, status):
        scope = authorization.partition("Credential=")[2].partition(",")[0].split("/")
        user = self._users.get(scope[0])
        if user:
            action = urllib.parse.parse_qs(body.decode(errors="replace")).get("Action", ["?"])[0]
            call = Call(user, f"{_IAM_PREFIX.get(scope[3], scope[3])}:{action}", status)
            self.calls.append(call)
            self.all_calls.append(call)


class Metadata:
    """The metadata service of an instance, version 2: who has no token is told nothing."""

    _TOKEN = "a session's token"

    def __init__(self, instance):
        answers = {"instance-id": instance, "placement/availability-zone": ZONE, "placement/region": REGION}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_PUT(self):
                self._send(200 if self.path == "/latest/api/token" else 404, Metadata._TOKEN)

            def do_GET(self):
                known = self.headers["X-aws-ec2-metadata-token"] == Metadata._TOKEN
                text = answers.get(self.path.removeprefix("/latest/meta-data/"))
                self._send(401 if not known else 200 if text else 404, text or "")

            def _send(self, status, text):
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
