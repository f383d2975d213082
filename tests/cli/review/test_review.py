"""`slicewright review`: all checks of a change as Markdown, in which text of files does nothing."""

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt
from tests.conftest import Repo
from tests.diff.kit import commit

from slicewright.cli.main import cli
from slicewright.cli.report.review_comment import COMMENT, Check, markdown

HOSTILE = (
    "~~~\n@org/team ![x](https://evil.test) <script>\n   ~~~~\n</details>"
    "\n::error::x\n##[group]\n`@me`\n\u202e"
)
CHANGED = "clusters: [c1]\ntpu: v5litepod-8\nslices: 2\ncontainer: {image: y}"


def outside_of_code(text: str) -> list[str]:
    """Return what a reader of Markdown obeys: HTML, links and words, as CommonMark reads them."""
    found = []
    for token in MarkdownIt("commonmark").parse(text):
        parts = token.children if token.children is not None else [token]
        found += [
            f"{part.type}: {part.content}".strip()
            for part in parts
            if part.content and "code" not in part.type
        ]
        assert token.type != "code_block"
    return [line for line in found if not line.startswith("fence")]


@pytest.mark.ci
def test_change_is_told_in_words_and_its_objects_are_folded(repo: Repo, tmp_path: Path) -> None:
    """Each check has a line; of a green one the difference is left, and its YAML is folded."""
    repo.workload("a")
    repo.run("render")
    commit(repo)
    repo.workload("a", CHANGED)
    repo.run("render")

    done = repo.run("review", "HEAD", "--report", str(tmp_path / "report"))

    head, _, rest = done.out.partition("**What the change does to the clusters**\n")
    assert re.fullmatch(
        r"### slicewright: all 3 checks passed\n\n"
        r"- ✅ `slicewright render --check --since=HEAD`: `1 workload on 1 cluster: .*`\n"
        r"- ✅ `slicewright validate`: `\d objects?, 0 errors, \d warnings?`\n"
        r"- ✅ `slicewright diff HEAD`\n.*",
        head,
        re.DOTALL,
    )
    words, _, folded = rest.partition("<details><summary>The differences in full</summary>\n")
    assert re.match(
        r"\n~~~diff\ncluster c1\n- default/a-\w{8} ends, 8 chips: .*\n\+ default/a-\w{8} starts, 16", words
    )
    assert "-    replicas: 1\n+    replicas: 2\n" in folded
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "report").iterdir()}
    assert {"comment.md", "summary.md", "render.txt", "validate.txt", "diff.txt"} == files.keys()
    assert (done.out, done.out) == (files["comment.md"], files["summary.md"])


