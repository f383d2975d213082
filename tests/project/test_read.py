"""Reading a repository: what is found, what is passed by, and what cannot be read."""

import os
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright.project.repository_reader import NoRepositoryError, find_root, read_checkout


def test_root_is_the_nearest_folder_with_settings(repo: Repo) -> None:
    """A command may run in any folder of a repository."""
    (repo.root / "workloads/deep/er").mkdir(parents=True)

    assert repo.root == find_root(repo.root / "workloads/deep/er")


def test_no_repository_is_said(tmp_path: Path) -> None:
    """Above the root of the file system there is nothing to look for."""
    with pytest.raises(NoRepositoryError, match=f"no slicewright.yaml in {tmp_path} or above it"):
        find_root(tmp_path)


def problems(repo: Repo) -> list[str]:
    """Return what is said about files when a repository is read."""
    return [problem.text() for problem in read_checkout(repo.root).repository.problems]


def test_file_that_is_not_utf8_is_said_with_its_byte(repo: Repo) -> None:
    """The byte that no reader of UTF-8 accepts, and what to do."""
    (repo.root / "workloads/b.yaml").write_bytes(b"name: caf\xe9\n")

    assert places(problems(repo)) == ["workloads/b.yaml: FILE002"]


def test_byte_order_mark_is_no_content(repo: Repo) -> None:
    """Editors on Windows write one."""
    path = repo.root / "workloads/a.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert problems(repo) == []


def test_hidden_files_and_other_suffixes_are_passed_by(repo: Repo) -> None:
    """Lock files of editors (links that lead nowhere) and notes are no input."""
    (repo.root / "workloads/.#a.yaml").symlink_to("nobody@host.1")
    repo.write("workloads/.trash/b.yaml", "a: [")
    repo.write("workloads/notes.txt", "a: [")

    assert problems(repo) == []


def test_folder_that_cannot_be_read_is_said(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads everything, so the refusal is acted: the folder and its reason are named."""
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("/locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    (repo.root / "workloads/locked").mkdir()
    monkeypatch.setattr(os, "scandir", scandir)

    assert places(problems(repo)) == ["workloads/locked: FILE001"]


@pytest.mark.parametrize("folder", ["clusters", "workloads", "overlays"])
def test_file_in_place_of_a_folder_is_said(empty: Repo, folder: str) -> None:
    """A folder that is a file is not an empty folder."""
    empty.write(folder, "text")

    assert [f"{folder}: FILE001"] == places(problems(empty))


def test_file_that_cannot_be_opened_is_said(repo: Repo) -> None:
    """A link that leads nowhere is one."""
    (repo.root / "workloads/b.yaml").symlink_to("nowhere.yaml")

    assert places(problems(repo)) == ["workloads/b.yaml: FILE001"]


def test_link_to_a_folder_is_not_followed_and_said(repo: Repo) -> None:
    """What lies behind it would not be rendered: silence would be worse."""
    (repo.root / "elsewhere").mkdir()
    (repo.root / "workloads/linked").symlink_to("../elsewhere")

    assert places(problems(repo)) == ["workloads/linked: FILE004"]


@pytest.mark.parametrize("name", [b"a\nb.yaml", b"a\xffb.yaml"])
def test_name_that_cannot_be_printed_is_refused(repo: Repo, name: bytes) -> None:
    """It would break the header of generated files, and every report."""
    text = (repo.root / "workloads/a.yaml").read_bytes()
    with open(os.path.join(os.fsencode(repo.root), b"workloads", name), "wb") as file:  # noqa: PTH118, PTH123
        file.write(text)

    (said,) = problems(repo)

    assert "FILE008" in places(said)
    assert said.isascii()


def test_such_a_name_in_the_tree_is_passed_by(repo: Repo) -> None:
    """We never write one, so it is not ours."""
    repo.write("overlays/c1/a\nb.yaml", "mine: true\n")

    assert problems(repo) == []
    assert len(repo.effects()) == 1


def test_repository_without_folders_is_empty(empty: Repo) -> None:
    """Nothing is asked for, and nothing is rendered."""
    done = empty.run("render")

    assert (
        done.out
        == "0 workloads on 0 clusters: 0 runs to start, 0 to end; 0 files written, 0 deleted, 0 unchanged\n"
    )
    assert not (empty.root / "overlays").exists()


def test_settings_that_cannot_be_read_are_said(repo: Repo) -> None:
    """The file that marks the root is read like every other one."""
    (repo.root / "slicewright.yaml").write_bytes(b"\xff")

    (said,) = problems(repo)

    assert "slicewright.yaml: FILE002" == places(said)
