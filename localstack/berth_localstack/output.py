"""What a process writes, read as it comes."""

import logging
import os
import select
import threading

LOG = logging.getLogger(__name__)

# More than this of one invocation is cut.
MAX_BYTES = 1 << 20
CUT = b"\n(cut here)\n"


class Output:
    """The reading end of a pipe that a process has for its standard output and error.

    It is read all the time: a full pipe would block the process.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._reader, self.writer = os.pipe()
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._lock = threading.Lock()  # guards what follows, and the order of reads
        self._kept = bytearray()
        self._line = b""  # an unfinished one
        self._ended = False
        self._thread = threading.Thread(target=self._pump, name="output", daemon=True)
        self._thread.start()

    def take(self) -> str:
        """All that was written since the last call, what is still in the pipe included."""
        with self._lock:
            self._read()
            text, self._kept = bytes(self._kept), bytearray()
        return text.decode("utf-8", "replace")

    def close_writer(self) -> None:
        """The process has its own; without this the pipe has no end."""
        os.close(self.writer)

    def close(self) -> None:
        """Stops to read, also when something still holds the pipe open."""
        os.close(self._wake_writer)
        self._thread.join()
        os.close(self._wake_reader)
        with self._lock:
            self._read()
            self._log(b"\n" if self._line else b"")
            self._ended = True
            os.close(self._reader)

    def _pump(self) -> None:
        ready = select.poll()  # select itself takes no number over 1023
        ready.register(self._reader, select.POLLIN)
        ready.register(self._wake_reader, select.POLLIN)
        while True:
            woken = {number for number, _ in ready.poll()}
            with self._lock:
                self._read()
                if self._ended or self._wake_reader in woken:
                    return

    def _read(self) -> None:
        while not self._ended:
            try:
                piece = os.read(self._reader, 1 << 16)
            except BlockingIOError:
                return
            if not piece:
                self._ended = True
                return
            room = MAX_BYTES - len(self._kept)  # below 0 once it was cut
            if room >= len(piece):
                self._kept += piece
            elif room >= 0:
                self._kept += piece[:room] + CUT
            self._log(piece)

    def _log(self, piece: bytes) -> None:
        *lines, self._line = (self._line + piece).split(b"\n")
        for line in lines:
            LOG.info("%s: %s", self._name, line.decode("utf-8", "replace"))
        if len(self._line) > MAX_BYTES:
            self._line = b""
