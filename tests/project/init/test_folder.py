"""`init` in a folder where something is already, or that cannot be."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.files import git
from tests.project.init.kit import files, init
from tests.words import places

from slicewright.rendering.io import write


def test_next_step_is_git_init_where_there_is_no_git_repository(tmp_path: Path) -> None:
    """Without one there is nothing to commit to."""
    (alone, _), _ = init(str(tmp_path / "a")), git(tmp_path, "init", "--quiet")
    inside, _ = init(str(tmp_path / "b"))

    rest = "write your project into clusters/sample.yaml, make render, and commit"
    assert [f"next: git init, {rest}", f"next: {rest}"] == [said.splitlines()[1] for said in (alone, inside)]


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    """What is there is listed, and nothing is written; --keep writes the rest."""
    (tmp_path / "README.md").write_text("mine\n", encoding="utf-8")
    (tmp_path / "Makefile").symlink_to("nowhere")

    _, said = init(str(tmp_path), code=1)

    assert "Makefile: FILE007\n1 error, 0 warnings\n" == places(said)
    assert ["Makefile", "README.md"] == sorted(path.name for path in tmp_path.iterdir())

    kept = json.loads(init(str(tmp_path), "--keep", "-o", "json")[0])

    assert kept["kept"] == ["Makefile", "README.md"]
    assert "slicewright.yaml" in kept["written"]
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine\n"
    assert (tmp_path / "Makefile").is_symlink()


def test_own_makefile_and_requirements_stay_beside_ours(tmp_path: Path) -> None:
    """CI, hooks and pages call our targets by another file, which installs from another list."""
    own = {"Makefile": "render:\n\techo mine\n", "requirements.txt": "jax\n"}
    for path, text in own.items():
        (tmp_path / path).write_text(text, encoding="utf-8")

    said, _ = init(str(tmp_path), "--keep")

    written = files(tmp_path)
    assert own == {path: written[path] for path in own}
    assert said.splitlines()[0].endswith(" files written, 2 kept: Makefile, requirements.txt")
    assert "clusters/sample.yaml, make -f slicewright.mk render, and commit" in said
    ours = {path: text for path, text in written.items() if not path.startswith(("bases/", "schemas/"))}
    calls = {path: re.findall(r"\bmake (?!-f slicewright\.mk)[a-z]+", text) for path, text in ours.items()}
    assert {} == {path: found for path, found in calls.items() if found}
    targets = re.findall(r"-f slicewright\.mk ([a-z]+)", written[".github/workflows/slicewright.yaml"])
    assert ["review", "comment"] == targets
    known = {*re.findall(r"^([a-z]+):", written["slicewright.mk"], re.MULTILINE)}
    assert {*targets, "tracked", "check"} <= known
    assert "-r requirements-slicewright.txt" in written["slicewright.mk"]
    assert "\nslicewright" in written["requirements-slicewright.txt"]
    assert "# /slicewright.mk " in written["CODEOWNERS"]
    again, _ = init(str(tmp_path), "--keep")
    assert "slicewright.mk" not in again


def test_repository_that_is_there_is_led_to_the_upgrade(tmp_path: Path) -> None:
    """The second init says so."""
    init(str(tmp_path))
    before = files(tmp_path)

    _, said = init(str(tmp_path), code=1)

    message, hint, _ = said.splitlines()
    assert places(message).startswith("slicewright.yaml: FILE007")
    assert message.endswith(f" and {len(before) - 6} more")
    assert hint == "  hint: this is a repository of slicewright already: init --upgrade"
    assert before == files(tmp_path)


def test_git_repository_that_is_there_is_taken(tmp_path: Path) -> None:
    """An empty one without a word; below its top, where CI does not look, with a warning."""
    git(tmp_path, "init", "--quiet")
    requirement = ("--slicewright-requirement", "slicewright")

    top, below = (init(str(folder), *requirement)[1] for folder in (tmp_path, tmp_path / "sub"))

    assert ("", "INIT002") == (top, below.split()[1])


def test_folder_that_cannot_be_made_is_a_problem(tmp_path: Path) -> None:
    """A file stands in its way."""
    (tmp_path / "file").write_text("", encoding="utf-8")

    assert "FILE003" in places(init(str(tmp_path / "file/deep"), code=1)[1])


def test_second_of_two_sees_what_the_first_wrote(tmp_path: Path) -> None:
    """It looks at the folder when the other one is done, and not while that still writes."""
    command = [sys.executable, "-m", "slicewright", "init", str(tmp_path)]
    with write.locked(tmp_path):
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert second.stderr is not None
        assert "waiting for another slicewright in this repository\n" == second.stderr.readline()
        (tmp_path / "slicewright.yaml").touch()
    said = second.communicate()[1]

    assert 1 == second.returncode
    assert "slicewright.yaml: FILE007 the file already exists\n" in said
    assert ["slicewright.yaml"] == [path.name for path in tmp_path.iterdir()]
