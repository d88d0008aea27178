"""What the tests of this folder share: requests to an API server, answers and refusals as they come over the wire, watches,
and small objects to try things on.
"""
import contextlib
import functools
import http.client
import itertools
import json
import pathlib
import secrets
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import support  # noqa: E402

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RECOVERIES = "/apis/mainstay.dev/v1alpha1/noderecoveries"
POLICIES = "/apis/mainstay.dev/v1alpha1/recoverypolicies"

# Longer than a real server needs for anything here; a watch without an event for so long fails its test.
PATIENCE = 20
eventually = functools.partial(support.eventually, within=PATIENCE)


def unique(prefix):
    return f"{prefix}-{secrets.token_hex(4)}"


class Answer:
    def __init__(self, request, response):
        self.request = request
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()
        self.body = json.loads(self.text) if self.text[:1] == "{" else None

    def __repr__(self):
        return f"{self.request} -> {self.status} {self.text[:1500]}"

    def ok(self, status=200):
        """The object that was answered."""
        assert self.status == status, self
        return self.body

    def refused(self, status, reason):
        """The Status that was answered."""
        assert self.status == status, self
        body = self.body
        assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure"), self
        assert (body["code"], body["reason"]) == (status, reason), self
        assert body["message"], self
        return body

    def invalid(self, *fields):
        """A 422 that names these fields, and no others, each as its path in the object. (With "<nil>" kube-apiserver says
        that a wrong object was not held against all rules.)
        """
        causes = [cause for cause in self.refused(422, "Invalid")["details"]["causes"] if cause["field"] != "<nil>"]
        assert sorted({cause["field"] for cause in causes}) == sorted(fields), self
        return causes


class Watch:
    """An open watch: an iterator over its events, as dictionaries of type and object."""

    def __init__(self, connection, request):
        self._connection = connection
        self.request = request
        self.response = connection.getresponse()
        assert self.response.status == 200, Answer(request, self.response)

    def __iter__(self):
        return self

    def __next__(self):
        line = self.response.readline()
        if not line:
            raise StopIteration
        return json.loads(line)

    def next(self, count):
        return list(itertools.islice(self, count))

    def until(self, kind, name=None):
        """The next event of this type (about the object of this name); everything before it is passed over."""
        for event in self:
            if event["type"] == kind and name in (None, event["object"]["metadata"].get("name")):
                return event["object"]
        raise AssertionError(f"{self.request} ended without {kind} {name or ''}")

    def take(self, count):
        """Type and name of that many events about objects."""
        events = self.next(count)
        assert all("name" in event["object"]["metadata"] for event in events), f"{self.request} -> {events}"
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]

    def close(self):
        self._connection.close()


class Api:
    """An administrator's way to the API server, one request at a time."""

    def __init__(self, server, context=None, token=None, forget_history=lambda: None, namespace_ready=lambda name: None):
        """`forget_history` makes the oldest resource versions unknown where that takes a push; `namespace_ready` waits until
        a new namespace takes pods.
        """
        self.forget_history, self.namespace_ready = forget_history, namespace_ready
        self._address = urllib.parse.urlsplit(server)
        self._context = context
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def _connect(self):
        host = self._address.netloc
        if self._context:
            return http.client.HTTPSConnection(host, timeout=PATIENCE, context=self._context)
        return http.client.HTTPConnection(host, timeout=PATIENCE)

    def _send(self, connection, method, path, body, kind, accept, query):
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {**self._headers, "Accept": accept, "User-Agent": "contract/1"}
        data = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            headers["Content-Type"] = kind
        connection.request(method, target, data, headers)
        return f"{method} {target}"

    def call(self, method, path, body=None, kind=JSON, accept=JSON, **query):
        with contextlib.closing(self._connect()) as connection:
            request = self._send(connection, method, path, body, kind, accept, query)
            return Answer(request, connection.getresponse())

    def get(self, path, **query):
        return self.call("GET", path, **query)

    def create(self, path, body, **query):
        return self.call("POST", path, body, **query)

    def replace(self, path, body, **query):
        return self.call("PUT", path, body, **query)

    def patch(self, path, body, kind=MERGE_PATCH, **query):
        return self.call("PATCH", path, body, kind, **query)

    def apply(self, path, body, manager, **query):
        return self.call("PATCH", path, body, APPLY_PATCH, fieldManager=manager, **query)

    def delete(self, path, body=None, **query):
        return self.call("DELETE", path, body, **query)

    def items(self, path, **query):
        """Names of the objects of a list."""
        return [item["metadata"]["name"] for item in self.get(path, **query).ok()["items"]]

    @contextlib.contextmanager
    def watch(self, path, accept=JSON, **query):
        connection = self._connect()
        request = self._send(connection, "GET", path, None, JSON, accept, {"watch": "true", **query})
        opened = Watch(connection, request)
        try:
            yield opened
        finally:
            opened.close()

    def gone(self, path, within=PATIENCE):
        """Waits until there is no such object."""
        eventually(lambda: self.get(path).status == 404, f"{path} to be gone", within=within)


def config_map(name, data=None, **metadata):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return body | {"data": data} if data else body


def pod(name, node=None, **metadata):
    """One that no scheduler looks at and no kubelet runs."""
    spec = {"containers": [{"name": "main", "image": "example.com/main:1"}], "schedulerName": "nobody"}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def recovery(name, **spec):
    return {"apiVersion": "mainstay.dev/v1alpha1", "kind": "NodeRecovery", "metadata": {"name": name},
            "spec": {"node": {"name": "node-a", "uid": "u-1"}, "policy": "p", **spec}}


def owner(of, **more):
    return {"apiVersion": of["apiVersion"], "kind": of["kind"], "name": of["metadata"]["name"], "uid": of["metadata"]["uid"],
            **more}
