"""A baseline: findings that a repository has already are left out, and new ones are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.check.kit import BAD_CONFIG_MAP, run, write
from tests.words import places

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Done

TWO = BAD_CONFIG_MAP + "---\n" + BAD_CONFIG_MAP.replace("name: a", "name: other")
HEAD = "# Findings that slicewright validate --baseline leaves out. Written by --write-baseline.\n"


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """Return a folder with three findings and the baseline that has them."""
    write(tmp_path, {"m/a.yaml": TWO, "m/b.yaml": BAD_CONFIG_MAP})
    assert 0 == run(tmp_path, "m", "--baseline", "known.yaml", "--write-baseline").code
    return tmp_path


def check(folder: Path, *paths: str) -> Done:
    """Return a check with the baseline."""
    return run(folder, *(paths or ("m",)), "--baseline", "known.yaml")


def test_baseline_has_a_sorted_line_for_each_finding(known: Path) -> None:
    """The file is small, and changes where findings change."""
    expected = """findings:
  m/a.yaml:
  - SCHEMA003 ConfigMap a data.a
  - SCHEMA003 ConfigMap other data.a
  m/b.yaml:
  - SCHEMA003 ConfigMap a data.a
"""
    assert HEAD + expected == (known / "known.yaml").read_text()


def test_findings_of_the_baseline_are_left_out_and_counted(known: Path) -> None:
    """A check of a repository with a past passes, and says how many findings it leaves out."""
    done = check(known)

    assert (0, "3 objects in 2 files and folders: 0 errors, 0 warnings; 3 in the baseline\n") == (
        done.code,
        done.out,
    )
    assert 3 == run(known, "m", "--baseline", "known.yaml", "-o", "json").json["summary"]["baseline"]


def test_finding_that_moves_stays_in_the_baseline(known: Path) -> None:
    """Lines and places in lists change with every edit."""
    first, second = TWO.split("---\n")
    write(known, {"m/a.yaml": f"# moved\n\n{second}---\n{first}"})

    assert (0, True) == (check(known).code, check(known).out.endswith("; 3 in the baseline\n"))


def test_own_files_are_not_objects(known: Path) -> None:
    """Ignore files and baselines in a folder that is checked are not counted among the files there."""
    (known / "known.yaml").rename(known / "m/.slicewright-baseline.yaml")
    write(known, {"m/.slicewright-ignore.yaml": "ignore: []\n"})
    done = run(known, "m", "--baseline", "m/.slicewright-baseline.yaml")

    assert "3 objects in 2 files and folders: 0 errors, 0 warnings; 3 in the baseline\n" == done.out


def test_new_finding_is_reported(known: Path) -> None:
    """Another field, and one more finding of the same kind at another object."""
    write(known, {"m/b.yaml": BAD_CONFIG_MAP.replace("{a: 1}", "{a: 1, b: 2}")})
    done = check(known)

    assert (1, "m/b.yaml:1:72: SCHEMA003 'b' must be a string, not an integer (2)") == (
        done.code,
        done.out.splitlines()[0],
    )


def test_equal_findings_are_counted(tmp_path: Path) -> None:
    """A second finding with the same id, object and field is new."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    run(tmp_path, "a.yaml", "--baseline", "known.yaml", "--write-baseline")
    write(tmp_path, {"a.yaml": f"{BAD_CONFIG_MAP}---\n{BAD_CONFIG_MAP}"})

    found = run(tmp_path, "a.yaml", "--baseline", "known.yaml", "--only", "SCHEMA", "-o", "json").json
    assert [("SCHEMA003", 3)] == [(one["id"], one["line"]) for one in found["problems"]]


def test_entry_that_is_gone_is_noted(known: Path) -> None:
    """A note names the line of the baseline; nothing is said of files that are not checked."""
    write(known, {"m/a.yaml": BAD_CONFIG_MAP.replace("1}", "'1'}"), "m/b.yaml": BAD_CONFIG_MAP})
    done = check(known)

    expected = ["known.yaml:4: note: IGN112", "known.yaml:5: note: IGN112"]
    assert (0, expected) == (done.code, places(done.out).splitlines()[:-1])
    assert "1 in the baseline" in check(known, "m/b.yaml").out
    assert "IGN112" not in check(known, "m/b.yaml").out


def test_writing_again_keeps_what_was_not_checked(known: Path) -> None:
    """A check of one file writes the findings of that file anew."""
    write(known, {"m/b.yaml": BAD_CONFIG_MAP.replace("1}", "'1'}")})
    run(known, "m/b.yaml", "--baseline", "known.yaml", "--write-baseline")

    assert ["m/a.yaml", "m/b.yaml"][:1] == [
        line.strip(" :\n")
        for line in (known / "known.yaml").read_text().splitlines()
        if line.startswith("  m")
    ]


