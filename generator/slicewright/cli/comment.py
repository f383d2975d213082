"""`slicewright comment`: one comment on a pull or merge request, which each run of CI changes."""

import os
import re
from pathlib import Path

import click

from slicewright.cli import forge, show
from slicewright.cli.command import BROKEN, FILE, command
from slicewright.cli.report.review_comment import COMMENT
from slicewright.cli.streams import say
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem, errors

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)


@command(
    "slicewright comment slicewright-review/comment.md", "slicewright comment clusters.md --name clusters"
)
@click.argument("file", type=FILE)
@click.option(
    "--name",
    default="review",
    help="The name of the comment. Several comments on a pull request need different names.",
)
def comment(file: Path, name: str, output: str) -> None:
    """Write a comment on the pull request of a CI job.

    A later run updates the comment. In GitHub Actions the job needs GITHUB_TOKEN with the permission
    `pull-requests: write`: the token of the job, of a GitHub App, or of a person. In GitLab CI it needs
    GITLAB_TOKEN. A run updates only a comment of the owner of its token; otherwise it writes a new one.
    Without a pull request, or for a fork, the command writes no comment and warns.
    """
    if not _NAME.fullmatch(name):
        raise click.BadParameter(f"'{name}' has other characters than letters, digits, '.', '_' and '-'")
    text = read_file(file, str(file))
    if isinstance(text, Problem):
        show.stop((text,))
    if len(text.encode()) > COMMENT:
        message = f"{file} is longer than {COMMENT:,} bytes; slicewright review writes a shorter one"
        raise click.BadParameter(message)
    address, problem = forge.write(name, text, os.environ)
    if problem and errors([problem]):
        show.stop((problem,), BROKEN)
    if output == "text" and address:
        say(f"comment written: {address}")
    problems = [problem] if problem else []
    show.finish({"comment": address}, problems, output)
