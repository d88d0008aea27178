"""The logs that both agents read."""
import fcntl
import os
import pathlib
import struct
import subprocess
import threading
import time

from kernel_log import KernelLog
from streams import Raw

JOURNAL = pathlib.Path("/var/log/journal")
JOURNAL_MAKER = "/lib/systemd/systemd-journal-remote"


class KernelLogs:
    """One kernel log for both: ours reads the stand-in's socket, each NPD a pipe in packet mode that lies over /dev/kmsg: one
    record for each read, as the device gives it.
    """

    def __init__(self, folder, name):
        self._folder, self._name = folder, name
        self.socket = folder / f"{name}.kmsg"
        self._ours = KernelLog(self.socket)
        self._for_npd, self._pipes = [], []

    def pipe(self):
        """A new reader's, from the oldest record on."""
        path = self._folder / f"{self._name}.{len(self._pipes)}.pipe"
        os.mkfifo(path)
        self._pipes.append(path)
        threading.Thread(target=self._feed, args=(path,), daemon=True).start()
        return path

    def write(self, line):
        """`line`: text, (priority, text[, seconds ago]), or a Raw record."""
        priority, text, ago = (*line, 0)[:3] if isinstance(line, tuple) else (3, line, 0)
        number = len(self._for_npd)
        # Each agent has its idea of the clock of the kernel's log: they differ after a suspend.
        ours, npd = (self._record(priority, number, text, time.clock_gettime(clock) - ago)
                     for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME))
        self._ours.append(ours)
        self._for_npd.append(npd)

    @staticmethod
    def _record(priority, number, text, seconds):
        micros = int(seconds * 1e6)
        if isinstance(text, Raw):
            return bytes(text).replace(b"@,@", f"{number},{micros}".encode())
        return f"{priority},{number},{micros},-;".encode() + (text if isinstance(text, bytes) else text.encode()) + b"\n"

    def _feed(self, path):
        with open(path, "wb", buffering=0) as pipe:  # waits for the reader
            fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_DIRECT)
            written = 0
            while True:
                while written < len(self._for_npd):
                    pipe.write(self._for_npd[written])
                    written += 1
                time.sleep(0.01)


class Journal:
    def __init__(self, folder):
        self._export = folder / "journal-entries"
        self._entries = 0
        JOURNAL.mkdir()

    def write(self, lines):
        """(identifier, message[, seconds ago]) each."""
        text = b""
        for identifier, message, *ago in lines:
            self._entries += 1
            message = message if isinstance(message, bytes) else message.encode()
            text += (f"__REALTIME_TIMESTAMP={int((time.time() - (ago[0] if ago else 0)) * 1e6)}\n"
                     f"__MONOTONIC_TIMESTAMP={self._entries}\n_BOOT_ID={'0123456789abcdef' * 2}\n"
                     f"SYSLOG_IDENTIFIER={identifier}\nMESSAGE\n").encode()
            text += struct.pack("<Q", len(message)) + message + b"\n\n"
        self._export.write_bytes(text)
        subprocess.run([JOURNAL_MAKER, f"--output={JOURNAL}/system.journal", self._export], check=True, capture_output=True)
