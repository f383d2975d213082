"""`slicewright comment`: one comment on a pull request, changed by each run, and none where a job may not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cli.review.service import BOT, TOKEN, Service, event

from slicewright.cli.main import cli

MARKER = "<!-- slicewright: review -->\n"
COMMENTS = "/repos/o/r/issues/7/comments"
GITLAB = {"GITLAB_CI": "true", "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "7", "GITLAB_TOKEN": TOKEN}


def comment(folder: Path, text: str, environ: dict[str, str], *more: str) -> Result:
    """Run the command on a text."""
    (folder / "comment.md").write_text(text, encoding="utf-8")
    usual = dict.fromkeys(("GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_TOKEN", "GITLAB_TOKEN"))
    arguments = ["comment", str(folder / "comment.md"), *more]
    return CliRunner().invoke(cli, arguments, env={**usual, **environ}, catch_exceptions=False)


def github(folder: Path, api: Service, about: dict[str, Any]) -> dict[str, str]:
    """Return the variables of a job of GitHub Actions."""
    (folder / "event.json").write_text(json.dumps(about), encoding="utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_API_URL": api.address,
        "GITHUB_TOKEN": TOKEN,
    }


def test_second_run_changes_the_comment_of_the_first(tmp_path: Path, api: Service) -> None:
    """On GitHub: written, then found again by its marker and changed."""
    environ = github(tmp_path, api, event())

    first, second = (comment(tmp_path, text, environ) for text in ("one", "two"))

    assert ("comment written: https://h/1\n",) * 2 == (first.stdout, second.stdout)
    assert [f"{MARKER}two"] == api.bodies()
    look = f"GET {COMMENTS}?per_page=100&page=1"
    who = "POST /graphql"
    assert [who, look, f"POST {COMMENTS}", who, look, "PATCH /repos/o/r/issues/comments/1"] == api.asked


def test_merge_request_of_gitlab_gets_a_note(tmp_path: Path, api: Service) -> None:
    """The same, by the notes of GitLab's API."""
    for text in ("one", "two"):
        assert 0 == comment(tmp_path, text, {**GITLAB, "CI_API_V4_URL": api.address}).exit_code

    assert [f"{MARKER}two"] == api.bodies()
    assert "PUT /projects/3/merge_requests/7/notes/1" == api.asked[-1]


def test_comment_of_another_author_is_not_changed(tmp_path: Path, api: Service) -> None:
    """Whoever copies the marker could change what we wrote afterwards."""
    stranger = {"id": 1, "user": {"login": "stranger"}, "body": f"{MARKER}mine"}
    api.comments = {1: stranger}

    comment(tmp_path, "ours", github(tmp_path, api, event()))

    assert [f"{MARKER}mine", f"{MARKER}ours"] == api.bodies()


def test_comment_is_found_behind_a_hundred_others(tmp_path: Path, api: Service) -> None:
    """The list has pages; a service may end lines in its own way."""
    api.comments = {number: {"id": number, "user": BOT, "body": "other"} for number in range(1, 151)}
    api.comments[130]["body"] = MARKER.replace("\n", "\r\n") + "old"

    comment(tmp_path, "new", github(tmp_path, api, event()))

    assert (150, f"{MARKER}new") == (len(api.comments), api.comments[130]["body"])


def test_names_keep_comments_apart(tmp_path: Path, api: Service) -> None:
    """Two jobs of one pull request have a comment each; a name cannot end the marker."""
    environ = github(tmp_path, api, event())

    codes = [comment(tmp_path, "x", environ, "--name", name).exit_code for name in ("a", "b", "a", "x-->")]

    assert [0, 0, 0, 2] == codes
    assert ["<!-- slicewright: a -->\nx", "<!-- slicewright: b -->\nx"] == api.bodies()


@pytest.mark.parametrize(
    ("about", "less", "why"),
    [
        (event(head="stranger/r"), "", "the pull request comes from a fork, and its jobs may only read"),
        (event(head=None), "", "the pull request comes from a fork, and its jobs may only read"),
        ({"ref": "refs/heads/main"}, "", "this job is not about a pull request"),
        (event(), "GITHUB_TOKEN", "GITHUB_TOKEN is not set"),
        (event(), "GITHUB_ACTIONS", "this is not a job of GitHub Actions or GitLab CI"),
    ],
)
def test_job_that_may_not_write_warns_and_passes(
    tmp_path: Path, api: Service, about: dict[str, Any], less: str, why: str
) -> None:
    """Nothing is asked of the service then."""
    environ = {name: value for name, value in github(tmp_path, api, about).items() if name != less}

    done = comment(tmp_path, "x", environ)

    assert (0, "", []) == (done.exit_code, done.stdout, api.asked)
    assert done.stderr.startswith(f"warning: FORGE001 no comment is written: {why}\n")


