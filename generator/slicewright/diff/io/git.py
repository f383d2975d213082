"""Versions of a repository's tree: those that git keeps, never checked out, and the files on disk.

git gets its arguments as a list, changes nothing in the repository, and fetches no object. It reads its own
configuration, but runs no file system monitor, hook or filter that this names.
"""

import contextlib
import os
import posixpath
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from errno import EINVAL
from functools import cache
from pathlib import Path
from typing import IO

from slicewright.diff.tree_version import TreeVersion
from slicewright.document.io import decoded, read_file
from slicewright.environ import which
from slicewright.kubernetes.problem import Problem

_PATIENCE = 120
"""Seconds for one answer of git."""


class GitError(Exception):
    """Git is missing, or gave no answer; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class NoGitRepositoryError(Exception):
    """The folder belongs to no git repository."""


_OF_A_HOOK = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
"""What git sets for its hooks: relative to another folder, and perhaps of another repository."""


_RUNS_NOTHING = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
"""Settings that keep git from running programs of a repository's configuration."""
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""What keeps git from fetching objects of a partial clone, by programs that its configuration names.

Old versions of git know only the second.
"""


def _environment(further: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of git: no lock, no prompt, English messages, and settings beside the user's."""
    settings = {**_RUNS_NOTHING, **(further or {})}
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    own = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings.items(), first):
        own |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **_OFFLINE}
    return {**{name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}, **quiet, **own}


def _program() -> str:
    program = which("git")
    if program is None:
        raise GitError(Problem("GIT001", "git is missing", "install git, or put it on PATH"))
    return program


