"""`validate --changed REV`: all is read, and only findings of changed files are reported."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.check.past import commit, found
from tests.files import git

pytestmark = [pytest.mark.slow, pytest.mark.tools]  # each makes a git repository, and kustomize builds it

OTHER_QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: other, namespace: default}
spec: {clusterQueue: tpus}
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default, labels: {kueue.x-k8s.io/queue-name: tpus}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
"""


def test_unchanged_tree_has_no_findings(past: Path) -> None:
    """What was there before is counted and does not fail the check."""
    done = run(past, ".", "--changed", "HEAD")

    assert (0, True) == (done.code, ": 0 errors, 0 warnings; 3 not of this change" in done.out)
    assert 3 == run(past, ".", "--changed", "HEAD", "-o", "json").json["summary"]["unchanged"]


@pytest.mark.parametrize("is_committed", [False, True])
def test_findings_of_a_changed_file_are_reported(past: Path, is_committed: bool) -> None:
    """Those that were there before too, whether the change is committed or not."""
    git(past, "checkout", "-b", "work")
    write(past, {"a.yaml": f"# more\n{BAD_CONFIG_MAP}"})
    if is_committed:
        commit(past, {})

    assert ["a.yaml SCHEMA003"] == found(past)


def test_findings_of_a_new_file_are_reported(past: Path) -> None:
    """A file that git does not know yet is part of the change."""
    write(past, {"d/new.yaml": BAD_CONFIG_MAP})

    assert ["d/new.yaml SCHEMA003"] == found(past)


def test_change_begins_where_the_branch_left(past: Path) -> None:
    """What others changed on the main branch since then is not part of it."""
    git(past, "checkout", "-b", "work")
    commit(past, {"b.yaml": f"# mine\n{BAD_CONFIG_MAP}"})
    git(past, "checkout", "main")
    commit(past, {"a.yaml": CONFIG_MAP})
    git(past, "checkout", "work")

    assert ["b.yaml SCHEMA003"] == found(past)


@pytest.mark.parametrize("file", ["k/base/cm.yaml", "k/base/other.yaml", "k/over/kustomization.yaml"])
def test_findings_of_a_build_are_reported_with_the_files_it_reads(past: Path, file: str) -> None:
    """A change in a folder that a build includes touches the build."""
    write(past, {file: f"# more\n{(past / file).read_text()}"})

    assert ["k/over SCHEMA003"] == found(past)


def test_changed_file_is_judged_with_the_whole_tree(tmp_path: Path) -> None:
    """A Job names a queue; what it misses is in files that did not change."""
    git(tmp_path, "init")
    commit(tmp_path, {"queue.yaml": OTHER_QUEUE})
    write(tmp_path, {"job.yaml": JOB})

    assert ["job.yaml REF101"] == found(tmp_path, ".", "--only", "REF101")


def test_finding_in_a_file_that_did_not_change_is_counted(tmp_path: Path) -> None:
    """A queue gets another name, and a Job elsewhere still names it."""
    git(tmp_path, "init")
    commit(tmp_path, {"queue.yaml": OTHER_QUEUE.replace("other", "tpus"), "job.yaml": JOB})
    write(tmp_path, {"queue.yaml": OTHER_QUEUE})
    summary = run(tmp_path, ".", "--only", "REF101", "--changed", "HEAD", "-o", "json").json["summary"]

    assert (0, 1) == (summary["errors"] + summary["warnings"], summary["unchanged"])


def test_paths_and_folders_mean_the_same_to_git(past: Path) -> None:
    """A check in a folder of the repository, of a path, compares the same path."""
    write(past, {"k/base/cm.yaml": BAD_CONFIG_MAP.replace("{a: 1}", "{a: 1, b: 2}")})
    assert [] == found(past / "k", "../a.yaml")
    assert ["base/cm.yaml SCHEMA003"] * 2 == found(past / "k", "base/cm.yaml")
    assert [] == found(past / "k", str(past / "b.yaml"))


def test_tree_is_left_as_it_is(past: Path) -> None:
    """Nothing is checked out: index, working tree and branches stay."""

    def state() -> list[bytes]:
        commands = (["status", "--porcelain"], ["for-each-ref"], ["stash", "list"], ["worktree", "list"])
        return [
            subprocess.run(["git", *one], cwd=past, check=True, capture_output=True).stdout
            for one in commands
        ]

    write(past, {"a.yaml": CONFIG_MAP})
    before = state()
    found(past)

    assert before == state()


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["--changed", "mian"], 2, "Error: unknown git revision 'mian'; did you mean 'main'?\n"),
        (["--changed", ""], 2, "Error: --changed needs a revision, and this one is empty"),
        (["--changed", "^HEAD"], 2, "Error: unknown git revision '^HEAD'"),
        (["--changed", "HEAD^{tree}"], 2, "Error: unknown git revision 'HEAD^{tree}'"),
        (["--changed", "main", "-"], 2, "Error: --changed compares files with git: stdin has"),
    ],
)
def test_wrong_use_is_refused(past: Path, arguments: list[str], code: int, expected: str) -> None:
    """A revision that git does not know, and stdin."""
    done = run(past, ".", *arguments)

    assert (code, True) == (done.code, expected in done.err)


