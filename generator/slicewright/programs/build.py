"""Build missing and changed pinned programs from their wrapper modules into the cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO

from msgspec import Struct

from slicewright.environ import home
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import (
    Found,
    cache_root,
    cached,
    find_go,
    locate,
    needed_go,
    platform_name,
    tools_folder,
    version_of,
)
from slicewright.programs.pins import Tool, tools

STILL_SECONDS = 30
"""How often a running build says that it still runs."""

GRACE_SECONDS = 5
"""How long an interrupted Go command may take to clean up behind itself."""

_PART = ".building-"
_LOG_LINES = 20


class Workshop(Struct, frozen=True):
    """The inputs of a build apart from its programs: Go, wrapper modules, environment, target machine."""

    go: Path
    folder: Path
    environ: Mapping[str, str]
    target: str


def build_all(
    chosen: Sequence[Tool],
    stream: TextIO,
    *,
    folder: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    target: str = "",
) -> tuple[Problem, ...]:
    """Build missing programs and return the problems; a module that fails does not stop the others.

    One `go build` makes the programs of one wrapper module, and compiles what they share once. The wrapper
    modules are in `folder`, by default in that of this installation. With a `target`, a machine as Go names
    it (`darwin-arm64`), programs are built into the cache even if there are others.
    """
    folder = folder or tools_folder()
    problems: list[Problem] = []
    missing: dict[str, list[Tool]] = {}
    for tool in dict.fromkeys(chosen):
        state = _state(tool, folder, environ, target)
        if state is None:
            missing.setdefault(tool.folder, []).append(tool)
        elif isinstance(state, Problem):
            problems.append(state)
            stream.write(f"{tool.title}: {'not built' if state.id == 'TOOL005' else 'refused'}\n")
        else:
            stream.write(f"{tool.title}: found ({state})\n")
    if not missing:
        return tuple(problems)
    shop = workshop([tool for group in missing.values() for tool in group], folder, environ, target)
    if isinstance(shop, Problem):
        return (*problems, shop)
    for group in missing.values():
        progress = Progress(stream, _titles(group))
        try:
            problem = build(group, shop, progress)
        except OSError as error:
            progress.done("failed")
            message = f"{_titles(group)} cannot be put into the cache: {error}"
            hint = "free some space, make the folder writable, or set SLICEWRIGHT_CACHE to another folder"
            problem = Problem("TOOL006", message, hint)
        if problem:
            problems.append(problem)
    return tuple(problems)


def _state(tool: Tool, folder: Path, environ: Mapping[str, str], target: str) -> str | Problem | None:
    """Return where a program was found, why it cannot be built, or None if it is to be built."""
    program = None if target else locate(tool, environ)
    if isinstance(program, Problem) and program.id != "TOOL001":
        return program
    kept = cached(tool, environ, target)
    known = has_module(tool, folder)
    if isinstance(program, Found) and (program.path != kept or not known):
        return program.origin
    if not known:
        message = f"an installed slicewright cannot build {tool.title}: its module is not in the package"
        hint = "run 'slicewright tools build' in a checkout; its programs are found from everywhere"
        return Problem("TOOL005", message, hint)
    return "cache" if _fresh(tool, kept, folder, target) else None


def available() -> list[Tool]:
    """Return all programs of a checkout; in an installed package, those that commands run."""
    return [tool for tool in tools().values() if has_module(tool, tools_folder())]


def has_module(tool: Tool, folder: Path) -> bool:
    """Tell whether a program can be built: the installed package has not the modules of all."""
    return (folder / tool.folder / "go.mod").is_file()


def build(group: Sequence[Tool], workshop: Workshop, progress: Progress) -> Problem | None:
    """Build programs of one wrapper module into the cache, unless another process just did.

    Programs get into place when all are built and say their versions.
    """
    root = cache_root(workshop.environ) / "tools"
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root / f".lock-{group[0].folder}", progress) as lock:
        kept = {tool: cached(tool, workshop.environ, workshop.target) for tool in group}
        group = [tool for tool in group if not _fresh(tool, kept[tool], workshop.folder, workshop.target)]
        if not group:
            progress.done("built by another process in the meantime")
            return None
        progress.doing(f"building ({about(sum(tool.seconds for tool in group))} the first time)")
        started = time.monotonic()
        with _scratch(root, group[0].folder) as part:
            problem = _compile(group, workshop, part, progress, lock)
            if problem:
                progress.done("failed")
                return problem
            for tool in group:
                _put(part / built_name(tool.package), kept[tool], recipe(tool, workshop.folder))
        progress.done(f"done in {duration(time.monotonic() - started)}")
    return None


def _put(program: Path, kept: Path, made_by: str) -> None:
    """Move a program into the cache, and write its recipe beside it when it is in place."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    stamp = _recipe_file(kept)
    stamp.unlink(missing_ok=True)
    program.replace(kept)
    fresh_stamp = program.with_name(stamp.name)
    fresh_stamp.write_text(made_by + "\n", encoding="utf-8")
    fresh_stamp.replace(stamp)


