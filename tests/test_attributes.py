"""Reviews fold what commands write, and what comes from elsewhere."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = re.compile(r"DO NOT EDIT|\bMade (?:by|from) ")
"""What the first lines of a generated file say."""
GENERATED = (
    "docs/reference/fields/tpuworkload.md",
    "schemas/kinds/definitions.json",
    "requirements/run.txt",
    "tools/testbed/go.sum",
)
"""Generated files of formats without a comment, and pages."""


def git(*arguments: str, paths: list[str] | None = None) -> list[str]:
    """Return what git prints, separated by NUL; paths go to its stdin."""
    stdin = "\0".join(paths or ())
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, input=stdin, capture_output=True, check=True, text=True
    )
    return done.stdout.split("\0")[:-1]


def marked(attribute: str, paths: list[str]) -> set[str]:
    """Return the paths that have an attribute."""
    answers = git("check-attr", "-z", "--stdin", attribute, paths=paths)
    return {path for path, _, value in zip(*[iter(answers)] * 3, strict=True) if value == "true"}


def says_that_it_is_generated(path: Path) -> bool:
    """Tell whether the first lines of a file say so."""
    with path.open("rb") as file:
        lines = [file.readline(300) for _ in range(3)]
    return HEADER.search(b"".join(lines).decode("utf-8", "replace")) is not None


def test_generated_files_are_marked_for_reviews() -> None:
    """Every file whose header says that it is generated has the attribute, and so have those without one."""
    paths = [path for path in git("ls-files", "-z") if (ROOT / path).is_file()]
    generated = {path for path in paths if says_that_it_is_generated(ROOT / path)}

    assert set() == {*generated, *GENERATED} - marked("linguist-generated", paths)


def test_what_people_write_is_not_marked() -> None:
    """READMEs, input, bases and the schemas of the input are seen in reviews."""
    written = ("*README.md", "clusters", "workloads", "schemas/slicewright", "docs/index.md")
    paths = git("ls-files", "-z", *written)

    assert set() == marked("linguist-generated", paths) | marked("linguist-vendored", paths)


def test_vendored_files_are_marked_for_reviews() -> None:
    """Manifests of releases and the sources of schemas come from elsewhere."""
    paths = git("ls-files", "-z", "bases/controllers", "schemas/sources/*.gz")

    assert set(paths) == marked("linguist-vendored", paths)


def test_top_level_folders_say_what_they_hold() -> None:
    """A README says whether a folder is input, output or source."""
    folders = ("bases", "clusters", "overlays", "provision", "schemas", "tools", "workloads")

    assert [] == [folder for folder in folders if not (ROOT / folder / "README.md").is_file()]
