"""A repository that somebody prepared, or that was left in the middle of something."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright.check.io.discovery import of_overlays
from slicewright.document import io as text_file
from slicewright.environ import which
from slicewright.project.repository_reader import read_checkout


@pytest.mark.parametrize("target", ["/proc/self/environ", "../../outside.yaml"])
@pytest.mark.parametrize("folder", ["workloads", "clusters"])
def test_links_out_of_the_repository_are_refused(repo: Repo, folder: str, target: str) -> None:
    """Nothing of the file that a link leads to is read or printed."""
    (repo.root.parent / "outside.yaml").write_text("kind: S3CRET\n", encoding="utf-8")
    (repo.root / folder / "l.yaml").symlink_to(target)
    done = repo.run("render", "--check", code=1)
    assert "l.yaml: FILE004" in places(done.err)
    assert "S3CRET" not in done.err + done.out


def test_link_inside_of_the_repository_is_followed(repo: Repo) -> None:
    """It is as committed as the file that it leads to."""
    (repo.root / "workloads/a.yaml").rename(repo.root / "shared.yaml")
    (repo.root / "workloads/a.yaml").symlink_to("../shared.yaml")
    assert 1 == len(repo.effects())


def test_files_that_block_are_not_waited_for(repo: Repo) -> None:
    """A pipe is not a file, wherever it lies."""
    os.mkfifo(repo.root / "workloads/p.yaml")
    os.mkfifo(repo.root / "bases/jobset/more.yaml")
    assert "workloads/p.yaml: FILE001" in places(repo.run("render", code=1).err)


@pytest.mark.parametrize("path", ["workloads/a.yaml", "slicewright.yaml", "bases/jobset/kustomization.yaml"])
def test_input_has_a_size(repo: Repo, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is read that is larger than manifests are."""
    monkeypatch.setattr(text_file, "LARGEST", 20_000)
    with (repo.root / path).open("a") as file:
        file.write("# " + "x" * 20_000)
    assert f"{path}: FILE005" in places(repo.run("render", code=1).err)


def test_folders_that_a_killed_render_left_go(repo: Repo) -> None:
    """A kill between the last file of a folder and the folder leaves it empty; the next render removes it."""
    repo.run("render")
    (repo.root / "overlays/c1/gone/b/c").mkdir(parents=True)
    (repo.root / "overlays/c1/kept/.hidden").mkdir(parents=True)
    repo.run("render", "--check")
    assert (repo.root / "overlays/c1/gone/b/c").is_dir()
    repo.run("render")
    assert not (repo.root / "overlays/c1/gone").exists()
    assert (repo.root / "overlays/c1/kept/.hidden").is_dir()
    assert () == read_checkout(repo.root).empty


@pytest.mark.parametrize("path", ["", ".", "bin", ":", "bin:."])
def test_programs_of_the_repository_are_not_run(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PATH with an empty or relative entry leads into the current folder."""
    for name in ("git", "bin/git"):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert which("git", {"PATH": path}) is None
    assert shutil.which("git") == which("git", {"PATH": f"{path}:{os.environ['PATH']}"})


@pytest.mark.usefixtures("in_front")
def test_interrupt_while_modules_are_imported_is_quiet() -> None:
    """Ctrl-C in the first moments ends as it does later: one line, and 130."""
    hook = (
        "import sys, os, signal\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == 'click': os.kill(os.getpid(), {int(signal.SIGINT)})\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from slicewright.__main__ import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", hook], capture_output=True, check=False, text=True)
    assert (130, "", "\ninterrupted\n") == (done.returncode, done.stdout, done.stderr)


def test_link_that_leads_to_itself_is_no_file(repo: Repo) -> None:
    """A link in a circle is refused as a file of a run, at the line of the workload."""
    (repo.root / "loop").symlink_to("loop")
    files = "files: [{path: loop, mountPath: /x}]"
    repo.workload("a", f"clusters: [c1]\ntpu: v5litepod-8\ncontainer: {{image: i}}\n{files}\n")

    assert "FILE033" in places(repo.run("render", code=1).err)


def test_links_that_lead_back_are_not_followed(tmp_path: Path) -> None:
    """Two links to their own folder would be 2^40 paths to check."""
    folder = tmp_path / "overlays/c1/_platform"
    (folder / "sub").mkdir(parents=True)
    for name in (".", "sub"):
        (folder / name / "kustomization.yaml").touch()
    for name in ("a", "b"):
        (folder / name).symlink_to(".")

    found = [unit.name for unit in of_overlays(tmp_path)]

    assert ["overlays/c1/_platform", "overlays/c1/_platform/sub"] == found
