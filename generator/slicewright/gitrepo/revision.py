"""A git revision -> one side of a difference, read from git's objects and never checked out."""

from __future__ import annotations

import contextlib
import posixpath
import subprocess
from typing import IO, TYPE_CHECKING

from slicewright.core.difference.tree_version import TreeVersion
from slicewright.core.problem import Problem
from slicewright.gitrepo import git
from slicewright.workspace.text_file import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_FOLDERS = ("overlays/", "provision/")
_FILE, _LINK = ("100644", "100755"), "120000"
_BATCH = 128
"""Names that are asked for at once: few enough that they fit into a pipe."""
_LINKS = 8
"""Links that lead to links, before we give up."""


class UnknownRevisionError(Exception):
    """Git knows no revision of a name; carries the name and those that it knows."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"git knows no revision '{name}'")
        self.name = name
        self.known = known


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
        """Read many blobs that are soon asked for, a batch at a time. Raises GitError."""
        wanted = [blob for blob in dict.fromkeys(blobs) if blob not in self._texts]
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            self._sink.write("".join(f"{blob}\n" for blob in batch).encode())
            self._sink.flush()
            for blob in batch:
                self._texts[blob] = self._answer(blob)

    def _answer(self, blob: str) -> str | None:
        head = self._source.readline().decode().split()
        if len(head) != 3:  # noqa: PLR2004 - name, type and size; else `<name> missing`, or nothing
            raise git.GitError(git.broken("cat-file", f"object {blob} is missing"))
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
        raise git.GitError(git.broken("cat-file", "it ended while it was asked")) from error


def _reader(root: Path) -> subprocess.Popen[bytes]:
    command = [git.program(), "cat-file", "--batch"]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen(
            command, cwd=root, env=git.environment(), stdin=pipe, stdout=pipe, stderr=nowhere
        )
    except OSError as error:
        raise git.GitError(git.broken("cat-file", str(error))) from error


def resolve(root: Path, name: str) -> str:
    """Return the tree of a revision. Raises UnknownRevisionError, NoGitRepositoryError, GitError."""
    done = git.run(root, "rev-parse", "--verify", "--quiet", f"{name}^{{tree}}")
    if not done.returncode and not name.startswith("-"):
        return done.stdout.decode().strip()
    found = git.run(root, "rev-parse", "--git-dir")
    if b"not a git repository" in found.stderr:
        raise git.NoGitRepositoryError(f"{root} belongs to no git repository")
    if found.returncode:
        raise git.GitError(git.broken("rev-parse", found.stderr.decode(errors="replace")))
    raise UnknownRevisionError(name, _known(root))


def merge_base(root: Path, one: str, other: str) -> str:
    """Return the commit from which two revisions went apart. Raises UnknownRevisionError, GitError."""
    for name in (one, other):
        resolve(root, name)
    done = git.run(root, "merge-base", one, other)
    if done.returncode:
        raise UnknownRevisionError(f"{one}...{other}", ())
    return done.stdout.decode().strip()


_REMOTE, _LOCAL = "refs/remotes/origin/", "refs/heads/"
_DEFAULT_BRANCHES = (
    f"{_REMOTE}HEAD",
    f"{_REMOTE}main",
    f"{_REMOTE}master",
    f"{_LOCAL}main",
    f"{_LOCAL}master",
)
"""In full: git takes a tag called `origin/main` before the branch."""


def base(root: Path) -> str:
    """Return the commit where HEAD left the default branch: HEAD's own, where it is that branch.

    Raises UnknownRevisionError, GitError and NoGitRepositoryError.
    """
    resolve(root, "HEAD")
    for name in _DEFAULT_BRANCHES:
        done = git.run(root, "merge-base", "HEAD", name)
        if not done.returncode:
            return done.stdout.decode().strip()
    raise UnknownRevisionError("origin/HEAD", ())


def _known(root: Path) -> tuple[str, ...]:
    listed = git.answer(
        root, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
    )
    return tuple(listed.decode(errors="replace").splitlines())


def read(root: Path, name: str, store: Objects, called: str = "") -> TreeVersion:
    """Return a revision as one side of a difference, `called` in the report as said or by its name.

    Paths are relative to `root`, which may be a folder of a larger repository. Raises UnknownRevisionError,
    NoGitRepositoryError, GitError.
    """
    listed = git.answer(root, "ls-tree", "-r", "-z", resolve(root, name))
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    for entry in listed.decode(errors="surrogateescape").split("\0")[:-1]:
        head, _, path = entry.partition("\t")
        mode, _, blob = head.split()
        if mode in _FILE:
            files[path] = blob
        elif mode == _LINK:
            links[path] = blob

    def read_text(path: str) -> str | None:
        for _ in range(_LINKS):
            if path in files:
                return store.text(files[path])
            path = _followed(path, links, store)
        return None

    paths = frozenset(path for path in files if path.startswith(_FOLDERS) and path.isprintable())
    store.fetch(files[path] for path in sorted(paths))
    return TreeVersion(called or name, paths, read_text)


def _followed(path: str, links: dict[str, str], store: Objects) -> str:
    """Return a path with the first link on its way replaced by where that leads; '' where there is none."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        link = "/".join(parts[:end])
        if link in links:
            target = posixpath.join(posixpath.dirname(link), store.text(links[link]) or "")
            return posixpath.normpath(posixpath.join(target, *parts[end:]))
    return ""