def test_what_cannot_be_read_is_in_no_baseline(tmp_path: Path) -> None:
    """Nobody can put off a file that was not checked."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    done = run(tmp_path, "a.yaml", "missing.yaml", "--baseline", "known.yaml", "--write-baseline")

    assert (1, "missing.yaml: FILE001 no such file or folder") == (done.code, done.out.splitlines()[0])


@pytest.mark.parametrize("text", ["findings: []\n", "findings: {a: [1]}\n", "- a\n"])
def test_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    """Another file would leave out nothing, and would be overwritten."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP, "known.yaml": text})
    for arguments in ([], ["--write-baseline"]):
        done = run(tmp_path, "a.yaml", "--baseline", "known.yaml", *arguments)
        assert (1, "known.yaml:1:1: IGN111") == (done.code, done.err.partition(" this")[0])
    assert text == (tmp_path / "known.yaml").read_text()


def test_missing_baseline_is_refused(tmp_path: Path) -> None:
    """A misspelt name would report everything as new."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    done = run(tmp_path, "a.yaml", "--baseline", "known.yaml")
    assert (1, "known.yaml: FILE001 no such file or folder\n  hint: --write-baseline writes it\n") == (
        done.code,
        done.err[: done.err.index("1 error")],
    )
    assert 2 == run(tmp_path, "a.yaml", "--write-baseline").code


def test_baseline_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """The check does not pass as if it were written."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    done = run(tmp_path, "a.yaml", "--baseline", "no/known.yaml", "--write-baseline")

    assert (1, "no/known.yaml: FILE003") == (done.code, done.err.partition(" the")[0])


def test_baseline_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """A run that is killed while it writes leaves the old one: the new one is another file."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    arguments = ("a.yaml", "--baseline", "known.yaml", "--write-baseline")
    run(tmp_path, *arguments)
    with (tmp_path / "known.yaml").open() as old:
        text = old.read()
        write(tmp_path, {"a.yaml": BAD_CONFIG_MAP.replace("name: ", "name: x-")})
        run(tmp_path, *arguments)
        old.seek(0)

        assert text == old.read()
    assert ["a.yaml", "known.yaml"] == sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        ("--only", "TPU"),
        ("--disable", "SCHEMA"),
        ("--min-severity", "error"),
        ("--schemas-only",),
        ("--skip-kind", "ConfigMap"),
        ("--exclude", "b.yaml"),
    ],
    ids=lambda options: options[0],
)
def test_only_what_a_check_could_find_is_gone(known: Path, options: tuple[str, ...]) -> None:
    """An option that hides findings, or leaves checks out, does not prove that they were mended."""
    done = run(known, "m", "--baseline", "known.yaml", *options, "-o", "json")

    assert (0, []) == (done.code, done.ids)


@pytest.mark.parametrize("text", ["a: [", "{{- if .x }}\napiVersion: v1\n  kind: a\n{{ end }}\n"])
def test_finding_of_a_file_that_is_not_read_is_not_gone(known: Path, text: str) -> None:
    """A file that is broken, or a template now, may have the finding still."""
    write(known, {"m/b.yaml": f"apiVersion: v1\nkind: ConfigMap\n{text}"})

    assert "IGN112" not in run(known, "m", "--baseline", "known.yaml", "-o", "json").ids


def test_note_on_what_is_gone_is_chosen_like_any_other(known: Path) -> None:
    """`--min-severity` and `--only` are about notes of baselines too."""
    write(known, {"m/b.yaml": BAD_CONFIG_MAP.replace("1}", "'1'}")})
    arguments = ("m", "--baseline", "known.yaml", "-o", "json")

    assert ["IGN112"] == run(known, *arguments).ids
    assert [] == run(known, *arguments, "--min-severity", "warning").ids
    assert [] == run(known, *arguments, "--only", "SCHEMA").ids


@pytest.mark.parametrize("options", [("--only", "TPU"), ("--disable", "SCHEMA"), ("--min-severity", "error")])
def test_all_findings_are_written(known: Path, options: tuple[str, ...]) -> None:
    """What is not shown is not lost: the next check without the option would report it as new."""
    before = (known / "known.yaml").read_text()
    run(known, "m", "--baseline", "known.yaml", "--write-baseline", *options)

    assert before == (known / "known.yaml").read_text()


@pytest.mark.parametrize("option", ["--schemas-only", "--fix", "--diff"])
def test_baseline_of_a_part_is_refused(known: Path, option: str) -> None:
    """A baseline has all findings, and of files as they are."""
    done = run(known, "m", "--baseline", "known.yaml", "--write-baseline", option)

    assert (2, True) == (done.code, "--write-baseline writes all problems: leave out" in done.err)


def test_baseline_is_no_pipe(known: Path) -> None:
    """`-` would become a file of that name."""
    done = run(known, "m", "--baseline", "-", "--write-baseline")

    assert (2, True, False) == (
        done.code,
        "--baseline needs the name of a file: - is none" in done.err,
        (known / "-").exists(),
    )
