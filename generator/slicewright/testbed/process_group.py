"""The client of a supervisor: start programs, learn of their end, and stop."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from msgspec import Struct, field

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import cache_root, find, in_checkout
from slicewright.testbed import supervisor, waiting
from slicewright.testbed.waiting import BedError

_ANSWER_SECONDS = 120
"""A supervisor answers within milliseconds; this is for a machine that has stopped for a while."""

_CLOSE_SECONDS = 60
_LOG_CHARACTERS = 300
_STDERR = 2


class _Heard(Struct):
    """The messages of a supervisor. A separate object, so that a group without references hangs up."""

    answers: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    ended: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: str = ""

    def listen(self, events: IO[bytes]) -> None:
        """Read events until the supervisor ends."""
        with events:
            for line in events:
                event = json.loads(line)
                if "ended" in event:
                    self.ended[event["ended"]] = event
                elif "closed" in event:
                    self.kept = event["logs"]
                else:
                    self.answers.put(event)
        self.answers.put({})  # nobody has to wait for it any more


class ProcessGroup:
    """A claimed folder with ports, and the programs that run in it, until this process ends."""

    def __init__(self, root: Path, name: str, ports: int) -> None:
        self._root = root
        self.folder = root / name
        self.ports: tuple[int, ...] = ()
        self._heard = _Heard()
        self._reader: threading.Thread | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, str(root), name, str(ports)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=_stderr(),
            start_new_session=True,  # a Ctrl-C is the holder's, which then closes us
        )
        # A garbage-collected holder closes the pipe, which Popen itself would not do.
        weakref.finalize(self, _close, _pipe(self._process.stdin))
        answer: dict[str, Any] = {}
        try:
            events = _pipe(self._process.stdout)
            reader = threading.Thread(target=self._heard.listen, args=(events,), daemon=True)
            reader.start()
            self._reader = reader
            answer = self._answer()
        finally:
            if "ports" not in answer:
                self.close()
        if "ports" not in answer:
            raise BedError(_refused(name, answer.get("refused", "its supervisor gave no answer")))
        self.ports = tuple(answer["ports"])

    @property
    def pid(self) -> int:
        """Return the process id of the supervisor."""
        return self._process.pid

    def start(self, name: str, argv: list[str], **environ: str) -> None:
        """Start a program, with variables in its environment."""
        self._tell({"do": "start", "name": name, "argv": argv, "environ": environ})

    def note(self, **facts: object) -> None:
        """Write facts about the cluster for others to read, see `supervisor.read_state`."""
        self._tell({"do": "note", "facts": facts})

    def keep_logs(self) -> None:
        """Keep the logs when the cluster goes."""
        self._tell({"do": "keep"})

    def check(self) -> None:
        """Raise BedError if a program has ended, or the supervisor itself."""
        for name, event in dict(self._heard.ended).items():
            why = event.get("why") or _how(event["code"])
            raise BedError(self.blame("BED002", f"{name} ended: {why}", name))
        if self._process.poll() is not None:
            message = f"the supervisor of the cluster ended with exit code {self._process.returncode}"
            raise BedError(Problem("BED002", message, "start the cluster again"))

    def blame(self, ident: str, message: str, program: str) -> Problem:
        """Return a problem with the last line of a program's log."""
        return _blame(self.folder, ident, message, program)

    def detach(self) -> None:
        """Let the cluster run without this process, until its supervisor gets a SIGTERM."""
        self._tell({"do": "detach"})
        self._hang_up()

    def close(self) -> Path | None:
        """End all programs and remove the folder; return where the logs are, if they were kept."""
        self._hang_up()
        try:
            self._process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader:
            self._reader.join()
        _close(_pipe(self._process.stdout))
        if self._process.returncode and self._root.is_dir():  # it was killed, and could not tidy up
            with supervisor.locked(self._root / supervisor.ROOT_LOCK):
                supervisor.sweep(self._root)
        return Path(self._heard.kept) if self._heard.kept else None

    def _hang_up(self) -> None:
        _close(_pipe(self._process.stdin))

    def _tell(self, command: dict[str, Any]) -> None:
        if self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
            self._answer()
        except BrokenPipeError:
            self._process.wait()
            self.check()

    def _answer(self) -> dict[str, Any]:
        try:
            return self._heard.answers.get(timeout=_ANSWER_SECONDS)
        except queue.Empty:
            return {}


def _blame(folder: Path, ident: str, message: str, program: str) -> Problem:
    log = folder / supervisor.LOGS / f"{program}.log"
    try:
        *_, last = ("", *log.read_text(encoding="utf-8", errors="replace").splitlines())
    except FileNotFoundError:
        last = ""
    hint = f"{log.name} among the logs ends with: {_text_of(last)[:_LOG_CHARACTERS]}"
    return Problem(ident, message, hint if last else "")


