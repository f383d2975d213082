"""Whoever kills a render at any moment leaves a tree that the next one completes."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.kubernetes.problem import Problem
from slicewright.project.repository_reader import read_checkout
from slicewright.rendering.changes import render
from slicewright.rendering.io import write
from slicewright.rendering.io.write import apply

KILLED = Path(__file__).parent / "killed.py"
HASHED = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: %s}"
FIXED = "naming: Fixed\n" + HASHED
FOREIGN = [
    "overlays/note.yaml",
    "overlays/c1/default/mine.yaml",
    "overlays/c1/default/replaced/mine.yaml",
    "overlays/c1/default/gone/mine.yaml",
    "overlays/c1/default/gone/notes.txt",
]


@pytest.fixture
def changed(empty: Repo) -> Repo:
    """A repository in which the next render replaces, changes, starts, ends and renames."""
    for folder in ("components", "pathways", "pathways-headless", "pathwaysjob", "job", "indexed-job"):
        shutil.rmtree(empty.root / "bases" / folder)
    empty.cluster()
    for name, spec in (("replaced", HASHED), ("live", FIXED), ("gone", HASHED), ("turned", HASHED)):
        empty.workload(name, spec % "x")
    empty.run("render")
    for path in FOREIGN:
        empty.write(path, "mine: true\n")
    empty.workload("replaced", HASHED % "y")
    empty.workload("live", FIXED % "y")
    (empty.root / "workloads/gone.yaml").unlink()
    empty.workload("turned", FIXED % "x")
    empty.workload("new", HASHED % "x", metadata=", namespace: other")
    return empty


def completed(repo: Repo) -> tuple[dict[str, str], list[str]]:
    """Render what is left to do; return the tree and what stands in the root."""
    repo.run("render")
    assert repo.run("render", "--check").code == 0
    return repo.tree(), sorted(path.name for path in repo.root.iterdir())


def uninterrupted(repo: Repo, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Return what a render makes of a copy that nobody interrupts."""
    copy = type(repo).__new__(type(repo))
    copy.root = folder / "copy"
    shutil.copytree(repo.root, copy.root, symlinks=True)
    return completed(copy)


@pytest.mark.ci
@pytest.mark.slow
def test_kill_at_any_change_of_the_file_system_is_repaired(
    changed: Repo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Killed before each folder, move and deletion: the next render makes the same bytes.

    Each process is killed one step later than the one before it, in a fresh copy of the repository; the last
    ones have fewer steps than they may take, and end by themselves.
    """
    folder = tmp_path_factory.mktemp("killed")
    expected = uninterrupted(changed, folder)
    copies = [folder / str(step) for step in range(32)]
    for copy in copies:
        shutil.copytree(changed.root, copy)

    done = subprocess.run([sys.executable, KILLED, *copies], check=True, capture_output=True, text=True)
    codes = [int(line) for line in done.stdout.splitlines()]

    assert {137, 0} == set(codes)
    assert sorted(codes, reverse=True) == codes
    assert codes.count(137) > 15
    for step, (code, changed.root) in enumerate(zip(codes, copies, strict=True)):
        # The first step is the folder in which files wait.
        assert (code == 137 and step > 0) == bool(list(changed.root.glob(write.STAGE + "*")))
        assert (changed.root, expected) == (changed.root, completed(changed))
        assert [path for path in FOREIGN if changed.read(path) != "mine: true\n"] == []


def failing(real: Callable[..., Any], at: int) -> Callable[..., Any]:
    """Return a function of the file system that fails from its n-th call on, but not where a stage goes."""
    left = [at]

    def step(path: str | Path, *arguments: Any, **options: Any) -> Any:
        left[0] -= "dir_fd" not in options
        if left[0] < 0 and "dir_fd" not in options:
            raise OSError(5, "Input/output error", str(path))
        return real(path, *arguments, **options)

    return step


@pytest.mark.slow
@pytest.mark.parametrize("function", ["open", "mkdir", "replace", "unlink"])
def test_failure_at_any_call_is_said_and_repaired(
    changed: Repo, tmp_path_factory: pytest.TempPathFactory, function: str
) -> None:
    """An I/O error at each call: exit 1 with the path, no stage is left, and the next render completes."""
    folder = tmp_path_factory.mktemp("failed")
    expected = uninterrupted(changed, folder)
    pristine = changed.root

    code, at = 1, 0
    while code == 1:
        changed.root = folder / str(at)
        shutil.copytree(pristine, changed.root)
        with pytest.MonkeyPatch.context() as patch:
            checkout = read_checkout(changed.root)
            rendering = render(checkout.repository, checkout.existing)
            real = open if function == "open" else getattr(os, function)
            patch.setattr(write if function == "open" else os, function, failing(real, at), raising=False)
            problems = apply(changed.root, rendering.writes, rendering.deletes)
        code = 1 if problems else 0
        assert {"the file cannot be written: Input/output error"} >= {problem.message for problem in problems}
        assert all(isinstance(problem, Problem) and not problem.file.startswith("/") for problem in problems)
        assert list(changed.root.glob(write.STAGE + "*")) == []
        assert (at, expected) == (at, completed(changed))
        at += 1

    assert at > 1


@pytest.mark.workflow
@pytest.mark.slow
def test_sigkill_at_random_moments_is_repaired(empty: Repo, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A process that is killed while it reads, plans, stages or moves leaves nothing that stays wrong."""
    empty.cluster()
    for number in range(120):
        empty.workload(f"w{number}", (FIXED if number % 3 else HASHED) % "x")
    expected = uninterrupted(empty, tmp_path_factory.mktemp("sigkill"))
    start = time.monotonic()
    command = [sys.executable, "-m", "slicewright", "render", "-C", str(empty.root)]
    subprocess.run([*command, "--stdout"], check=True, capture_output=True)
    usual = time.monotonic() - start

    chance = random.Random(20261121)  # noqa: S311 - a moment, not a secret
    for _ in range(6):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 1.2) * usual)
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert expected == completed(empty)


@pytest.mark.ci
def test_two_renders_at_once_make_the_tree_of_one(
    changed: Repo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The lock serialises them: both succeed, and the tree is that of a single render."""
    expected = uninterrupted(changed, tmp_path_factory.mktemp("twice"))
    command = [sys.executable, "-m", "slicewright", "render", "-C", str(changed.root)]

    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    outputs = [process.communicate() for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0]
    started = sorted(b" starts: " in out for out, _ in outputs)
    assert started == [False, False, True]
    assert expected == completed(changed)


@pytest.mark.slow
def test_render_waits_for_another_one_and_says_so(repo: Repo) -> None:
    """Who holds the lock is waited for; the message tells people what is going on."""
    command = [sys.executable, "-m", "slicewright", "render", "-C", str(repo.root)]
    with write.locked(repo.root):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        said = process.stderr.readline()
        written = (repo.root / "overlays").exists()

    out, err = process.communicate()

    assert (said, written) == ("waiting for another slicewright in this repository\n", False)
    assert (process.returncode, err) == (0, "")
    assert "1 run to start" in out


def test_readers_share_the_lock(repo: Repo) -> None:
    """`--check` and `--stdout` do not wait for each other, and leave no file behind."""
    repo.run("render")
    before = sorted(repo.root.iterdir())

    with write.locked(repo.root, shared=True):
        assert repo.run("render", "--check").err == ""
        assert repo.run("render", "a", "--stdout").err == ""

    assert before == sorted(repo.root.iterdir())
