"""`validate --changed REV` in repositories with odd names, submodules, ignored files, or no files."""

import os
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.check.kit import BAD_CONFIG_MAP, run, write
from tests.check.past import commit, found
from tests.files import git

from slicewright.diff.io.changed_files import tree_before
from slicewright.diff.io.git import GitError

pytestmark = [pytest.mark.slow, pytest.mark.tools]  # each makes a git repository, and kustomize builds it


@pytest.mark.parametrize(
    "names",
    [[b".git"], [b".GIT"], [b"a", b"a/"], [b"n" * 256], [b"/".join([b"n" * 250] * 17)]],
    ids=["git's own", "git's own in capitals", "a file beside its folder", "a long name", "a long path"],
)
def test_tree_that_cannot_be_written_is_named(past: Path, names: list[bytes]) -> None:
    """Programs can write trees into git that no file system takes; a rehearsal of the past needs one."""

    def stored(kind: str, content: bytes) -> bytes:
        command = ["git", "hash-object", "-t", kind, "-w", "--literally", "--stdin"]
        answer = subprocess.run(command, cwd=past, input=content, check=True, capture_output=True).stdout
        return bytes.fromhex(answer.decode())

    def tree(entries: list[tuple[bytes, bytes, bytes]]) -> bytes:
        return stored("tree", b"".join(b"%s %s\0%s" % entry for entry in entries))

    blob = stored("blob", b"a: b\n")
    entries = [(b"100644", b"b.yaml", stored("blob", BAD_CONFIG_MAP.encode()))]
    for name in names:
        first, *within = reversed(name.rstrip(b"/").split(b"/"))
        entry = (b"100644", first, blob)
        if name.endswith(b"/"):
            entry = (b"40000", first, tree([(b"100644", b"b", blob)]))
        for folder in within:
            entry = (b"40000", folder, tree([entry]))
        entries.append(entry)
    entries.sort(key=lambda entry: entry[1] + (b"/" if entry[0] == b"40000" else b""))
    git(past, "update-ref", "HEAD", git(past, "commit-tree", "-m", "odd", tree(entries).hex()))

    with pytest.raises(GitError, match=r"the commit .* cannot be written"), tree_before(past, "HEAD"):
        pass


def test_file_whose_name_is_odd_is_part_of_the_change(past: Path) -> None:
    """Names that a terminal cannot show are compared, and reported to programs, as they are."""
    names = ["\u3000wide.yaml", "bell\x07.yaml", "line\nbreak.yaml", "\udcff.yaml", "\u202eturned.yaml"]
    write(past, dict.fromkeys(names, BAD_CONFIG_MAP))

    done = run(past, ".", "--changed", "HEAD", "-o", "json")
    assert sorted(names) == sorted(one["file"] for one in done.json["problems"])

    report = run(past, ".", "--changed", "HEAD", "-o", "sarif").json
    places = [one["locations"][0]["physicalLocation"] for one in report["runs"][0]["results"]]
    uris = [one["artifactLocation"]["uri"] for one in places]
    assert sorted(names) == sorted(unquote(uri, errors="surrogateescape") for uri in uris)


@pytest.mark.parametrize("file", ["values.yaml", "templates/a.yaml"])
def test_findings_of_a_chart_are_reported_with_any_file_of_it(
    past: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """A template is rendered with the values of its chart."""
    rendered = f"---\n# Source: c/templates/a.yaml\n{BAD_CONFIG_MAP}"
    script = f"#!/bin/sh\nwhile read -r line; do echo \"$line\"; done <<'END'\n{rendered}END\n"
    write(past, {".bin/helm": script})
    (past / ".bin/helm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{past}/.bin:{os.environ['PATH']}")
    commit(past, {"c/Chart.yaml": "apiVersion: v2\nname: c\n", "c/templates/a.yaml": "{{ a }}\n"})
    assert [] == found(past, ".", "--helm", rev="HEAD")

    write(past, {f"c/{file}": "a: b\n"})
    assert ["c/templates/a.yaml SCHEMA003"] == found(past, ".", "--helm", rev="HEAD")


def test_folder_that_was_a_file_is_part_of_the_change(past: Path) -> None:
    """Git does not know what is in it."""
    commit(past, {"f": "a file\n"})
    (past / "f").unlink()
    write(past, {"f/g/a.yaml": BAD_CONFIG_MAP})

    assert ["a.yaml SCHEMA003"] == found(past / "f/g", ".", "../../b.yaml")


def test_submodule_is_part_of_the_change_if_its_commit_is(past: Path) -> None:
    """The repository names a commit, and knows no file of it."""
    (past / "sub").mkdir()
    git(past / "sub", "init")
    commit(past / "sub", {"a.yaml": BAD_CONFIG_MAP})
    commit(past, {})
    assert [] == found(past, rev="HEAD")

    commit(past / "sub", {"b.yaml": BAD_CONFIG_MAP})
    assert ["sub/a.yaml SCHEMA003", "sub/b.yaml SCHEMA003"] == found(past, rev="HEAD")


def test_submodule_without_its_commit_is_part_of_the_change(past: Path) -> None:
    """A shallow clone may lack it: then its findings are reported, and none is hidden."""
    (past / "sub").mkdir()
    git(past / "sub", "init")
    commit(past / "sub", {"a.yaml": BAD_CONFIG_MAP})
    git(past, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(past, "commit", "--message", "m")

    assert ["sub/a.yaml SCHEMA003"] == found(past, rev="HEAD")


def test_what_git_ignores_has_no_past(past: Path) -> None:
    """Git does not know what it was: its findings are reported, and `--exclude` leaves it out."""
    commit(past, {".gitignore": "made/\n"})
    write(past, {"made/a.yaml": BAD_CONFIG_MAP})

    assert ["made/a.yaml SCHEMA003"] == found(past, rev="HEAD")
    assert [] == found(past, ".", "--exclude", "made", rev="HEAD")


def test_repository_without_files_is_named(past: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The hint is about a bare repository, and about files that are elsewhere."""
    git(past, "clone", "--bare", ".", "bare")
    bare = run(past / "bare", ".", "--changed", "HEAD")
    git(past, "config", "core.worktree", str(tmp_path_factory.mktemp("elsewhere")))
    elsewhere = run(past, ".", "--changed", "HEAD")

    assert (3, True) == (bare.code, "a bare repository has none" in bare.err)
    assert (3, True) == (elsewhere.code, "git config core.worktree names a folder" in elsewhere.err)
