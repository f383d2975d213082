"""The supervisor: a process that starts the programs of one cluster and ends with everything that it started.

A Python without site packages runs it by its path, so it starts within milliseconds and needs nothing of this
package. It first claims the folder of the cluster and its ports, so that some process always removes the
folder:

* The process that started it holds the other end of its standard input. When that closes (the holder ended,
  was killed or crashed), the supervisor kills every program and removes the folder.
* A holder that says `detach` may leave: the supervisor then stays until it gets a SIGTERM.
* A program ends with the supervisor, however that ends. On Linux the kernel kills it. Elsewhere the next
  supervisor finds the folder without its lock, kills every process that names the folder on its command line,
  and removes it.

Commands come in on standard input, a JSON object on each line; events go out on standard output, among them
one for each command that was obeyed.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PORT_RANGE = (20_000, 32_000)
"""Below the ports that Linux (from 32768) and macOS (from 49152) give to outgoing connections."""

STATE = "state.json"
LOCK = "lock"
LOGS = "logs"
SHELF = ".logs"
"""Folder of the root for the logs of clusters that failed; no cluster has such a name."""
KEPT_LOGS = 10
"""How many clusters' logs are kept at most; the oldest go first."""

ROOT_LOCK = ".lock"
_SET_PARENT_DEATH_SIGNAL = 1
_PORTS_APART = 8
"""Ports from one supervisor's first choice to the next one's: a cluster has fewer, so few claims collide."""
_PASSED_ON = ("HOME", "LANG", "PATH", "TMPDIR", "TZ")


class TakenError(Exception):
    """A cluster of this name exists."""


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock that the end of the process releases."""
    with file.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def is_held(folder: Path) -> bool:
    """Tell whether the supervisor of a cluster's folder is still running."""
    try:
        with (folder / LOCK).open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: others may ask at the same time
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def read_state(folder: Path) -> dict[str, Any]:
    """Return the record that a supervisor wrote about its cluster; empty if it has not written yet."""
    try:
        state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return state


def sweep(root: Path) -> None:
    """Remove the folders of dead supervisors, and end their remaining programs. The root is locked."""
    for folder in root.iterdir():
        if folder.is_dir() and folder.name != SHELF and not is_held(folder):
            for pid in read_state(folder).get("programs", {}).values():
                _end_leftover(pid, folder)
            shutil.rmtree(folder, ignore_errors=True)