@pytest.mark.parametrize("less", ["CI_MERGE_REQUEST_IID", "GITLAB_TOKEN"])
def test_job_of_gitlab_without_request_or_token_warns_and_passes(tmp_path: Path, less: str) -> None:
    """A pipeline of a branch, and a project that stores no token."""
    done = comment(tmp_path, "x", {name: value for name, value in GITLAB.items() if name != less})

    assert (0, "warning: FORGE001") == (done.exit_code, done.stderr[:17])


def test_token_that_may_only_read_is_a_warning(tmp_path: Path, api: Service) -> None:
    """A workflow without `pull-requests: write`, or a pull request of Dependabot."""
    api.status = 403

    done = comment(tmp_path, "x", github(tmp_path, api, event()))

    assert (0, True) == (done.exit_code, "FORGE001 no comment is written: the token may not" in done.stderr)


@pytest.mark.parametrize("status", [302, 401, 500])
def test_other_answers_of_the_service_are_errors(tmp_path: Path, api: Service, status: int) -> None:
    """Exit 3: a redirect is not followed, for the token would go along."""
    api.status = status

    done = comment(tmp_path, "x", github(tmp_path, api, event()))

    assert 3 == done.exit_code
    assert f"FORGE002 the comment cannot be written: the service answered {status} " in done.stderr
    assert ["POST /graphql"] == api.asked


@pytest.mark.parametrize(
    "wrong",
    [
        {"GITHUB_EVENT_PATH": "/nowhere"},
        {"GITHUB_API_URL": "file:///etc"},
        {"GITHUB_API_URL": "http://127.0.0.1:9"},
        {"GITHUB_API_URL": "http://a b"},
    ],
)
def test_service_out_of_reach_is_an_error(tmp_path: Path, api: Service, wrong: dict[str, str]) -> None:
    """So is a job without its event, and an address of no service."""
    done = comment(tmp_path, "x", {**github(tmp_path, api, event()), **wrong})

    assert (3, True) == (done.exit_code, "FORGE002" in done.stderr)


def test_file_that_no_service_takes_is_refused(tmp_path: Path) -> None:
    """The comment that `review` writes is always short enough."""
    done = comment(tmp_path, "x" * 65_001, {})

    assert (2, True) == (done.exit_code, "is longer than 65,000 bytes" in done.stderr)


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GITLAB_TOKEN"])
def test_token_is_never_printed(tmp_path: Path, api: Service, name: str) -> None:
    """A line end around it is taken away; one inside it is refused."""
    job = (
        github(tmp_path, api, event()) if name == "GITHUB_TOKEN" else {**GITLAB, "CI_API_V4_URL": api.address}
    )

    ended, broken = (
        comment(tmp_path, "x", {**job, name: token}) for token in (f"{TOKEN}\n", "secret\ntoken")
    )

    assert (0, 3) == (ended.exit_code, broken.exit_code)
    assert f"FORGE002 the comment cannot be written: {name} contains a character" in broken.stderr
    assert "secret" not in broken.output


@pytest.mark.parametrize("raw", [b"HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\n1", b"garbage\r\n\r\n"])
def test_answer_that_is_broken_is_an_error(tmp_path: Path, api: Service, raw: bytes) -> None:
    """One that ends early, and one that is not HTTP."""
    api.raw = raw

    done = comment(tmp_path, "x", github(tmp_path, api, event()))

    assert (3, True) == (done.exit_code, "FORGE002" in done.stderr)


def test_answer_or_event_of_another_shape_is_an_error(tmp_path: Path, api: Service) -> None:
    """A comment that is text, and an event that is a list; a comment without text is not ours."""
    api.comments = {1: "text"}  # type: ignore[dict-item]
    codes = [comment(tmp_path, "x", github(tmp_path, api, event())).exit_code]
    codes.append(comment(tmp_path, "x", github(tmp_path, api, [])).exit_code)  # type: ignore[arg-type]
    api.comments = {1: {"id": 1, "user": BOT, "body": None}}
    codes.append(comment(tmp_path, "x", github(tmp_path, api, event())).exit_code)

    assert [3, 3, 0] == codes


def test_comment_of_an_app_is_found_again(tmp_path: Path, api: Service) -> None:
    """The service says who the token is; of two comments of ours the oldest is changed, the other deleted."""
    api.viewer = {"id": 5, "login": "app[bot]"}
    api.comments = {number: {"id": number, "user": api.viewer, "body": MARKER} for number in (1, 2)}

    comment(tmp_path, "new", github(tmp_path, api, event()))

    assert [f"{MARKER}new"] == api.bodies()


def test_pipe_is_refused(tmp_path: Path) -> None:
    """To read it would wait for a writer."""
    os.mkfifo(tmp_path / "pipe")

    done = CliRunner().invoke(cli, ["comment", str(tmp_path / "pipe")])

    assert (1, True) == (done.exit_code, "is not a regular file" in done.stderr)
