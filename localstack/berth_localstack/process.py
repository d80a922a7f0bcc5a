"""One process of a function, its Runtime API, its output and its temporary folder."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from berth_localstack.output import Output
from berth_localstack.runtime_api import RuntimeAPI

# How long a process may take to end when it is asked to.
PATIENCE_SECONDS = 1.0


class FunctionProcess:
    def __init__(self, name: str, code: Path, variables: dict[str, str]) -> None:
        """Starts the program `bootstrap` of a function. Raises OSError where it cannot be run."""
        self._stopping = threading.Lock()
        self._exited = threading.Event()
        self._status: str | None = None
        self._folder = tempfile.mkdtemp(prefix="berth-lambda-")
        self.api = RuntimeAPI()
        self.output = Output(name)
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TMPDIR": self._folder}
        environment |= variables
        environment |= {"LAMBDA_TASK_ROOT": str(code), "AWS_LAMBDA_RUNTIME_API": self.api.address}
        try:
            self._process = subprocess.Popen(
                [str(code / "bootstrap")],
                cwd=code,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self.output.writer,
                stderr=self.output.writer,
                start_new_session=True,  # hence a process group of its own
            )
        except OSError:
            self.output.close_writer()
            self._tidy()
            raise
        self.output.close_writer()
        self.pid = self._process.pid
        threading.Thread(target=self._watch, name=f"watch-{name}", daemon=True).start()

    @property
    def ended(self) -> bool:
        return self._exited.is_set()

    def stop(self, patience: float = PATIENCE_SECONDS) -> str:
        """Ends the process and all that it started, and says how it ended. May be called again."""
        with self._stopping:
            if self._status is not None:
                return self._status
            if patience > 0 and not self.ended:
                self._signal(signal.SIGTERM)
                self._exited.wait(patience)
            self._signal(signal.SIGKILL)
            self._exited.wait()
            self._status = _status(self._process.wait())
            self._tidy()
            return self._status

    def _watch(self) -> None:
        # It is left to be collected by stop: until then nobody else gets the number
        # of its group, which may have members yet.
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._exited.set()
        self.api.close()

    def _signal(self, number: signal.Signals) -> None:
        # macOS refuses to signal a group of which only the uncollected leader is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _tidy(self) -> None:
        self.api.close()
        self.output.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _status(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    return f"signal: {signal.Signals(-code).name}"
