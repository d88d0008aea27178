"""What one node's agent reads as /dev/kmsg: the machine's own, or a stand-in that speaks the protocol of
src/agent/sources/kernel_log.h, as the agent does to any socket.
"""
import os
import socket
import threading
import time


class RealKernelLog:
    """The machine's own, where another detector may act on what is written."""

    def write(self, text, level=3):
        assert os.environ.get("MAINSTAY_REAL_KMSG") == "1", "the machine's kernel log is written with MAINSTAY_REAL_KMSG=1 only"
        with open("/dev/kmsg", "wb", buffering=0) as kmsg:
            kmsg.write(f"<{level}>{text}\n".encode())  # without its end the kernel waits for more of the line


class KernelLog:
    def __init__(self, path):
        self.path = path
        self._records = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        path.chmod(0o666)  # the agent in its container is not this user
        self._changed = threading.Lock()
        self._armed = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def write(self, text, level=3):
        """One record, as the kernel would give it to every reader."""
        micros = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
        self.append(f"{level},{len(self._records)},{micros},-;{text}\n".encode())

    def append(self, record):
        """One record's bytes, whatever they are."""
        with self._changed:
            self._records.append(record)
            for reader in self._armed:
                reader.send(b"w")
            self._armed.clear()

    def _accept(self):
        while True:
            reader, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(reader,), daemon=True).start()

    def _serve(self, reader):
        position = 0
        try:
            while request := reader.recv(1):
                with self._changed:
                    self._armed.discard(reader)
                    if request in (b"O", b"E"):
                        position = 0 if request == b"O" else len(self._records)
                        reader.send(b"s")
                    elif position < len(self._records):
                        reader.send(b"r" + self._records[position])
                        position += 1
                    else:
                        self._armed.add(reader)
                        reader.send(b"e")
        except OSError:
            pass  # the agent ended
        with self._changed:
            self._armed.discard(reader)
