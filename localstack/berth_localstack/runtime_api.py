"""Lambda's Runtime API (2018-06-01) for one process of a function.

A process that is started again gets a new server, so that what a dead one still
had to say reaches nobody.
"""

import contextlib
import json
import socket
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

PREFIX = "/2018-06-01/runtime/"
# Headers and the framing of JSON are not counted by Lambda either.
MAX_RESPONSE_BYTES = 6 * 1024 * 1024 + 100


@dataclass
class Event:
    """What a function is handed."""

    request_id: str
    payload: bytes
    function_arn: str
    trace_id: str
    deadline: float  # seconds since the epoch


@dataclass
class Answer:
    """What a function says: its result, or the JSON of its error."""

    payload: bytes
    failed: bool = False
    too_large: bool = False


class Closed(Exception):
    """The process has ended, or is being stopped."""


class NotTaken(Closed):
    """And it had not begun: another process can take the event."""


class RuntimeAPI:
    """Hands one event at a time to the process that asks for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ready = False
        self._closed = False
        self._init_error: bytes | None = None
        self._next: Event | None = None  # not yet handed out
        self._current: str | None = None  # the request that the process works on
        self._answer: Answer | None = None
        self._connections: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="runtime-api", daemon=True).start()

    # LocalStack's side

    def await_init(self, timeout: float | None) -> bytes | None:
        """Waits until the process asks for its first event. Gives its init error, if it has one."""
        with self._changed:
            if not self._changed.wait_for(
                lambda: self._ready or self._closed or self._init_error is not None, timeout
            ):
                raise TimeoutError
            if self._init_error is None and not self._ready:
                raise Closed
            return self._init_error

    def invoke(self, event: Event) -> Answer | None:
        """Hands out an event and waits for the answer until its deadline: None is a time-out."""
        with self._changed:
            if self._closed:
                raise NotTaken
            self._next, self._current, self._answer = event, None, None
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._answer is not None or self._closed, timeout=event.deadline - time.time()
            )
            answer, taken = self._answer, self._next is None
            self._answer = self._next = self._current = None
            if answer is None and self._closed:
                raise Closed if taken else NotTaken
            return answer

    def close(self) -> None:
        """Ends all waits and connections. May be called again."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            connections = list(self._connections)
            self._changed.notify_all()
        for each in [self._listener, *connections]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes accept and recv
        self._listener.close()

    # The function's side

    def _accept(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve, args=(connection, peer), name="runtime-api-connection", daemon=True
            ).start()

    def _serve(self, connection: socket.socket, peer: tuple) -> None:
        with self._changed:
            if self._closed:
                connection.close()
                return
            self._connections.add(connection)
        try:
            _Handler(connection, peer, self)
        except (OSError, ValueError):
            pass  # the process is gone, or does not speak HTTP
        finally:
            with self._changed:
                self._connections.discard(connection)
            connection.close()

    def take(self) -> Event | None:
        """Blocks until there is an event. None: there will be none."""
        with self._changed:
            self._ready = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._next is not None or self._closed)
            if self._closed:
                return None
            event, self._next = self._next, None
            self._current = event.request_id
            return event

    def answer(self, request_id: str, answer: Answer) -> bool:
        """False: nobody waits for that request."""
        with self._changed:
            if self._current != request_id or self._answer is not None:
                return False
            self._answer = answer
            self._changed.notify_all()
            return True

    def fail_init(self, error: bytes) -> None:
        with self._changed:
            self._init_error = error
            self._changed.notify_all()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # header and body leave in one piece
    server: RuntimeAPI

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != PREFIX + "invocation/next":
            self._reply(404, {"errorType": "NotFound"})
            return
        event = self.server.take()
        if event is None:
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(event.payload)))
        self.send_header("Lambda-Runtime-Aws-Request-Id", event.request_id)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(int(event.deadline * 1000)))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", event.function_arn)
        self.send_header("Lambda-Runtime-Trace-Id", event.trace_id)
        self.end_headers()
        self.wfile.write(event.payload)

    def do_POST(self) -> None:
        body, trailers, too_large = self._body()
        if self.path == PREFIX + "init/error":
            self.server.fail_init(body)
            self._reply(202, {"status": "OK"})
            return
        request_id, _, what = self.path.removeprefix(PREFIX + "invocation/").rpartition("/")
        if not self.path.startswith(PREFIX + "invocation/") or what not in ("response", "error"):
            self._reply(404, {"errorType": "NotFound"})
            return
        failed = what == "error" or "lambda-runtime-function-error-type" in trailers
        if not self.server.answer(request_id, Answer(body, failed, too_large)):
            self._reply(400, {"errorType": "InvalidRequestID"})
        elif too_large:
            self._reply(413, {"errorType": "RequestEntityTooLarge"})
        else:
            self._reply(202, {"status": "OK"})

    def _body(self) -> tuple[bytes, dict[str, str], bool]:
        """The body, of which no more than Lambda takes is kept, and the trailers."""
        kept = bytearray()
        size = 0

        def keep(length: int) -> None:
            nonlocal size
            while length > 0:
                piece = self.rfile.read(min(length, 1 << 20))
                if not piece:
                    raise OSError("the body ends early")
                length -= len(piece)
                size += len(piece)
                kept.extend(piece[: max(0, MAX_RESPONSE_BYTES - len(kept))])

        trailers: dict[str, str] = {}
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            keep(int(self.headers.get("Content-Length", 0)))
            return bytes(kept), trailers, size > MAX_RESPONSE_BYTES
        while length := int(self.rfile.readline().split(b";")[0], 16):
            keep(length)
            self.rfile.readline()
        while (line := self.rfile.readline().strip()) != b"":
            name, _, value = line.decode("latin-1").partition(":")
            trailers[name.strip().lower()] = value.strip()
        return bytes(kept), trailers, size > MAX_RESPONSE_BYTES

    def _reply(self, status: int, body: dict[str, str]) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)
