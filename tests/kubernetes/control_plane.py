"""A real control plane on this machine: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, inside the sandbox
(see `sandbox`), where 10.88.0.1 is the machine room's bridge and 10.96.0.1 the first service address.
"""
import base64
import contextlib
import functools
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

import support  # noqa: E402
from support import Api, ApiError  # noqa: E402, F401

PARTS = pathlib.Path(os.environ.get("MAINSTAY_PARTS", ROOT / "build/parts"))
BIN = pathlib.Path(os.environ.get("MAINSTAY_BIN", ROOT / "build/release/bin"))

ROOM = "10.88.0.1"
API_ADDRESS = "10.96.0.1"
SERVER = f"https://{API_ADDRESS}:443"
_START_WITHIN = 60
# An API server that starts, or is busy, may end a connection.
eventually = functools.partial(support.eventually, every=0.05, also=(OSError,))


@contextlib.contextmanager
def session_folder(prefix):
    """Everything that a run writes; stays, with the logs in it, when KEEP is set."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    yield folder
    if os.environ.get("KEEP"):
        print(f"\nkept: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


# Only what a test needs to see of a request: who, what, and the answer.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "RequestResponse", "verbs": ["create", "update", "patch", "delete"],
               "userGroups": ["system:serviceaccounts"]},
              {"level": "Request", "verbs": ["create"], "resources": [{"group": "rbac.authorization.k8s.io"}]},
              {"level": "Metadata"}],
}


class Processes:
    """Background programs with a log each; an early end is an error that shows the log's tail."""

    def __init__(self, folder):
        self.folder = folder
        self._running = {}

    def start(self, name, *arguments, **environment):
        log = (self.folder / f"{name}.log").open("ab")
        self._running[name] = subprocess.Popen(
            list(map(str, arguments)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **environment},
        )
        return self._running[name]

    def names(self):
        return list(self._running)

    def pid(self, name):
        return self._running[name].pid

    def check(self, name):
        code = self._running[name].poll()
        assert code is None, f"{name} ended with {code}:\n{self.tail(name)}"

    def tail(self, name, lines=30):
        return "\n".join((self.folder / f"{name}.log").read_text(errors="replace").splitlines()[-lines:])

    def stop(self, name):
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def stop_all(self):
        for name in reversed(list(self._running)):
            self.stop(name)


class ControlPlane:
    """Starts it in a few seconds; `api` is its administrator, `kubeconfig` a file for that user."""

    def __init__(self, folder, node_grace="8s", audited=True):
        self.folder = folder
        self.processes = Processes(folder)
        self.ca = folder / "ca.crt"
        self._tokens = {}
        self.token("admin", "system:masters")
        self._make_keys()
        (folder / "audit-policy.json").write_text(json.dumps(AUDIT_POLICY))
        self.audit_log = folder / "audit.log"
        self._audited = audited
        self._node_grace = node_grace

    def token(self, user, *groups):
        """The token of a user that exists from the start; its groups are told with the first call."""
        return self._tokens.setdefault(user, (secrets.token_hex(16), groups))[0]

    def start(self):
        (self.folder / "tokens.csv").write_text(
            "".join(f'{token},{user},{user},"{",".join(groups)}"\n' for user, (token, groups) in self._tokens.items()))
        self.kubeconfig = self.write_kubeconfig("admin")
        self.api = Api(SERVER, self.token("admin"), self.ca)
        self._start_etcd()
        self._start_api_server()
        self._start_controllers()
        return self

    def stop(self):
        self.processes.stop_all()

    def write_kubeconfig(self, user):
        path = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {
                "server": SERVER, "certificate-authority-data": base64.b64encode(self.ca.read_bytes()).decode()}}],
            "users": [{"name": "c", "user": {"token": self.token(user)}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }))
        path.chmod(0o600)
        return path

    def kubectl(self, *arguments, within=60):
        done = subprocess.run([PARTS / "kubectl", f"--kubeconfig={self.kubeconfig}", *map(str, arguments)],
                              capture_output=True, text=True, timeout=within)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    def audit(self):
        """Every answered request so far."""
        events = (json.loads(line) for line in self.audit_log.read_text().splitlines() if line.endswith("}"))
        return [event for event in events if "username" in event["user"]]  # else it ended before its user was known

    def _make_keys(self):
        """A CA, the API server's certificate, the key that signs service-account tokens, and a client certificate with which
        the API server comes to kubelets."""
        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=self.folder)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=mainstay-test-ca")
        names = (f"IP:127.0.0.1,IP:{ROOM},IP:{API_ADDRESS},DNS:kubernetes,DNS:kubernetes.default,"
                 "DNS:kubernetes.default.svc,DNS:localhost")
        for name, subject, extension in (("apiserver", "/CN=kube-apiserver", f"subjectAltName={names}"),
                                         ("kubelet-client", "/O=system:masters/CN=apiserver-kubelet-client",
                                          "extendedKeyUsage=clientAuth")):
            openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
            (self.folder / f"{name}.ext").write_text(extension + "\n")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                    "-days", "2", "-out", f"{name}.crt", "-extfile", f"{name}.ext")
        openssl("genrsa", "-out", "service-accounts.key", "2048")
        openssl("rsa", "-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub")

    def _start_etcd(self):
        self.processes.start(
            "etcd", "etcd", "--unsafe-no-fsync", f"--data-dir={self.folder}/etcd", "--log-level=warn",
            "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380")

    def _start_api_server(self):
        self.processes.start(
            "kube-apiserver", PARTS / "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
            "--bind-address=0.0.0.0", "--secure-port=443", f"--advertise-address={ROOM}",
            "--tls-cert-file=apiserver.crt", "--tls-private-key-file=apiserver.key", "--client-ca-file=ca.crt",
            "--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=service-accounts.pub", "--service-account-signing-key-file=service-accounts.key",
            "--token-auth-file=tokens.csv", "--authorization-mode=Node,RBAC", "--allow-privileged=true",
            "--kubelet-client-certificate=kubelet-client.crt", "--kubelet-client-key=kubelet-client.key",
            "--kubelet-preferred-address-types=InternalIP", "--enable-aggregator-routing=false",
            "--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000", *self._audit_flags())
        self._eventually_ready("kube-apiserver", lambda: self.api.call("GET", "/readyz") == "ok")

    def _audit_flags(self):
        return ["--audit-policy-file=audit-policy.json", f"--audit-log-path={self.audit_log}",
                "--audit-log-mode=blocking"] if self._audited else []

    def _start_controllers(self):
        self.processes.start(
            "kube-controller-manager", PARTS / "kube-controller-manager", f"--kubeconfig={self.kubeconfig}",
            "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials",
            "--service-account-private-key-file=service-accounts.key", "--root-ca-file=ca.crt",
            "--node-monitor-period=1s", f"--node-monitor-grace-period={self._node_grace}")
        self.processes.start("kube-scheduler", PARTS / "kube-scheduler", f"--kubeconfig={self.kubeconfig}",
                             "--leader-elect=false", "--secure-port=0")
        # With its default account a namespace takes pods: the controllers are at work.
        self._eventually_ready("kube-controller-manager",
                               lambda: self.api.find("/api/v1/namespaces/default/serviceaccounts/default"))

    def _eventually_ready(self, name, ready):
        def check():
            self.processes.check(name)
            with contextlib.suppress(ApiError):
                return ready()

        eventually(check, f"{name} to be ready", _START_WITHIN)
