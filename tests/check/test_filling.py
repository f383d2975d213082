"""Values of the command line are in the place of placeholders before a file is read."""

import os
from pathlib import Path

import pytest
from tests.check.kit import CONFIG_MAP, run, write

from slicewright.check.filling import filled, read_values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${X}", "1"),
        ("$X", "1"),
        ("$$X", "$1"),
        ("a-$X-b", "a-1-b"),
        ("$XY", "$XY"),
        ("{{ X }}", "1"),
        ("{{ .X }}", "1"),
        ("{{X}}", "1"),
        ("<X>", "1"),
        ("<your name>", "me"),
        ("{{ .Values.x }}", "2"),
        ("${Y}", "${Y}"),
        ("${X:-9}", "1"),
        ("${X-9}", "1"),
        ("${Y:-9}", "9"),
        ("${Y:-}", ""),
        ("${Y-9}", "9"),
        ("${EMPTY:-9}", "9"),
        ("${EMPTY-9}", ""),
        ("${X%.*}", "${X%.*}"),
        ("$(X)", "$(X)"),
        ("X", "X"),
    ],
)
def test_references_are_those_of_envsubst_and_their_like(text: str, expected: str) -> None:
    """A name without a value stays, unless the reference has a default."""
    assert expected == filled(text, {"X": "1", "EMPTY": "", "your name": "me", "Values.x": "2"})[0]


def test_env_file_is_lines_of_names_and_values() -> None:
    """Comments and empty lines are left out, `export` and quotes are dropped, other lines are named."""
    lines = ["A=1", "", "# B=2", "export C='3 4'", 'D="5"', "E=a=b", "F", "G=", "=x", "export\tH = 6\r"]

    expected = [("A", "1"), ("C", "3 4"), ("D", "5"), ("E", "a=b"), 7, ("G", ""), 9, ("H", "6")]
    assert expected == list(read_values("\n".join(lines)))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('"a" # comment', "a"),
        ("'a'\t# it's", "a"),
        ('"a # b" # "c"', "a # b"),
        ("a # comment", "a"),
        (" # comment", ""),
        ("a#b", "a#b"),
        ('""', ""),
        ('"a"b', '"a"b'),
        ("a\f\x85\u2028b", "a\f\x85\u2028b"),
    ],
)
def test_env_file_ends_a_value_at_its_comment(written: str, expected: str) -> None:
    """A comment is behind a blank, and outside of quotes; only line feeds end lines."""
    assert [("A", expected)] == list(read_values(f"A={written}"))


def test_env_file_may_be_a_pipe(tmp_path: Path) -> None:
    """So that a secret need not be in a file: `--env-file <(sops -d prod.env)`."""
    write(tmp_path, {"a.yaml": _JOB})
    reader, writer = os.pipe()
    os.write(writer, b"NAME=train\nPODS=2\nnamespace=research\n")
    os.close(writer)
    try:
        done = run(tmp_path, "a.yaml", "--env-file", f"/dev/fd/{reader}", "-o", "json", "--schemas-only")
    finally:
        os.close(reader)

    assert [] == done.ids


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: "${NAME}", namespace: "{{ namespace }}"}
spec:
  parallelism: ${PODS}
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: "b:1"}]
"""
_GIVEN = ("--set", "NAME=train", "--set", "namespace=research", "--set", "PODS=two")


def test_filled_file_is_checked_as_a_whole(tmp_path: Path) -> None:
    """With all values there is no note, and what the values do is reported as of the file with them."""
    write(tmp_path, {"a.yaml": _JOB, "b/a.yaml": _JOB})
    by_hand = (
        _JOB.replace("${NAME}", "train").replace("{{ namespace }}", "research").replace("${PODS}", "two")
    )
    write(tmp_path, {"c/a.yaml": by_hand})
    found = run(tmp_path / "b", "a.yaml", *_GIVEN, "-o", "json").json["problems"]

    assert run(tmp_path / "c", "a.yaml", "-o", "json").json["problems"] == found
    assert ("SCHEMA003", 5) in {(one["id"], one["line"]) for one in found}
    assert ["FILE030"] == run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids


def test_env_file_fills_in_and_the_command_line_wins(tmp_path: Path) -> None:
    """Names of the file that nothing takes are not reported."""
    write(tmp_path, {"a.yaml": _JOB, ".env": "NAME=x y\nPODS=2\nOTHER=3\nnamespace=research\n"})

    assert ["SCHEMA007"] == run(tmp_path, "a.yaml", "--env-file", ".env", "-o", "json", "--schemas-only").ids
    more = ("--env-file", ".env", "--set", "NAME=train", "-o", "json", "--schemas-only")
    assert [] == run(tmp_path, "a.yaml", *more).ids


def test_what_a_kustomization_builds_is_filled_in(tmp_path: Path) -> None:
    """As Flux substitutes: after the build."""
    files = {
        "a/kustomization.yaml": "resources: [b.yaml, c.yaml]\n",
        "a/c.yaml": CONFIG_MAP,
        "a/b.yaml": _JOB.replace("{{ namespace }}", "c"),
    }
    write(tmp_path, files)
    found = run(
        tmp_path, "a", "--set", "NAME=train", "--set", "PODS=two", "-o", "json", "--schemas-only"
    ).json

    assert [("SCHEMA003", "Job c/train")] == [(one["id"], one["object"]) for one in found["problems"]]


def test_value_may_break_what_a_kustomization_builds(tmp_path: Path) -> None:
    """Then the object is named by what is wrong with its YAML."""
    files = {
        "a/kustomization.yaml": "resources: [b.yaml]\n",
        "a/b.yaml": _JOB.replace("{{ namespace }}", "c"),
    }
    write(tmp_path, files)

    assert "YAML001" in run(tmp_path, "a", "--set", "PODS=[}", "-o", "json", "--schemas-only").ids


def test_value_that_nothing_takes_is_a_warning(tmp_path: Path) -> None:
    """The name may be misspelt."""
    write(tmp_path, {"a.yaml": _JOB})
    found = run(tmp_path, "a.yaml", "--set", "NAM=train", "-o", "json", "--schemas-only").json["problems"]

    assert [("FILE031", "warning", "--set NAM: no file has such a placeholder")] == [
        (one["id"], one["severity"], one["message"]) for one in found if one["id"] != "FILE030"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "NAME"), "--set NAME: write --set NAME=VALUE"),
        (("--set", "=a"), "--set =a: write --set NAME=VALUE"),
        (("--env-file", ".env"), ".env:2: write NAME=VALUE"),
        (("--env-file", "binary"), "binary: FILE002"),
        (("--set", "A=b\nc"), "--set A: the value has a line break"),
        (("--set", "A=b", "--fix"), "--set and --env-file change no file"),
    ],
)
def test_wrong_values_are_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    """The command ends before it reads anything."""
    write(tmp_path, {".env": "A=1\nB\n"})
    (tmp_path / "binary").write_bytes(b"\xff")
    done = run(tmp_path, ".", *arguments)

    assert (2, True) == (done.code, message in done.err)
