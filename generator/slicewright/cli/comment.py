"""`slicewright comment`: one comment on a pull or merge request, which each run of CI changes."""

import contextlib
import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from slicewright.cli import show
from slicewright.cli.command import BROKEN, FILE, command
from slicewright.cli.report.review_comment import COMMENT
from slicewright.cli.streams import say
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem, errors

_SECONDS = 30
"""The longest that a service may take for an answer."""
_PAGE, _PAGES = 100, 50


@dataclass(frozen=True, slots=True)
class Conversation:
    """The comments on one pull or merge request."""

    comments: str
    """Address of their list."""
    comment: str
    """Address of one, without its id."""
    method: str
    """How a comment is changed."""
    headers: Mapping[str, str] = field(repr=False)
    author: tuple[str, object]
    """A field of the author of our comments, and its value."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that a token is sent to one address only."""

    def redirect_request(self, *_arguments: Any) -> None:
        """Follow no redirect; it is an error of the service then."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def write(name: str, text: str, environ: Mapping[str, str]) -> tuple[str, Problem | None]:
    """Write the comment of a name, or change it if it exists; return its address, or why there is none."""
    marker = f"<!-- slicewright: {name} -->\n"
    try:
        conversation = _conversation(environ)
        if isinstance(conversation, Problem):
            return "", conversation
        return _publish(conversation, marker, text), None
    except urllib.error.HTTPError as error:
        message = _message(error)
        if error.code == http.HTTPStatus.FORBIDDEN:
            hint = "see the permissions in how-to/github"
            return "", _left_out(f"the token may not write comments{message}", hint)
        return "", _failed(f"the service answered {error.code} {error.reason}{message}")
    except (OSError, http.client.HTTPException, KeyError, TypeError, ValueError) as error:
        return "", _failed(f"{type(error).__name__}: {error}")


def _publish(conversation: Conversation, marker: str, text: str) -> str:
    """Write our comment, delete what other runs wrote beside it, and return its address."""
    ident, *others = _existing(conversation, marker) or [0]
    address = f"{conversation.comment}/{ident}" if ident else conversation.comments
    method = conversation.method if ident else "POST"
    comment = _mapping(_send(conversation.headers, address, method, {"body": marker + text}))
    for other in others:
        with contextlib.suppress(urllib.error.HTTPError):  # another run deletes it too
            _send(conversation.headers, f"{conversation.comment}/{other}", "DELETE")
    return str(comment.get("html_url") or f"note {comment['id']}")


def _conversation(environ: Mapping[str, str]) -> Conversation | Problem:
    """Return the comments that a job may write. Raises OSError, KeyError, TypeError, ValueError."""
    if environ.get("GITHUB_ACTIONS"):
        return _github(environ)
    if environ.get("GITLAB_CI"):
        return _gitlab(environ)
    return _left_out(
        "this is not a job of GitHub Actions or GitLab CI", "run it in a job; the file is the comment"
    )


def _github(environ: Mapping[str, str]) -> Conversation | Problem:
    event = _mapping(json.loads(Path(environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8")))
    request = event.get("pull_request")
    if not request:
        return _left_out("this job is not about a pull request", "let the workflow run on pull_request")
    repository = environ["GITHUB_REPOSITORY"]
    if _mapping(request["head"]["repo"] or {}).get("full_name") != repository:
        return _left_out(
            "the pull request comes from a fork, and its jobs may only read", "read the summary of the job"
        )
    token = _token(environ, "GITHUB_TOKEN", "pass it to this step: GITHUB_TOKEN: ${{ github.token }}")
    if isinstance(token, Problem):
        return token
    api = environ.get("GITHUB_API_URL", "https://api.github.com")
    issues = f"{api}/repos/{repository}/issues"
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    comments = f"{issues}/{int(request['number'])}/comments"
    # GET /user answers the token of a person alone; this answers that of a job or an App too.
    query = {"query": "{ viewer { login } }"}
    viewer = _send(headers, f"{api.removesuffix('/v3')}/graphql", "POST", query)["data"]["viewer"]
    return Conversation(comments, f"{issues}/comments", "PATCH", headers, ("login", viewer["login"]))


def _gitlab(environ: Mapping[str, str]) -> Conversation | Problem:
    number = environ.get("CI_MERGE_REQUEST_IID")
    if not number:
        return _left_out("this job is not about a merge request", "let the job run on merge_request_event")
    hint = "create a project access token with scope api, and store it as a masked variable of this name"
    token = _token(environ, "GITLAB_TOKEN", hint)
    if isinstance(token, Problem):
        return token
    api, headers = environ["CI_API_V4_URL"], {"PRIVATE-TOKEN": token}
    notes = f"{api}/projects/{int(environ['CI_PROJECT_ID'])}/merge_requests/{int(number)}/notes"
    return Conversation(notes, notes, "PUT", headers, ("id", _send(headers, f"{api}/user")["id"]))


def _token(environ: Mapping[str, str], name: str, hint: str) -> str | Problem:
    """Return a token for a header, which a message never shows."""
    token = environ.get(name, "").strip()
    if not token:
        return _left_out(f"{name} is not set", hint)
    if not (token.isascii() and token.isprintable()):
        return _failed(f"{name} contains a character that no token has")
    return token


def _existing(conversation: Conversation, marker: str) -> list[int]:
    """Return the ids of our comments with a marker, the oldest first; two runs at once may have written two.

    Anybody can write a comment with the marker, and change it later: only ours counts.
    """
    key, ours = conversation.author
    idents = []
    for comment in map(_mapping, _pages(conversation)):
        author = _mapping(comment.get("user") or comment.get("author") or {})
        body = str(comment["body"] or "").replace("\r\n", "\n")
        if author.get(key) == ours and body.startswith(marker):
            idents.append(int(comment["id"]))
    return sorted(idents)


def _pages(conversation: Conversation) -> Iterator[Any]:
    for number in range(1, _PAGES + 1):
        address = f"{conversation.comments}?per_page={_PAGE}&page={number}"
        page = _send(conversation.headers, address)
        if not isinstance(page, list):
            raise TypeError("the service answered with something else than a list of comments")
        yield from page
        if len(page) < _PAGE:
            return


def _send(headers: Mapping[str, str], address: str, method: str = "GET", body: object = None) -> Any:
    if not address.startswith(("https://", "http://")):
        raise ValueError(f"'{address}' is not the address of a service")
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json", "User-Agent": "slicewright"}
    request = urllib.request.Request(address, data, {**headers, **kind}, method=method)  # noqa: S310 - see above
    with _OPENER.open(request, timeout=_SECONDS) as answer:
        return json.loads(answer.read() or "null")  # nothing follows DELETE


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {type(value).__name__}")
    return value


def _message(error: urllib.error.HTTPError) -> str:
    """Return what the service says of an error, to follow our own words."""
    try:
        with error:
            message = _mapping(json.loads(error.read())).get("message")
    except (OSError, http.client.HTTPException, TypeError, ValueError):
        return ""
    return f": {message}" if message else ""


def _left_out(message: str, hint: str) -> Problem:
    return Problem("FORGE001", f"no comment is written: {message}", hint, severity="warning")


def _failed(why: str) -> Problem:
    return Problem(
        "FORGE002", f"the comment cannot be written: {why}", "run the job again, or look at the service"
    )


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
    address, problem = write(name, text, os.environ)
    if problem and errors([problem]):
        show.stop((problem,), BROKEN)
    if output == "text" and address:
        say(f"comment written: {address}")
    problems = [problem] if problem else []
    show.finish({"comment": address}, problems, output)
