"""The difference of two texts is one that git applies."""

import subprocess
from pathlib import Path

import pytest

from slicewright.document.text_difference import unified


def test_difference_is_one_that_git_applies() -> None:
    """The difference of a file names it, and says where the last line has no end."""
    expected = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"

    assert expected == unified("f", "a", "b\n")


@pytest.mark.parametrize(
    "name", ["new\nline", "tab\tx", 'q"uote', "b\\n", " lead", "sp ace", "é", "\x7f", "\udcff"]
)
def test_git_applies_the_difference_of_any_name(tmp_path: Path, name: str) -> None:
    """Names are quoted as git reads them."""
    file = tmp_path / name
    file.write_text("a\n")
    patch = unified(name, "a\n", "b\n").encode(errors="surrogateescape")
    subprocess.run(["git", "apply"], cwd=tmp_path, input=patch, check=True)

    assert "b\n" == file.read_text()


@pytest.mark.parametrize(("before", "after"), [(None, "a\n"), ("a\n", None)])
def test_git_adds_and_deletes_what_one_version_lacks(
    tmp_path: Path, before: str | None, after: str | None
) -> None:
    """A file that is not there is /dev/null to git."""
    file = tmp_path / "sp ace"
    if before is not None:
        file.write_text(before)
    patch = unified("sp ace", before, after).encode()
    subprocess.run(["git", "apply"], cwd=tmp_path, input=patch, check=True)

    assert after == (file.read_text() if file.exists() else None)
