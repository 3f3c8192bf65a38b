"""An assignor in a process of its own, which may hang, crash or exhaust its memory.

The process is reused by later runs with the same assignor, and ends with this one, however that ends.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import assignors.errors as errors
from assignors.containment.limits import CallLimits
from assignors.errors import AssignorError, CustomAssignorError
from assignors.model.assignment import AssignmentColumns
from assignors.model.state import ApplicationState
from assignors.recording import Recorder

_START_S = 60.0
"""Time limit for starting Python and importing the assignor."""

_END_S = 1.0
"""Time that a process has to end after it has closed its pipe."""

# The folder of this project comes first only while its own modules are imported.
_BOOTSTRAP = """\
import importlib, json, sys
module, root, path, limits = json.loads(sys.argv[1])
sys.path[:] = [root, *path]
child = importlib.import_module(module)
sys.path[:] = path
child.main(**limits)
"""


class AssignorProcess:
    """A process that answers requests through a pipe, one at a time.

    A message follows its length, a big-endian integer of 4 bytes. With `ask`, a request is a name and its arguments, an
    answer a name and its values; what they mean is up to both sides. `built_for`: the host whose assignor the process
    has built last.
    """

    built_for: IsolatedHost | None = None

    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the process; its standard input and output are the pipe, its standard error that of this process.

        Raises CustomAssignorError if it cannot be started.
        """
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
        except OSError as error:
            raise CustomAssignorError(f"its process cannot be started: {error.strerror or error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def is_running(self) -> bool:
        """Return whether the process can answer requests."""
        return self._process.poll() is None

    def ask(self, request: tuple[Any, ...], timeout_s: float) -> tuple[Any, ...]:
        """Send a pickled request and wait for the pickled answer; the process ends if there is none.

        Raises CustomAssignorError if the process did not answer in time, or ended.
        """
        answer = pickle.loads(self.exchange(pickle.dumps(request), timeout_s))
        assert isinstance(answer, tuple)
        return answer

    def exchange(self, request: bytes, timeout_s: float) -> bytes:
        """Send a message and wait for the next one; the process ends if there is none.

        Raises CustomAssignorError if the process did not answer in time, or ended.
        """
        try:
            if request:
                self._requests.send_bytes(request)
            if self._answers.poll(None if math.isinf(timeout_s) else timeout_s):
                return self._answers.recv_bytes()
        except (EOFError, OSError):
            raise CustomAssignorError(f"its process {self._ending()}") from None
        except BaseException:
            self.close()  # A request without its answer must not be answered later.
            raise
        self.close()
        raise CustomAssignorError(
            f"took longer than {timeout_s:g} s, and its process was killed; allow more with --assignor-timeout"
        )

    def close(self) -> None:
        """Kill the process and its children; does nothing if it has ended."""
        if self._process.returncode is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()
            self._process.wait()
        self._requests.close()
        self._answers.close()

    def _ending(self) -> str:
        """Return how the process ended."""
        try:
            code = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.close()
            return "closed its pipe"
        self.close()
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class IsolatedHost:
    """Runs a custom assignor in an `AssignorProcess`."""

    def __init__(self, recipe: bytes, limits: CallLimits) -> None:
        """Choose a process, which starts at the first call.

        `recipe`: the pickled `Recipe`.
        """
        self._recipe = recipe
        self._limits = limits

    def compute(self, state: ApplicationState, recorder: Recorder) -> AssignmentColumns:
        """Send the state to the process, and receive the assignment.

        Raises AssignorError if the assignor failed, or its process ended.
        """
        limits = self._limits
        with _LOCK:
            process = _process_for(self._recipe, limits)
            if process.built_for is not self:  # Each run has an assignor of its own, as in this process.
                _result(process.ask(("build", self._recipe), _START_S + limits.timeout_s))
                process.built_for = self
            answer = process.ask(("assign", state, recorder.wants_steps), limits.timeout_s)
        columns, calls = _result(answer)
        for method, arguments in calls:
            getattr(recorder, method)(*arguments)
        return AssignmentColumns(*columns)


_LOCK = threading.RLock()
_PROCESSES: dict[tuple[bytes, CallLimits], AssignorProcess] = {}
_MAX_PROCESSES = 4


def _process_for(recipe: bytes, limits: CallLimits) -> AssignorProcess:
    key = (recipe, limits)
    process = _PROCESSES.pop(key, None)
    if process is None or not process.is_running:
        while len(_PROCESSES) >= _MAX_PROCESSES:
            _PROCESSES.pop(next(iter(_PROCESSES))).close()
        process = _start(limits)
    _PROCESSES[key] = process  # The last used one is last.
    return process


def _start(limits: CallLimits) -> AssignorProcess:
    settings = {"timeout_s": min(limits.timeout_s, 1e9), "memory_bytes": limits.memory_bytes}
    return AssignorProcess(python_command(f"{__package__}.child", settings))


def python_command(module: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the command that runs `main` of a module of this project, with the same `sys.path` as here.

    `module`: full name of the module; `arguments`: keyword arguments of `main`, as JSON values.
    """
    root = os.path.abspath(__file__)
    for _ in range((__package__ or "").count(".") + 2):
        root = os.path.dirname(root)
    return [sys.executable, "-c", _BOOTSTRAP, json.dumps([module, root, sys.path, dict(arguments)])]


@atexit.register
def stop_processes() -> None:
    """End all processes of assignors."""
    with _LOCK:
        while _PROCESSES:
            _PROCESSES.popitem()[1].close()


def _result(answer: tuple[Any, ...]) -> Any:
    """Return the result in an answer; raise AssignorError if the answer is an error."""
    match answer:
        case ("result", result):
            return result
        case ("error", str(kind), list(arguments)):
            error_class = getattr(errors, kind, CustomAssignorError)
            raise error_class(*arguments)
    raise AssignorError("its process sent no valid answer")