def _end_leftover(pid: int, folder: Path) -> None:
    """Kill a process that outlived its supervisor: it has the folder's path on its command line."""
    try:
        listed = subprocess.run(
            ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:  # a slim image without ps: Linux has ended the process already
        return
    if f"{folder}/" in listed.stdout:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def claim_ports(count: int) -> dict[int, socket.socket]:
    """Return free loopback ports, each with the socket that holds it. Raises OSError if none are left.

    Programs listen on TCP seconds after their ports were chosen. Until its end a supervisor holds the UDP
    ports of the same numbers, which are otherwise unused, so that supervisors of any root choose other ports.
    """
    first, last = PORT_RANGE
    begin = os.getpid() * _PORTS_APART
    claims: dict[int, socket.socket] = {}
    for step in range(last - first):
        if len(claims) == count:
            return claims
        port = first + (begin + step) % (last - first)
        claim = socket.socket(type=socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                # As Go's listeners do: a port whose last connection is still in TIME_WAIT is free.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
        else:
            claims[port] = claim
    raise OSError(f"no {count} free ports from {PORT_RANGE[0]} to {PORT_RANGE[1]}")


class Supervisor:
    """One cluster's folder, ports and programs."""

    def __init__(self, root: Path, name: str, ports: int) -> None:
        self._root = root
        self.folder = root / name
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: dict[str, int] = {}
        self._facts: dict[str, Any] = {}
        self._keep_logs = False
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(root / ROOT_LOCK):
            sweep(root)
            try:
                self.folder.mkdir(mode=0o700)
            except FileExistsError:
                raise TakenError(name) from None
            with contextlib.ExitStack() as undo:
                undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
                self._lock = (self.folder / LOCK).open("wb")
                fcntl.flock(self._lock, fcntl.LOCK_EX)
                self._claims = claim_ports(ports)
                self.ports = list(self._claims)
                self._write_state()
                (self.folder / LOGS).mkdir()
                undo.pop_all()

    def start(self, name: str, argv: list[str], environ: dict[str, str]) -> None:
        """Start a program in a process group of its own, its output in a log.

        Of our environment it gets what every program needs; ETCD_NAME and KUBECONFIG are the user's.
        """
        with (self.folder / LOGS / f"{name}.log").open("ab") as log:
            self._programs[name] = subprocess.Popen(
                argv,
                cwd=self.folder,
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ} | environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                preexec_fn=_end_with_parent(),  # noqa: PLW1509 - one thread, see supervise()
            )
        self._write_state()

    def note(self, facts: dict[str, Any]) -> None:
        """Write what the holder wants to be known about the cluster."""
        self._facts.update(facts)
        self._write_state()

    def keep_logs(self) -> None:
        """Keep the logs when the cluster goes."""
        self._keep_logs = True

    def ended(self) -> dict[str, int]:
        """Return the programs that have ended since the last call, with their exit codes."""
        news = {
            name: code
            for name, program in self._programs.items()
            if name not in self._ended and (code := program.poll()) is not None
        }
        if news:
            self._ended.update(news)
            with contextlib.suppress(OSError):  # the holder hears of it on a full disk too
                self._write_state()
        return news

    def close(self) -> Path | None:
        """End every program and remove the folder; return where the logs went, if they could be kept."""
        for program in self._programs.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
        for program in self._programs.values():
            program.wait()
        kept = None
        with contextlib.suppress(OSError):  # a full disk keeps no logs, and shall not keep the folder
            kept = self._kept_logs() if self._keep_logs else None
        with locked(self._root / ROOT_LOCK):
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.close()
        return kept

    def _kept_logs(self) -> Path:
        shelf = self._root / SHELF
        shelf.mkdir(exist_ok=True)
        place = shelf / f"{time.strftime('%Y%m%d-%H%M%S')}-{self.folder.name}"
        shutil.rmtree(place, ignore_errors=True)
        (self.folder / LOGS).rename(place)
        for old in sorted(shelf.iterdir())[:-KEPT_LOGS]:
            shutil.rmtree(old, ignore_errors=True)
        return place

    def _write_state(self) -> None:
        state = {
            **self._facts,
            "supervisor": os.getpid(),
            "ports": self.ports,
            "programs": {name: program.pid for name, program in self._programs.items()},
            "ended": self._ended,
        }
        part = self.folder / f".{STATE}"
        part.write_text(json.dumps(state), encoding="utf-8")
        part.replace(self.folder / STATE)


def _end_with_parent() -> Callable[[], None] | None:
    """Return a function for a child process, so that the kernel kills the child when this process ends."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def ask() -> None:
        libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it went while we were forked
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


def _send(event: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # a holder that is gone reads no events
        os.write(sys.stdout.fileno(), json.dumps(event).encode() + b"\n")


def supervise(root: Path, name: str, ports: int) -> None:
    """Serve commands until the holder is gone, or until a signal says so."""
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    asked_to_end: list[int] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: asked_to_end.append(number))
    try:
        supervisor = Supervisor(root, name, ports)
    except (TakenError, OSError) as error:
        _send({"refused": "taken" if isinstance(error, TakenError) else str(error)})
        return
    try:
        with (supervisor.folder / LOGS / "supervisor.log").open("wb") as log:
            # The holder's own messages may have a reader, who would wait for us to close them.
            os.dup2(log.fileno(), sys.stderr.fileno())
        _send({"folder": str(supervisor.folder), "ports": supervisor.ports})
        _serve(supervisor, wake, asked_to_end)
    finally:
        kept = supervisor.close()
        _send({"closed": True, "logs": str(kept) if kept else ""})


def _serve(supervisor: Supervisor, wake: int, asked_to_end: list[int]) -> None:
    selector = selectors.DefaultSelector()
    selector.register(wake, selectors.EVENT_READ)
    commands = sys.stdin.fileno()
    selector.register(commands, selectors.EVENT_READ)
    detached, buffer = False, b""
    while not asked_to_end:
        for key, _ in selector.select():
            if key.fd == wake:
                os.read(wake, 4096)
                continue
            data = os.read(commands, 65536)
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                detached = _obey(supervisor, json.loads(line)) or detached
            if not data and not detached:
                return
            if not data:
                selector.unregister(commands)
        for name, code in supervisor.ended().items():
            supervisor.keep_logs()
            _send({"ended": name, "code": code})


def _obey(supervisor: Supervisor, command: dict[str, Any]) -> bool:
    """Execute a command; return whether it was `detach`."""
    try:
        match command["do"]:
            case "start":
                supervisor.start(command["name"], command["argv"], command["environ"])
            case "note":
                supervisor.note(command["facts"])
            case "keep":
                supervisor.keep_logs()
    except OSError as error:
        supervisor.keep_logs()
        _send({"ended": command.get("name", "the supervisor"), "code": error.errno, "why": str(error)})
    _send({"obeyed": command["do"]})
    return bool(command["do"] == "detach")


if __name__ == "__main__":
    supervise(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
