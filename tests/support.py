"""What the grounds share: waiting for a condition, a free port, and an API server's client."""
import contextlib
import json
import socket
import ssl
import time
import urllib.error
import urllib.request


def eventually(check, what, within=60, every=0.02, also=()):
    """Looks until `check()` is truthy, and returns that. What it asserts may come true later, too, and so may what raises one
    of `also`; an error tells for what was waited and what was seen last.
    """
    deadline = time.monotonic() + within
    while True:
        try:
            seen = check()
        except (AssertionError, *also) as not_yet:
            seen, last = None, str(not_yet)
        else:
            last = repr(seen)
        if seen:
            return seen
        assert time.monotonic() < deadline, f"waited {within} s in vain for {what}; last seen: {last[:2000]}"
        time.sleep(every)


def free_port():
    """One that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class ApiError(Exception):
    def __init__(self, status, text):
        super().__init__(f"HTTP {status}: {text[:2000]}")
        self.status = status
        with contextlib.suppress(ValueError):
            self.body = json.loads(text)


class Api:
    """One user's way to an API server, one request at a time; without a token to a local cluster, which asks for none."""

    def __init__(self, server, token=None, ca=None):
        self.server, self.token, self.ca = server, token, ca
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca)))

    def call(self, method, path, body=None, kind="application/json"):
        """The JSON of the answer, or its text when it is none."""
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        request = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=30) as answer:
                text = answer.read()
                return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, error.read().decode(errors="replace")) from None

    def get(self, path):
        return self.call("GET", path)

    def find(self, path):
        """None when there is no such object."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path):
        return self.get(path)["items"]

    def create(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body, kind="application/merge-patch+json"):
        return self.call("PATCH", path, body, kind)

    def delete(self, path):
        return self.call("DELETE", path)