def _run(
    root: Path, *arguments: str, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder and return its result, also a failed one. Raises GitError."""
    command = [_program(), *arguments]
    try:
        return subprocess.run(
            command,
            cwd=root,
            env=_environment(settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(_broken(arguments[0], str(error))) from error


def _answer(root: Path, *arguments: str, settings: Mapping[str, str] | None = None) -> bytes:
    """Return what git prints. Raises GitError if it fails."""
    done = _run(root, *arguments, settings=settings)
    if done.returncode:
        raise GitError(_broken(arguments[0], done.stderr.decode(errors="replace")))
    return done.stdout


def _broken(command: str, output: str) -> Problem:
    """Return the problem of a git that gave no answer."""
    lines = [line for line in output.partition("usage: ")[0].splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("fatal: ")]
    why = (fatal or lines[-1:] or ["it said nothing"])[0]
    hint = "run git fsck; in a shallow or partial clone, fetch the missing objects"
    if "dubious ownership" in why:
        hint = "another user owns the folder: git config --global --add safe.directory DIR, for its folder"
    if "must be run in a work tree" in why:
        hint = "run the command in a clone with files: a bare repository has none"
    if "Not a git repository" in why:
        hint = "git config core.worktree names a folder that belongs to no repository: unset it"
    return Problem("GIT002", f"git {command} failed: {why.removeprefix('fatal: ')}", hint)


_TREES = ("overlays", "provision")
_FOLDERS = tuple(f"{name}/" for name in _TREES)
_FILE, _LINK, _SUBMODULE = ("100644", "100755"), "120000", "160000"
_BATCH = 128
"""Names that are sent together: few enough that they fit into a pipe."""
_LINKS = 8
"""Limit of links that lead to links."""


class UnknownRevisionError(Exception):
    """Git knows no revision of a name; carries the name and those that it knows."""

    def __init__(self, name: str, known: tuple[str, ...], *, is_shallow: bool = False) -> None:
        super().__init__(f"unknown git revision '{name}'")
        self.is_shallow = is_shallow  # Then commits are missing.
        self.name = name
        self.known = known


class UnrelatedError(Exception):
    """Two revisions have no commit in common, or a shallow clone lacks it."""


class Objects:
    """Reads blobs through one `git cat-file --batch`, each once."""

    def __init__(self, sink: IO[bytes], source: IO[bytes]) -> None:
        """Take the pipes of the process: names are written to one, blobs read from the other."""
        self._sink, self._source = sink, source
        self._texts: dict[str, str | None] = {}

    def text(self, blob: str) -> str | None:
        """Return the text of a blob; None for what is not a text, or is too large. Raises GitError."""
        if blob not in self._texts:
            self.fetch([blob])
        return self._texts[blob]

    def fetch(self, blobs: Iterable[str]) -> None:
        """Read many blobs ahead, a batch at a time. Raises GitError."""
        unread = [blob for blob in dict.fromkeys(blobs) if blob not in self._texts]
        for start in range(0, len(unread), _BATCH):
            batch = unread[start : start + _BATCH]
            self._sink.write("".join(f"{blob}\n" for blob in batch).encode())
            self._sink.flush()
            for blob in batch:
                self._texts[blob] = self._read(blob)

    def _read(self, blob: str) -> str | None:
        head = self._source.readline().decode().split()
        if len(head) != 3:  # noqa: PLR2004 - name, type and size; else `<name> missing`, or nothing
            raise GitError(_broken("cat-file", f"object {blob} is missing"))
        content = self._source.read(int(head[2]))
        self._source.read(1)
        text = decoded(content, blob)
        return None if isinstance(text, Problem) else text


@contextlib.contextmanager
def objects(root: Path) -> Iterator[Objects]:
    """Open the object store of a repository. Raises GitError."""
    try:
        with _reader(root) as process:
            if process.stdin is not None and process.stdout is not None:  # for the types: both are pipes
                yield Objects(process.stdin, process.stdout)
    except BrokenPipeError as error:  # closing the pipe sends what could not be sent before
        raise GitError(_broken("cat-file", "it ended while it was asked")) from error


def _reader(root: Path) -> subprocess.Popen[bytes]:
    command, environment = [_program(), "cat-file", "--batch"], _environment()
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen(command, cwd=root, env=environment, stdin=pipe, stdout=pipe, stderr=nowhere)
    except OSError as error:
        raise GitError(_broken("cat-file", str(error))) from error


def resolve(root: Path, name: str) -> str:
    """Return the tree of a revision. Raises UnknownRevisionError, NoGitRepositoryError, GitError."""
    done = _run(root, "rev-parse", "--verify", "--quiet", f"{name}^{{tree}}")
    if not done.returncode and not name.startswith(("-", "^")):
        return done.stdout.decode().strip()
    inside = _run(root, "rev-parse", "--git-dir")
    if b"not a git repository" in inside.stderr:
        raise NoGitRepositoryError(f"{root} is not in a git repository")
    if inside.returncode:
        raise GitError(_broken("rev-parse", inside.stderr.decode(errors="replace")))
    raise _unknown(root, name)


def merge_base(root: Path, rev: str, other: str) -> str:
    """Return the merge base of two revisions. Raises UnknownRevisionError, UnrelatedError, GitError."""
    for name in (rev, other):
        resolve(root, name)
        if _run(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").returncode:
            raise _unknown(root, name)
    done = _run(root, "merge-base", rev, other)
    if done.returncode:
        raise UnrelatedError(f"git finds no commit that '{rev}' and '{other}' have in common")
    return done.stdout.decode().strip()


_REMOTE, _LOCAL = "refs/remotes/origin/", "refs/heads/"
_DEFAULT_BRANCHES = (
    *(f"{_REMOTE}HEAD", f"{_REMOTE}main", f"{_REMOTE}master"),
    *(f"{_LOCAL}main", f"{_LOCAL}master"),
)
"""In full: git takes a tag called `origin/main` before the branch."""


def base(root: Path) -> str:
    """Return the commit where HEAD left the default branch: HEAD's own, where it is that branch.

    Raises UnknownRevisionError, GitError and NoGitRepositoryError.
    """
    resolve(root, "HEAD")
    for name in _DEFAULT_BRANCHES:
        done = _run(root, "merge-base", "HEAD", name)
        if not done.returncode:
            return done.stdout.decode().strip()
    raise UnknownRevisionError("origin/HEAD", ())


def _unknown(root: Path, name: str) -> UnknownRevisionError:
    is_shallow = _run(root, "rev-parse", "--is-shallow-repository").stdout == b"true\n"
    kinds = ("refs/heads", "refs/remotes", "refs/tags")
    known = _answer(root, "for-each-ref", "--format=%(refname:short)", *kinds).decode(errors="replace")
    return UnknownRevisionError(name, tuple(known.splitlines()), is_shallow=is_shallow)


def read_revision(root: Path, name: str, store: Objects, called: str = "") -> TreeVersion:
    """Return a revision as one side of a difference, `called` in the report as said or by its name.

    Paths are relative to `root`, which may be a folder of a larger repository. Raises UnknownRevisionError,
    NoGitRepositoryError, GitError.
    """
    blobs = list(_blobs(root, name))
    files = {path: blob for mode, blob, path in blobs if mode in _FILE}
    links = {path: blob for mode, blob, path in blobs if mode == _LINK}

    def read_text(path: str) -> str | None:
        for _ in range(_LINKS):
            if path in files:
                return store.text(files[path])
            path = _followed(path, links, store)
        return None

    paths = frozenset(path for path in files if path.startswith(_FOLDERS) and path.isprintable())
    store.fetch(files[path] for path in sorted(paths))
    return TreeVersion(called or name, paths, read_text)


def _blobs(root: Path, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield mode, blob and path of each file of a revision below a folder."""
    for entry in _names(_answer(root, "ls-tree", "-r", "-z", resolve(root, name))):
        head, _, path = entry.partition("\t")
        mode, _, blob = head.split()
        yield mode, blob, path


def _names(listed: bytes) -> list[str]:
    return listed.decode(errors="surrogateescape").split("\0")[:-1]


def tracked(root: Path, commit: str) -> dict[str, bool]:
    """Return the paths of a commit; each value tells whether the path is a submodule. Raises GitError."""
    return {path: mode == _SUBMODULE for mode, _, path in _blobs(root, commit)}


def top(root: Path) -> Path:
    """Return the folder of the whole repository. Raises GitError."""
    return Path(os.fsdecode(_answer(root, "rev-parse", "--show-toplevel")).removesuffix("\n"))


def changed_files(root: Path, commit: str) -> tuple[str, ...]:
    """Return the files that differ on disk from a commit, by their paths from the top of a repository.

    Raises GitError.
    """
    options = ("--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "-z")
    differ = _answer(root, "diff", *options, commit, "--", settings=_no_filters(root))
    return (*_names(differ), *_names(_answer(root, "ls-files", "--others", "--exclude-standard", "-z")))


def _no_filters(root: Path) -> dict[str, str]:
    """Return settings that turn off the filters of git's configuration, which are programs.

    A file that a filter changes may then be listed though it did not change.
    """
    pattern = r"^filter\..*\.(clean|process|required)$"
    filters = _names(_run(root, "config", "-z", "--name-only", "--get-regexp", pattern).stdout)
    return {name: "false" if name.endswith(".required") else "" for name in filters}


def write_tree(root: Path, name: str, folder: Path) -> None:
    """Write the texts of a revision into a folder, with those of present submodules, without links.

    Raises GitError.
    """
    with objects(root) as store:
        for mode, blob, path in _blobs(root, name):
            if mode == _SUBMODULE and (root / path / ".git").exists():
                with contextlib.suppress(UnknownRevisionError, NoGitRepositoryError):
                    write_tree(root / path, blob, folder / path)
            text = store.text(blob) if mode in _FILE else None
            if text is not None:
                try:
                    _write(folder, path, text)
                except OSError as error:
                    hint = "run git fsck, and check that the temporary folder has space"
                    message = f"the commit {name:.12} cannot be written to compare it: {error.strerror}"
                    raise GitError(Problem("GIT002", message, hint, file=path)) from error


def _write(folder: Path, path: str, text: str) -> None:
    if not {"..", ".git"}.isdisjoint(path.lower().split("/")):
        raise OSError(EINVAL, "git allows no such name")
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")


def _followed(path: str, links: dict[str, str], store: Objects) -> str:
    """Return a path with the first link on its way replaced by where that leads; '' if there is none."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        link = "/".join(parts[:end])
        if link in links:
            target = posixpath.join(posixpath.dirname(link), store.text(links[link]) or "")
            return posixpath.normpath(posixpath.join(target, *parts[end:]))
    return ""


def read_worktree(root: Path) -> TreeVersion:
    """Return the tree on disk; links that lead out of it are not followed."""
    within = os.path.realpath(root)

    @cache
    def read_text(path: str) -> str | None:
        target = f"{within}/{path}"
        if not os.path.isfile(target) or not os.path.realpath(target).startswith(f"{within}/"):  # noqa: PTH113
            return None
        text = read_file(target, path)
        return None if isinstance(text, Problem) else text

    return TreeVersion("working tree", frozenset(_files(within)), read_text)


def _files(root: str) -> Iterator[str]:
    for folder in _TREES:
        for base, folders, names in os.walk(f"{root}/{folder}"):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = f"{base}/{name}"
                if path.isprintable() and not os.path.islink(path):  # noqa: PTH114 - thousands of files, and a Path takes its time
                    yield path.removeprefix(f"{root}/")