def _text_of(line: str) -> str:
    """Return the text of a log line: `msg` and `error` if it is JSON."""
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    fields = entry if isinstance(entry, dict) else {}
    return ": ".join(str(fields[key]) for key in ("msg", "error") if fields.get(key)) or line


def _stderr() -> int | None:
    """Return the stderr of a supervisor: ours, or the null device if ours is closed (`2>&-`)."""
    try:
        return None if os.get_inheritable(_STDERR) else subprocess.DEVNULL
    except OSError:
        return subprocess.DEVNULL


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "it was asked for"  # noqa: S101 - for the types: Popen has it where PIPE is given
    return stream


def _close(stream: IO[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def _how(code: int) -> str:
    """Return how a program ended, from its exit code in Python: a signal has a negative one."""
    if code >= 0:
        return f"exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}"


def _refused(name: str, why: str) -> Problem:
    if why == "taken":
        hint = f"run 'slicewright cluster down --name {name}', or choose another name"
        return Problem("BED001", f"a cluster named '{name}' runs already", hint)
    return Problem("BED002", f"the cluster '{name}' could not be started: {why}")


CONTROL_PLANE = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "jobset",
    "kueue",
    "kwok",
)


def locate_programs(names: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return the paths of pinned programs by name. Raises BedError, which names all that are missing."""
    answers = {name: find(name, environ) for name in names}
    missing = [answer for answer in answers.values() if isinstance(answer, Problem)]
    if missing:
        message = "; ".join(problem.message for problem in missing)
        raise BedError(Problem(missing[0].id, message, missing[0].hint))
    return {name: path for name, path in answers.items() if isinstance(path, Path)}


def missing_package(package: str | None, feature: str) -> Problem:
    """Return the problem that a package is not installed, without which something does not work."""
    hint = (
        "run 'make tools', which also builds the programs of the test bed: about 6 minutes, once"
        if in_checkout()
        else f"run {sys.executable} -m pip install {package}"
    )
    return Problem("BED008", f"{feature} needs the Python package {package}", hint)


DEFAULT_NAME = "slicewright"
"""The default name of a cluster."""

_END_SECONDS = 30


class Running(Struct, frozen=True):
    """A cluster with a running supervisor. `state` is what `supervisor.Supervisor` wrote."""

    name: str
    folder: Path
    state: dict[str, Any]

    @property
    def status(self) -> str:
        """Return `ready`, `starting` or `broken`."""
        if self.state.get("ended"):
            return "broken"
        return "ready" if self.state.get("ready") else "starting"

    def ready_kubeconfig(self) -> Path | None:
        """Return the kubeconfig file of the cluster once it is ready."""
        state = supervisor.read_state(self.folder)
        return Path(state["kubeconfig"]) if state.get("ready") else None

    def check(self) -> None:
        """Raise BedError if a program has ended, or the whole cluster."""
        for name, code in supervisor.read_state(self.folder).get("ended", {}).items():
            raise BedError(_blame(self.folder, "BED002", f"{name} ended: {_how(code)}", name))
        if not supervisor.is_held(self.folder):
            message = f"the cluster '{self.name}' was ended"
            raise BedError(Problem("BED002", message, "start the rehearsal again"))

    def record(self) -> dict[str, object]:
        """Return the JSON form, an object of `cluster status -o json`."""
        return {
            "name": self.name,
            "status": self.status,
            "kubeconfig": self.state.get("kubeconfig", ""),
            "cluster": self.state.get("cluster", ""),
            "nodes": self.state.get("nodes", 0),
            "readySeconds": self.state.get("seconds"),
            "pathwaysOperator": self.state.get("operator", ""),
            "folder": str(self.folder),
            "logs": str(self.folder / supervisor.LOGS),
            "keeper": self.state.get("supervisor", 0),
            "programs": self.state.get("programs", {}),
            "ended": self.state.get("ended", {}),
        }


def running(root: Path) -> list[Running]:
    """Return the clusters that run, by name."""
    if not root.is_dir():
        return []
    folders = [entry for entry in sorted(root.iterdir()) if entry.is_dir() and supervisor.is_held(entry)]
    return [Running(folder.name, folder, supervisor.read_state(folder)) for folder in folders]


def end(cluster: Running) -> None:
    """End a cluster and wait until its folder is gone. Raises BedError when that takes too long."""
    waiting.until(
        f"the end of cluster '{cluster.name}'", lambda: _is_gone(cluster.folder), seconds=_END_SECONDS
    )


def _is_gone(folder: Path) -> bool:
    """Tell whether a folder is gone; until then ask its supervisor, once it has started, to end."""
    if supervisor.is_held(folder) and (pid := supervisor.read_state(folder).get("supervisor")):
        with contextlib.suppress(ProcessLookupError):
            # The lock is held, so the process of this number is the supervisor.
            os.kill(pid, signal.SIGTERM)
    return not folder.exists()


def clusters_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with one folder for each running cluster, and the logs of those that failed."""
    return cache_root(environ) / "clusters"