@pytest.mark.ci
@pytest.mark.slow
def test_later_checks_run_after_one_that_fails(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that is not rendered, and an object that is wrong: both are told and annotated."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repo.root.parent))
    repo.workload("a")
    repo.run("render")
    commit(repo)
    repo.workload("a", CHANGED)
    repo.write(
        "custom/a.yaml", "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: x}}\n"
    )

    out = repo.run("review", "-o", "github", code=1).out

    assert "### slicewright: 2 of 3 checks failed\n\n- ❌ `slicewright render --check`\n- ❌ " in out
    assert "the tree is not what a render would make\n  hint: slicewright render, and commit\n" in out
    assert "custom/a.yaml:1:76: SCHEMA003" in out
    assert "1 workload edited and not rendered yet: default/a; slicewright render does this:\n" in out
    assert re.search(
        rf"^::error file={repo.root.name}/custom/a.yaml,line=1,col=76,title=SCHEMA003 Job[^:]*::",
        out,
        re.MULTILINE,
    )
    assert "::error title=slicewright render::slicewright render failed: see the summary" in out


@pytest.mark.ci
@pytest.mark.slow
def test_repository_that_no_command_reads_is_told(repo: Repo) -> None:
    """Wrong usage of each command is the content of the review; its exit code is theirs."""
    commit(repo)
    repo.write("slicewright.yaml", 'requires: "~=99.0"\n')

    out = repo.run("review", code=2).out

    assert "### slicewright: 3 of 3 checks failed\n" in out
    assert 3 == out.count("requires slicewright ~=99.0")


@pytest.mark.slow
def test_check_that_breaks_is_told(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that prints no JSON, or that a signal ends, counts as a broken tool."""
    repo.write("python", "#!/bin/sh\necho half\nkill -9 $$\n")
    (repo.root / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(repo.root / "python"))

    out = repo.run("review", code=3).out

    assert "**The objects**\n\n~~~text\nhalf\n~~~\n" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rehearse", "../x"),
        ("--link", "javascript:x"),
        ("--link", "https://x) @me"),
        ("--report", "slicewright.yaml"),
    ],
)
def test_arguments_that_would_lead_elsewhere_are_refused(repo: Repo, arguments: tuple[str, str]) -> None:
    """A cluster is the name of a file, and a link is written as it is."""
    repo.run("review", *arguments, code=2)


def test_folder_that_cannot_be_made_is_a_problem(repo: Repo) -> None:
    """It is found before a check runs."""
    done = repo.run("review", "--report", "slicewright.yaml/report", code=1)

    assert ("", True) == (
        done.out,
        done.err.startswith("slicewright.yaml/report: FILE003 the report cannot be "),
    )


def test_text_of_files_does_nothing() -> None:
    """No mention, link, HTML or command of a runner arises from a name, a message or a manifest."""
    check = Check("a", f"a {HOSTILE}", 1, "Title", HOSTILE, HOSTILE, HOSTILE, "Fold")

    text = markdown([check], COMMENT, "the report")

    assert [
        "text: slicewright: 1 of 1 checks failed",
        "text: ❌",
        "text: :",
        "text: Title",
        "html_block: <details><summary>Fold</summary>",
        "html_block: </details>",
    ] == outside_of_code(text)
    assert not re.search(r"^\s*::|##\[|\u202e", text, re.MULTILINE)


@pytest.mark.slow
def test_words_of_input_do_nothing(repo: Repo) -> None:
    """The same for a file of a pull request whose values are Markdown."""
    commit(repo)
    repo.write("workloads/@all ~~~.yaml", f"kind: {HOSTILE!r}\n")
    repo.workload("a", "clusters: [c1]\ntpu: '</details>@me'\ncontainer: {image: '![x](y)'}")

    out = repo.run("review", code=1).out

    assert "@me" in out
    assert "@all" in out
    assert not [line for line in outside_of_code(out) if "@" in line or "](" in line or "<script" in line]


@pytest.mark.parametrize("limit", [600, 2_000, COMMENT])
def test_long_text_is_cut_where_a_line_ends(limit: int) -> None:
    """Words before what is folded; what is left out is counted, and Markdown stays whole."""
    lines = [f"line {number} é" for number in range(20_000)]
    checks = [
        Check("a", "a", 0, "A", words="\n".join(lines[:30]), details="\n".join(lines), fold="Fold"),
        Check("b", "b", 0, "B", words="all"),
    ]

    text = markdown(checks, limit, "[the report](https://h)")

    assert limit - 250 < len(text.encode()) <= limit
    kept = [line for line in text.splitlines() if line.startswith("line ")]
    left = sum(
        int(number.replace(",", "")) for number in re.findall(r"^([\d,]+) more lines are", text, re.MULTILINE)
    )
    assert 20_030 == len(kept) + left
    assert "`a.txt` of [the report](https://h).\n" in text
    assert ["html_block: <details><summary>Fold</summary>", "html_block: </details>"] == [
        line for line in outside_of_code(text) if "html" in line
    ]


@pytest.mark.parametrize("link", ["report/validate.txt", "report/rehearsal-c1.html", "report"])
def test_report_does_not_follow_links(repo: Repo, tmp_path: Path, link: str) -> None:
    """A repository may hold a link to any file or folder of the machine."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (repo.root / link).parent.mkdir(exist_ok=True)
    (repo.root / link).symlink_to(kept / "file" if "/" in link else kept)

    done = repo.run("review", "--report", "report", code=1)

    assert ([], True) == (list(kept.iterdir()), f"{link}: FILE004 a link " in done.err)


def test_folder_without_repository_is_told_once(tmp_path: Path) -> None:
    """No check could run there."""
    done = CliRunner().invoke(cli, ["-C", str(tmp_path), "review"])

    assert (2, 1) == (done.exit_code, done.output.count("Error: "))


def test_long_text_leaves_room_for_the_others() -> None:
    """Short texts are whole, long ones share the rest; a text without room has no empty fence."""
    long = "\n".join(f"line {number}" for number in range(20_000))
    checks = [
        Check(name, name, 1, name, words=words) for name, words in (("a", long), ("b", long), ("c", "all"))
    ]

    whole = markdown(checks, COMMENT, "the report")
    small = markdown([*checks, Check("d", "d", 1, "d", words="x" * 5_000)], 2_000, "the report")

    parts = [part.count("\nline ") for part in whole.split("\n**")[1:]]
    assert (0, True, True) == (parts[2], abs(parts[0] - parts[1]) <= 1, parts[0] > 3_000)
    assert "~~~text\nall\n~~~\n" in whole
    assert "**d**\n\n1 more line is in `d.txt` of the report.\n" in small
    assert not re.search(r"~~~text\n\n?~~~", small)


@pytest.mark.ci
@pytest.mark.slow
def test_rehearsals_of_a_change_are_a_check(repo: Repo) -> None:
    """Of a cluster that does not differ a line says so; one that cannot be rehearsed makes it red."""
    repo.workload("a")
    repo.run("render")
    commit(repo)

    done = repo.run("review", "--rehearse-changed")
    assert "- ✅ `slicewright rehearse --changed=HEAD`\n" in done.out
    assert "**What the change does to rehearsals**" in done.out
    assert "c1: nothing that is rehearsed differs from HEAD" in done.out

    done = repo.run("review", "nowhere", "--rehearse-changed", code=2)
    assert "- ❌ `slicewright rehearse --changed=nowhere`" in done.out
    assert "unknown git revision 'nowhere'" in done.out.partition("**What the change does to rehearsals**")[2]