def test_folder_without_git_is_refused(tmp_path: Path) -> None:
    """There is nothing to compare with."""
    write(tmp_path, {"a.yaml": CONFIG_MAP})

    assert "Error: GIT003" in run(tmp_path, ".", "--changed", "main").err


def test_file_that_cannot_be_read_is_reported_whatever_changed(past: Path) -> None:
    """Nothing was checked, so nothing is known of its findings."""
    assert ["missing.yaml FILE001"] == found(past, "missing.yaml", rev="HEAD")


def test_finding_of_the_command_line_is_reported_whatever_changed(past: Path) -> None:
    """It is in no file."""
    assert [" IGN104"] == found(past, ".", "--skip-kind", "JobSt", rev="HEAD")


@pytest.fixture
def program(past: Path) -> Path:
    """Return a program that leaves a file when it runs, beside a changed file with a driver and a filter."""
    program = past / ".git/traps/post-index-change"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch '{past}/.git/called'\nexit 1\n")
    program.chmod(0o755)
    commit(past, {".gitattributes": "*.yaml filter=x diff=x\n"})
    write(past, {"a.yaml": f"{BAD_CONFIG_MAP}# changed\n"})
    return program


@pytest.mark.parametrize(
    ("key", "command"),
    [
        ("core.fsmonitor", ("status",)),
        ("core.hooksPath", ("add", "a.yaml")),
        ("filter.x.clean", ("diff",)),
        ("filter.x.process", ("diff",)),
        ("diff.x.textconv", ("diff",)),
        ("diff.x.command", ("diff",)),
        ("diff.external", ("diff",)),
    ],
)
def test_programs_of_the_configuration_are_not_run(
    past: Path, program: Path, key: str, command: tuple[str, ...]
) -> None:
    """What .git/config names runs for a user of git, and not for `--changed`, which finds the change."""
    called = past / ".git/called"
    git(past, "config", key, str(program.parent if key == "core.hooksPath" else program))
    with contextlib.suppress(AssertionError):  # it is a poor filter
        git(past, *command)
    assert called.exists()
    called.unlink()

    assert ["a.yaml SCHEMA003"] == found(past, rev="HEAD")
    assert not called.exists()


@pytest.mark.parametrize("key", ["remote.origin.uploadpack", "core.sshCommand"])
def test_missing_object_is_not_fetched(past: Path, program: Path, key: str) -> None:
    """A partial clone names programs that fetch what it lacks; they do not run, and the object is missing."""
    called = past / ".git/called"
    address = str(past) if key.startswith("remote") else "ssh://example.test/a"
    for setting in (f"{key} {program}", f"remote.origin.url {address}", "remote.origin.promisor true"):
        git(past, "config", *setting.split(" "))
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:b.yaml"], cwd=past, check=True, capture_output=True, text=True
    ).stdout.strip()
    (past / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with contextlib.suppress(AssertionError):
        git(past, "cat-file", "blob", blob)
    assert called.exists()
    called.unlink()
    done = run(past, ".", "--changed", "HEAD")

    assert not called.exists()
    assert (3, True) == (done.code, "GIT002 git diff failed: unable to read" in done.err)
    assert not called.exists()


def test_repository_of_another_user_is_refused(past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git reads no configuration of strangers, and slicewright does not make it: the user decides."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    done = run(past, ".", "--changed", "HEAD")

    assert (3, True) == (done.code, "git config --global --add safe.directory" in done.err)


def test_unrelated_histories_are_named(past: Path) -> None:
    """The message says what to do in a shallow clone."""
    git(past, "checkout", "--orphan", "alone")
    git(past, "commit", "--message", "other")
    done = run(past, ".", "--changed", "main")

    assert 2 == done.code
    assert (
        "git finds no commit that 'main' and 'HEAD' have in common; in a shallow clone: git fetch" in done.err
    )


def test_shallow_clone_is_named(past: Path) -> None:
    """The checkout of a CI has one commit; the message says how to get the others."""
    commit(past, {"c.yaml": CONFIG_MAP})
    git(past, "clone", "--depth", "1", f"file://{past}", "shallow")

    done = run(past / "shallow", ".", "--changed", "HEAD~1")
    hint = "this clone is shallow: git fetch --unshallow, or fetch-depth: 0 of actions/checkout"
    assert (2, f"Error: unknown git revision 'HEAD~1'; {hint}\n") == (done.code, done.err)
