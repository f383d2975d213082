"""What `doctor` says of a machine: facts become checks, each with the command that mends what is wrong."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from packaging.requirements import Requirement

from slicewright.core.kubernetes.read import entries, mapping, text
from slicewright.core.problem import Problem

State = Literal["ok", "missing", "wrong"]


class Check(Struct, frozen=True):
    """One thing that was looked at.

    `missing` is what only some commands need, and they say so. `wrong` is what is there and cannot work.
    `mend` is a command of the shell, '' where nothing is to be mended or no command mends it.
    """

    topic: str
    name: str
    state: State
    detail: str
    mend: str = ""


SET_CACHE = "export SLICEWRIGHT_CACHE=/path/of/a/folder"
_EXTRA = re.compile(r"""extra == ['"](\w+)""")


def packages(requires: Iterable[str], installed: Mapping[str, str], python: str) -> Iterator[Check]:
    """Yield a check for each requirement of slicewright; `installed` has versions by name, '' for none."""
    pip = f"{shlex.quote(python)} -m pip install"
    for line in requires:
        needed, match = Requirement(line), _EXTRA.search(line)
        extra = match[1] if match else ""
        if needed.marker and not needed.marker.evaluate({"extra": extra}):
            continue  # for another system, or another Python
        version = installed[needed.name]
        mend = f"{pip} {shlex.quote(f'{needed.name}{needed.specifier}')}"
        purpose = f"{needed.specifier} is needed" + (f" by the extra '{extra}'" if extra else "")
        if not version:
            yield Check("package", needed.name, "missing" if extra else "wrong", purpose, mend)
        elif needed.specifier.contains(version, prereleases=True):
            yield Check("package", needed.name, "ok", version)
        else:
            yield Check("package", needed.name, "wrong", f"{version}, but {purpose}", mend)


def cache(path: str, *, writable: bool, entries: int, size: int) -> Check:
    """Return the check of the cache: `size` is in bytes."""
    if not writable:
        return Check("cache", path, "wrong", "cannot be written by this user", SET_CACHE)
    return Check("cache", path, "ok", f"{_gib(size)} in {entries:,} files" if entries else "empty")


def git(problem: Problem, folder: str) -> Check:
    """Return the check of a repository that git does not read."""
    owner = "dubious ownership" in problem.message
    mend = f"git config --global --add safe.directory {shlex.quote(folder)}" if owner else "git fsck"
    return Check("git", "repository", "wrong", problem.message, mend)


def repository(root: str, requires: str, version: str, *, satisfied: bool) -> Check:
    """Return the check of what slicewright.yaml requires."""
    if satisfied:
        return Check("repository", root, "ok", f"requires {requires}" if requires else "requires no version")
    return Check("repository", root, "wrong", f"requires slicewright {requires}, and this is {version}")


def copies(folder: str, recorded: str, version: str) -> Check:
    """Return the check of bases or schemas: `recorded` is the version whose copies they are, '' for none."""
    if recorded in ("", version):
        detail = f"of slicewright {recorded}" if recorded else "not copied by slicewright init"
        return Check("repository", folder, "ok", detail)
    detail = f"of slicewright {recorded}, and this is {version}"
    return Check("repository", folder, "wrong", detail, "slicewright init --upgrade")


_GET = "gcloud container clusters get-credentials NAME --location LOCATION"


def context(files: Sequence[tuple[str, Any]]) -> Check:
    """Return the check of the current context: `files` are paths with their content, or why it is not read.

    As for kubectl, the first file with a current context names it, and the context may be in any file.
    """
    for path, content in files:
        if isinstance(content, Problem):
            return Check("kubectl", "context", "wrong", f"{path}: {content.message}")
    named = (text(mapping(content).get("current-context")) for _, content in files)
    current = next(filter(None, named), "")
    contexts = (entry for _, content in files for _, entry in entries(mapping(content).get("contexts")))
    known = [name for entry in contexts if (name := text(entry.get("name")))]
    mend = f"kubectl config use-context {shlex.quote(known[0])}" if known else _GET
    if not current:
        detail = "no current context" if files else "no kubeconfig file; only import and status need one"
        return Check("kubectl", "context", "missing", detail, mend)
    if current not in known:
        return Check("kubectl", "context", "wrong", f"'{current}' is not a context of the kubeconfig", mend)
    return Check("kubectl", "context", "ok", f"'{current}'; its cluster was not asked")


_MEMORY, _SPACE = 2 << 30, 1 << 30
"""A test cluster of 6 nodes took 1.5 GiB and 0.13 GiB on a disk: the API server 1.1 GiB of memory."""


def memory(available: int | None) -> Check:
    """Return the check of the memory that is available, in bytes; None where the system does not say."""
    if available is None:
        return Check("machine", "memory", "ok", "unknown; a rehearsal needs about 2 GiB")
    state: State = "ok" if available >= _MEMORY else "missing"
    return Check("machine", "memory", state, f"{_gib(available)} available; a rehearsal needs about 2 GiB")


def space(path: str, free: int) -> Check:
    """Return the check of the disk where test clusters are."""
    state: State = "ok" if free >= _SPACE else "missing"
    return Check("machine", "disk", state, f"{_gib(free)} free for {path}; a rehearsal needs about 1 GiB")


def encoding(name: str) -> Check:
    """Return the check of the encoding of file names."""
    if name.lower() in ("utf-8", "utf8"):
        return Check("terminal", "encoding", "ok", name)
    return Check("terminal", "encoding", "wrong", f"{name}, and files are UTF-8", "export LC_ALL=C.UTF-8")


def cluster(name: str, status: str) -> Check:
    """Return the check of a test cluster: `status` is that of `slicewright cluster status`, or `left`."""
    end = f"slicewright cluster down --name {shlex.quote(name)}"
    if status == "broken":
        return Check("test cluster", name, "wrong", "one of its programs has ended", end)
    left = "its supervisor is gone; the next test cluster removes its folder"
    return Check("test cluster", name, "ok", left if status == "left" else f"{status}; {end} ends it")


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
