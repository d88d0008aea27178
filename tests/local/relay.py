"""Relay: stands between one program and the server, so that a test knows what exactly that program has sent."""
import re
import socket
import threading

_REQUEST = re.compile(rb"(GET|POST|PUT|PATCH|DELETE) (\S+) HTTP/1\.1\r\n")
_LONGEST_LINE = 2000


class Relay:
    """Passes every byte on, records each request, and can hold an answer back, as a slow network does."""

    def __init__(self, server):
        host, port = server.rsplit("/", 1)[1].split(":")
        self._upstream = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests = []  # "METHOD path", in the order of their coming
        self.held = threading.Event()  # set while an answer is held back
        self._released = threading.Event()
        self._wanted = None
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, request):
        """Holds the answer to the next request that matches this regular expression; its connection waits for release()."""
        self._wanted = re.compile(request)

    def release(self):
        self._released.set()

    def close(self):
        self.release()
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            server = socket.create_connection(self._upstream)
            hold = threading.Event()
            threading.Thread(target=self._ask, args=(client, server, hold), daemon=True).start()
            threading.Thread(target=self._answer, args=(server, client, hold), daemon=True).start()

    def _ask(self, client, server, hold):
        unread = b""
        for data in _chunks(client):
            unread += data
            end = 0
            for match in _REQUEST.finditer(unread):
                self._note(b" ".join(match.groups()).decode(), hold)
                end = match.end()
            unread = unread[end:][-_LONGEST_LINE:]
            if not _send(server, data):
                break
        _end(server)

    def _note(self, request, hold):
        self.requests.append(request)
        if self._wanted and self._wanted.match(request):
            self._wanted = None
            hold.set()

    def _answer(self, server, client, hold):
        for data in _chunks(server):
            if hold.is_set():
                self.held.set()
                self._released.wait()
            if not _send(client, data):
                break
        _end(client)


def _chunks(source):
    """What comes, until the other side has ended or gone."""
    while True:
        try:
            data = source.recv(1 << 16)
        except OSError:
            return
        if not data:
            return
        yield data


def _send(target, data):
    try:
        target.sendall(data)
        return True
    except OSError:
        return False


def _end(target):
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
