"""`slicewright review`: all checks of a change, as the comment that a pull request gets."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import chain
from pathlib import Path

import click
from msgspec.structs import replace

from slicewright.cli import show
from slicewright.cli.checkout import repository_root
from slicewright.cli.command import BROKEN, cluster_option, command, output_option
from slicewright.cli.report.plain import annotation, line
from slicewright.cli.report.review_comment import COMMENT, SUMMARY, Check, code, markdown
from slicewright.cli.streams import exact, say
from slicewright.kubernetes.problem import (
    SEVERITIES,
    Problem,
    counted,
    errors,
    foremost,
    from_record,
    tallied,
)
from slicewright.rendering.io.write import apply

_CLUSTER = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_TABLE = re.compile(r"(?!verdict\n)[a-z -]+\n  ")
"""A table of `rehearse`, below its title."""
_LINK = re.compile(r"https?://[\w./:%?=&@+-]+", re.ASCII)


def _clusters(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not _CLUSTER.fullmatch(name):
            raise click.BadParameter(f"'{name}' is not a valid cluster name")
    return names


def _link(_context: click.Context, _option: click.Parameter, link: str) -> str:
    if link and not _LINK.fullmatch(link):
        raise click.BadParameter(f"'{link}' is not an address that begins with https://")
    return link


@command(
    "slicewright review main",
    "slicewright review HEAD^1 --report slicewright-review -o github",
    output=output_option(("text", "github"), "review"),
)
@click.argument("rev", default="")
@cluster_option(
    "--rehearse", multiple=True, callback=_clusters, help="Rehearse this cluster too. Repeatable."
)
@click.option(
    "--rehearse-changed", is_flag=True, help="Rehearse the clusters that differ from REV, before and after."
)
@click.option(
    "--report",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write comment.md, summary.md, a text for each check, and a page for each rehearsal.",
)
@click.option(
    "--link",
    metavar="URL",
    default="",
    callback=_link,
    help="The address of the files of --report, for readers of the comment.",
)
def review(
    rev: str,
    rehearse: tuple[str, ...],
    rehearse_changed: bool,
    report: Path | None,
    link: str,
    output: str,
) -> None:
    """Run all checks of a change, and print one Markdown text.

    The checks are render --check, validate, diff, and the rehearsals that you name. All of them run, even if
    one fails. REV is the commit before the change, as in diff. The exit code is the highest exit code of the
    checks.

    comment.md is short enough for a comment on a pull request, and `slicewright comment` writes it there.
    With -o github each problem is printed as an annotation too.
    """
    repository_root()
    if report:
        _write(report, {})
    problems: list[Problem] = []
    checks = [_render(rev), _validate(problems), _diff(rev), *(_rehearse(name, report) for name in rehearse)]
    if rehearse_changed:
        checks.append(_rehearse_changed(rev, report))
    place = code(str(report)) if report else "the whole report: --report DIR"
    whole = f"[the report]({link})" if link else place
    summary = markdown(checks, SUMMARY, whole)
    exact(summary)
    if output == "github":
        problems += [_failure(check, problems) for check in checks if check.code]
        exact("".join(f"{annotation(_in_checkout(problem))}\n" for problem in foremost(problems)[0]))
    if report:
        texts = {f"{check.name}.txt": check.text for check in checks}
        _write(report, {"comment.md": markdown(checks, COMMENT, whole), "summary.md": summary, **texts})
    sys.exit(max(check.code for check in checks))


def _failure(check: Check, problems: list[Problem]) -> Problem:
    """Return the annotation of a failed check; `validate` also has one for each problem."""
    name = check.command.split(" ")[1]
    number = len(errors(problems)) if name == "validate" else 0
    verdict = f"found {counted(number, 'error')}" if number else "failed"
    return Problem(f"slicewright {check.name}", f"slicewright {name} {verdict}: see the summary")


def _write(folder: Path, texts: dict[str, str]) -> None:
    # What is committed may be a link. Above a folder with a whole path, links are the machine's own.
    above = () if folder.is_absolute() else folder.parents
    links = [str(path) for path in (*above, folder, *folder.glob("*")) if path.is_symlink()]
    if links:
        hint = "name a folder that neither is a link nor holds one"
        show.stop((Problem("FILE004", "a link is where the report belongs", hint, file=links[0]),))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "name another folder, or check permissions"
        message = f"the report cannot be written: {error.strerror}"
        show.stop((Problem("FILE003", message, hint, file=str(folder)),))
    problems = apply(folder, texts, ())
    if problems:
        show.stop(replace(problem, file=str(folder / problem.file)) for problem in problems)


def _run(*arguments: str) -> tuple[str, int, str, str]:
    """Run a command of slicewright; return its command line, exit code, stdout and stderr."""
    shown = shlex.join(["slicewright", *arguments])
    say(shown, err=True)
    done = subprocess.run(
        # Not the current folder, but the installed package says what slicewright is.
        [sys.executable, "-P", "-m", "slicewright", *arguments],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
        env={**os.environ, "NO_COLOR": "1"},
    )
    ended = done.returncode if done.returncode >= 0 else BROKEN  # by a signal
    return shown, ended, done.stdout.rstrip("\n"), done.stderr.rstrip("\n")


def _render(rev: str) -> Check:
    command, ended, stdout, stderr = _run("render", "--check", *([f"--since={rev}"] if rev else []))
    last, details = ("", stdout) if ended else (stdout.rpartition("\n")[2], "")
    title, fold = "The rendered tree", "What a render changes"
    return Check("render", command, ended, title, last, stderr, details, fold)


def _validate(problems: list[Problem]) -> Check:
    """Run `validate`, and add what it finds to the problems."""
    command, ended, stdout, stderr = _run("validate", "-o", "json")
    command, title = command.removesuffix(" -o json"), "The objects"
    try:
        report = json.loads(stdout)
    except ValueError:
        return Check("validate", command, ended or BROKEN, title, words=f"{stdout}\n{stderr}".strip())
    findings = [from_record(record) for record in report["problems"]]
    problems += findings
    objects = counted(report.get("summary", {}).get("objects", 0), "object")
    words, *others = (
        [line(problem) for problem in findings if problem.severity == severity] for severity in SEVERITIES
    )
    details, fold = "\n".join(chain(*others)), "Warnings and notes" if others[-1] else "Warnings"
    result = f"{objects}, {tallied(findings)}"
    return Check("validate", command, ended, title, result, "\n".join(words), details, fold)


def _in_checkout(problem: Problem) -> Problem:
    """Return a problem with its file as GitHub names it: from the top of the checkout, not of this folder."""
    top = os.environ.get("GITHUB_WORKSPACE", ".")
    return replace(problem, file=problem.file and os.path.relpath(problem.file, top))


def _diff(rev: str) -> Check:
    command, ended, stdout, stderr = _run("diff", *(["--", rev] if rev else []))
    command = command.replace(" -- ", " ")
    parts = stdout.split("\n\n")
    words = [re.sub("^  ", "", part, flags=re.MULTILINE) for part in parts if not part.startswith("--- ")]
    differences = [part for part in parts if part.startswith("--- ")]
    read_first = "\n\n".join(filter(None, (stderr, *words)))
    title, fold = "What the change does to the clusters", "The differences in full"
    return Check("diff", command, ended, title, "", read_first, "\n\n".join(differences), fold)


def _rehearse_changed(rev: str, report: Path | None) -> Check:
    page = [f"--html={report / 'rehearsal-changed.html'}"] if report else []
    changed = f"--changed={rev or 'HEAD'}"
    _, ended, stdout, stderr = _run("rehearse", changed, *page)
    parts = stdout.split("\n\n")
    tables = [part for part in parts if _TABLE.match(part)]
    words = [part for part in parts if part not in tables]
    words += [stderr] if ended > 1 else []
    command = shlex.join(["slicewright", "rehearse", changed])
    read_first, details = "\n\n".join(filter(None, words)), "\n\n".join(tables)
    title = "What the change does to rehearsals"
    return Check("rehearsal-changed", command, ended, title, "", read_first, details, "Tables")


def _rehearse(name: str, report: Path | None) -> Check:
    page = [f"--html={report / f'rehearsal-{name}.html'}"] if report else []
    _, ended, stdout, stderr = _run("rehearse", name, *page)
    verdict, _, timeline = stdout.partition("\n")
    progress = (f"{name}: ", "timeline: ", "logs: ")
    problems = "\n".join(each for each in stderr.splitlines() if not each.startswith(progress))
    title, command = f"The rehearsal of {code(name)}", f"slicewright rehearse {name}"
    timeline = timeline.strip("\n")
    return Check(f"rehearsal-{name}", command, ended, title, verdict, problems, timeline, "Timeline")