def recipe(tool: Tool, folder: Path) -> str:
    """Return the digest of the inputs of a program: wrapper module, package and stamps."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        file = folder / tool.folder / name
        digest.update(file.read_bytes() if file.is_file() else b"")
        digest.update(b"\0")
    digest.update("\0".join(_arguments([tool])).encode())
    return digest.hexdigest()


def _fresh(tool: Tool, kept: Path, folder: Path, target: str) -> bool:
    """Tell whether the cache has a working program from the same inputs; a broken one is built again."""
    stamp = _recipe_file(kept)
    if not kept.is_file() or not stamp.is_file():
        return False
    is_alike = stamp.read_text(encoding="utf-8").strip() == recipe(tool, folder)
    return is_alike and version_of(tool, kept, target) == tool.version


def _recipe_file(kept: Path) -> Path:
    return kept.with_name(kept.name + ".recipe")


def workshop(
    chosen: Sequence[Tool], folder: Path, environ: Mapping[str, str], target: str
) -> Workshop | Problem:
    """Return what builds some programs for a target, or why there is no Go for it."""
    modules = (folder / tool.folder for tool in chosen if has_module(tool, folder))
    go = find_go(needed_go(modules), environ)
    return go if isinstance(go, Problem) else Workshop(go, folder, environ, target or platform_name())


def _arguments(group: Sequence[Tool]) -> list[str]:
    """Return the arguments of `go build` without the output: verified sources, repeatable bytes.

    Debuggers alone read DWARF, and the linker drops it: the compiler does not write it, which saves a tenth.
    """
    links = []
    for tool in group:
        stamps = (f"-X {name}={value}" for name, value in tool.stamps)
        links.append(f"-ldflags={tool.package}={' '.join(('-s -w', *stamps))}")
    flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-gcflags=all=-dwarf=false", *links]
    return ["build", *flags, *(tool.package for tool in group)]


_MAJOR = re.compile(r"/v\d+$")


def built_name(package: str) -> str:
    """Return the name that `go build` gives a program: `kustomize` for `.../kustomize/v5`."""
    return _MAJOR.sub("", package).rpartition("/")[2]


def _titles(group: Sequence[Tool]) -> str:
    return ", ".join(tool.title for tool in group)


def _compile(
    group: Sequence[Tool], workshop: Workshop, part: Path, progress: Progress, lock: int
) -> Problem | None:
    verb, *rest = _arguments(group)
    log = part / "log"
    with log.open("wb") as stream, ExitStack() as ends:
        with _signals_later():
            command = [str(workshop.go), verb, "-v", "-o", f"{part}{os.sep}", *rest]
            environ = {**go_environ(workshop), "GOTMPDIR": str(part)}
            process = subprocess.Popen(
                command,
                cwd=workshop.folder / group[0].folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                process_group=0,
                pass_fds=(lock,),
            )
            ends.callback(_end, process, progress)
        code = _wait(process, progress, log)
    if code:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        message = "\n  ".join((f"go build of {_titles(group)} exited {code}", *lines[-_LOG_LINES:]))
        hint = (
            f"run 'go mod tidy' in tools/{group[0].folder} if a sum is missing; else see Go's message above"
        )
        return Problem("TOOL006", message, hint)
    for tool in group:
        version = version_of(tool, part / built_name(tool.package), workshop.target)
        if version != tool.version:
            message = f"{tool.name} was built as {version or 'no version'}, but {tool.version} is pinned"
            hint = f"require {tool.module} {tool.version} in tools/{tool.folder}/go.mod"
            return Problem("TOOL007", message, hint)
    return None


_NO_COLLECTION = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""The compiler runs once a package: to collect no garbage below 1 GiB saves a third of its CPU time."""


def go_environ(workshop: Workshop) -> dict[str, str]:
    """Return the environment in which Go works for a target, and never fetches another Go."""
    # Go needs a place for its own caches, also where no variable says the home of the user.
    system, _, architecture = workshop.target.partition("-")
    machine = {"GOOS": system, "GOARCH": architecture, "CGO_ENABLED": "0"}
    own = {"HOME": str(home(workshop.environ)), "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return {**_NO_COLLECTION, **workshop.environ, **machine, **own}


def _wait(process: subprocess.Popen[bytes], progress: Progress, log: Path) -> int:
    """Wait for the end of a process. After a kill -9 of us it keeps the lock: the next build waits for it.

    `go build -v` writes a line for each package that it compiles and each module that it downloads.
    """
    started = time.monotonic()
    while True:
        try:
            return process.wait(timeout=STILL_SECONDS)
        except subprocess.TimeoutExpired:
            progress.still(time.monotonic() - started, log.read_bytes().count(b"\n"))


def _end(process: subprocess.Popen[bytes], progress: Progress) -> None:
    """End a process group: interrupt it, wait a moment for Go, then kill it."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    progress.done("stopped")


@contextmanager
def _signals_later() -> Iterator[None]:
    """Delay signals while a process starts and cannot be ended yet. Only the main thread gets signals."""
    caught: list[int] = []
    numbers: tuple[signal.Signals, ...] = ()
    if threading.current_thread() is threading.main_thread():
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [(number, signal.signal(number, lambda got, _: caught.append(got))) for number in numbers]
    yield
    for number, handler in before:
        signal.signal(number, handler)
    for got in caught:
        signal.raise_signal(got)


@contextmanager
def _scratch(root: Path, name: str) -> Iterator[Path]:
    """Hold the folder of one build, and remove those that killed builds of this module left behind."""
    prefix = f"{_PART}{name}-"
    for left in root.glob(f"{prefix}*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=root, ignore_cleanup_errors=True) as part:
        yield Path(part)


@contextmanager
def _locked(file: Path, progress: Progress) -> Iterator[int]:
    """Hold the lock of one module, until this process and those that inherit its descriptor end."""
    with file.open("wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.waiting()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream.fileno()


_MINUTE = 60
_ROUND = 5


class Progress:
    """Writes the line of one build piece by piece, so that it is visible while the build runs."""

    def __init__(self, stream: TextIO, titles: str) -> None:
        self._stream = stream
        self._head = f"{titles}: "

    def doing(self, text: str) -> None:
        """Print the present step; the line stays open."""
        self._write(f"{self._head}{text} ...")
        self._head = " "

    def waiting(self) -> None:
        """Print what a build waits for as a complete line, which logs show immediately."""
        self._write(f"{self._head}another process builds it; waiting for that to end\n")

    def still(self, seconds: float, steps: int) -> None:
        """Print a sign of progress: for builds that take minutes."""
        self._write(f"\n  {duration(seconds)}: {steps:,} modules downloaded and packages compiled ...")

    def done(self, text: str) -> None:
        """Close the line."""
        self._write(f"{self._head}{text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def duration(seconds: float) -> str:
    """Return a measured time as people say it: `12 s`, `4 min 5 s`."""
    minutes, rest = divmod(round(seconds), _MINUTE)
    words = [f"{minutes} min"] if minutes else []
    return " ".join([*words, f"{rest} s"] if rest or not minutes else words)


def about(seconds: int) -> str:
    """Return an expected time without false precision: `about 20 s`, `about 4 min`."""
    if seconds < _MINUTE:
        return f"about {-(-seconds // _ROUND) * _ROUND} s"
    return f"about {round(seconds / _MINUTE)} min"
