"""The action of this repository, as a runner runs it: on pull requests that are green, red and of a fork."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from tests.cli.review.runner import Job, job
from tests.cli.review.service import TOKEN, Service, event
from tests.conftest import PROJECT
from tests.files import git
from tests.project.init.kit import init
from tests.project.init.linter import actionlint

from slicewright.cli.main import cli

BIN = Path(sys.executable).parent
WORKFLOWS = sorted((PROJECT / ".github/workflows").glob("*.yaml"))
TEMPLATE = PROJECT / "generator/slicewright/project/template/github.yaml"
ACTION = PROJECT / "action.yml"
CHANGE = ("  queueName: team\n", "  slices: 2\n  queueName: team\n")
RED = {"Review": "failure", "Summary": "success", "Keep the report": "success", "Comment": "success"}
GREEN = {**RED, "Review": "success"}


def slicewright(root: Path, *arguments: str) -> None:
    """Run a command that must pass."""
    done = CliRunner().invoke(cli, ["-C", str(root), *arguments], prog_name="slicewright")
    assert 0 == done.exit_code, done.output


def edit(root: Path, *, render: bool) -> None:
    """Change the sample workload on a branch, and merge it as GitHub does for its jobs."""
    git(root, "checkout", "--quiet", "-b", "change")
    path = root / "workloads/hello.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(*CHANGE), encoding="utf-8")
    if render:
        slicewright(root, "render")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "change")
    git(root, "checkout", "--quiet", "main")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "goes on")
    git(root, "merge", "--quiet", "--no-ff", "--no-edit", "change")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of init, rendered and committed."""
    root = tmp_path_factory.mktemp("start") / "training"
    init(str(root))
    slicewright(root, "render")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "init")
    return root


def pull_request(tmp_path: Path, start: Path, api: Service, *, render: bool = True, head: str = "o/r") -> Job:
    """Return the job of a pull request that edits the sample workload."""
    workspace = tmp_path / "workspace"
    git(tmp_path, "clone", "--quiet", str(start), str(workspace))
    edit(workspace, render=render)
    (tmp_path / "event.json").write_text(json.dumps(event(head=head)), encoding="utf-8")
    made = job(tmp_path, workspace, variables(api) | {"GITHUB_EVENT_PATH": str(tmp_path / "event.json")})
    (made.temp / "slicewright").symlink_to(BIN.parent)
    return made


def variables(api: Service) -> dict[str, str]:
    """Return what a runner says of a job; TOKEN is what `github.token` is."""
    return {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_RUN_ID": "5",
        "GITHUB_SERVER_URL": "https://github.test",
        "GITHUB_API_URL": api.address,
        "TOKEN": TOKEN,
    }


@pytest.mark.ci
def test_green_pull_request_gets_a_summary_a_comment_and_a_report(
    tmp_path: Path, start: Path, api: Service
) -> None:
    """What the change does, compared with the first parent of the merge commit; the page shows it."""
    made = pull_request(tmp_path, start, api)

    made.uses(PROJECT, {}, skip="Install slicewright")

    assert GREEN == made.outcomes, made.log
    (comment,) = api.bodies()
    head, summary = comment.partition("\n")[::2]
    assert "<!-- slicewright: slicewright-review -->" == head
    assert summary == made.summary.read_text(encoding="utf-8")
    assert summary.startswith("### slicewright: all 3 checks passed\n")
    assert re.search(
        r"^\+ default/hello-\w{8} starts, 16 chips: takes the place of JobSet hello-", summary, re.MULTILINE
    )
    page = (PROJECT / "docs/how-to/github.md").read_text(encoding="utf-8")
    assert page.partition("````md\n")[2].partition("````")[0] == summary.partition("\n<details>")[0]
    files = ["comment.md", "diff.txt", "render.txt", "summary.md", "validate.txt"]
    assert {"slicewright-review": files} == made.artifacts
    assert made.outputs["report"].startswith(f"{made.temp}/review-")


@pytest.mark.workflow
def test_red_pull_request_gets_them_too(tmp_path: Path, start: Path, api: Service) -> None:
    """The job fails at its end; the comment says why, and a push that corrects it changes the comment."""
    made = pull_request(tmp_path, start, api, render=False)
    made.uses(PROJECT, {"name": "clusters"}, skip="Install slicewright")

    assert RED == made.outcomes, made.log
    assert not made.is_green
    (comment,) = api.bodies()
    assert comment.startswith("<!-- slicewright: clusters -->\n### slicewright: 1 of 3 checks failed\n")
    assert "the tree is not what a render would make\n" in comment
    assert "::error title=slicewright render::slicewright render failed: see the summary" in made.log
    assert comment.partition("\n")[2] == made.summary.read_text(encoding="utf-8")

    slicewright(made.workspace, "render")
    made.outcomes.clear()
    made.environ["TOKEN"] = TOKEN
    made.uses(PROJECT, {"name": "clusters", "since": "HEAD^1"}, skip="Install slicewright")
    assert GREEN == made.outcomes, made.log
    assert ["### slicewright: all 3 checks passed"] == [body.split("\n")[1] for body in api.bodies()]


@pytest.mark.workflow
def test_fork_gets_the_summary_alone(tmp_path: Path, start: Path, api: Service) -> None:
    """Its token may only read: the service is not asked, a warning says so, and the check counts."""
    made = pull_request(tmp_path, start, api, head="stranger/r")

    made.uses(PROJECT, {}, skip="Install slicewright")

    assert (GREEN, []) == (made.outcomes, api.asked)
    assert "FORGE001 no comment is written: the pull request comes from a fork" in made.log
    assert made.summary.read_text(encoding="utf-8").startswith("### slicewright: all 3 checks passed\n")


@pytest.mark.ci
@pytest.mark.slow
def test_push_has_the_checks_alone(tmp_path: Path, start: Path, api: Service) -> None:
    """On the default branch, with `comment: false`: nothing is compared, and nothing is written."""
    made = pull_request(tmp_path, start, api)
    made.environ["GITHUB_EVENT_NAME"] = "push"

    made.uses(PROJECT, {"comment": "false"}, skip="Install slicewright")

    assert ({**GREEN, "Comment": "skipped"}, []) == (made.outcomes, api.asked)
    assert "nothing differs for any cluster" in made.summary.read_text(encoding="utf-8")


@pytest.mark.workflow
def test_inputs_are_words(tmp_path: Path, start: Path, api: Service) -> None:
    """An input that looks like a command, an option or a path is refused by the command that gets it."""
    made = pull_request(tmp_path, start, api)
    hostile = f"$(touch {tmp_path}/a)"

    for inputs in (
        {"since": hostile},
        {"rehearse": hostile},
        {"since": "--end-runs"},
        {"rehearse": "../../x"},
    ):
        made.outcomes.clear()
        made.uses(PROJECT, {**inputs, "comment": "false"}, skip="Install slicewright")
        assert "failure" == made.outcomes["Review"]
    assert not (tmp_path / "a").exists()


@pytest.mark.workflow
@pytest.mark.slow
def test_action_installs_its_own_commit(tmp_path: Path, start: Path, api: Service) -> None:
    """With dependencies pinned by their hashes, and no module of the pull request in the way."""
    made = pull_request(tmp_path, start, api)
    (made.temp / "slicewright").unlink()
    for name in ("venv", "pip", "slicewright"):
        (made.workspace / f"{name}.py").write_text("raise SystemExit(9)\n", encoding="utf-8")

    made.uses(PROJECT, {"python": sys.executable})

    assert {"Install slicewright": "success", **GREEN} == made.outcomes, made.log
    found = json.loads(
        subprocess.run(
            [made.temp / "slicewright/bin/pip", "list", "--format=json"], check=True, capture_output=True
        ).stdout
    )
    pins = (PROJECT / "requirements/run.txt").read_text(encoding="utf-8")
    assert {"pip", "setuptools", "slicewright"} >= {
        one["name"]
        for one in found
        if f"{one['name'].lower().replace('_', '-')}=={one['version']}" not in pins
    }


@pytest.mark.ci
@pytest.mark.tools
@pytest.mark.slow
def test_action_workflows_and_image_pass_their_linters() -> None:
    """With shellcheck for scripts, zizmor for what is unsafe, GitHub's schema, and hadolint."""
    shell: list[str | Path] = ["-no-color", "-shellcheck", BIN / "shellcheck", "-pyflakes", ""]
    safe = ["--offline", "--quiet", "--no-progress", "--no-config", "--min-severity=medium"]
    commands: tuple[list[str | Path], ...] = (
        [actionlint(), *shell, *WORKFLOWS],
        [BIN / "zizmor", *safe, ACTION, TEMPLATE, *WORKFLOWS],
        [BIN / "check-jsonschema", "--quiet", "--builtin-schema", "vendor.github-actions", ACTION],
        [BIN / "hadolint", "--failure-threshold=info", "Containerfile"],
    )
    for command in commands:
        done = subprocess.run(command, cwd=PROJECT, check=False, capture_output=True, text=True)
        assert 0 == done.returncode, done.stdout + done.stderr


def scripts(path: Path) -> Iterator[str]:
    """Yield the shell scripts of an action or a workflow."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    jobs = content["jobs"].values() if "jobs" in content else [content["runs"]]
    yield from (step["run"] for one in jobs for step in one["steps"] if "run" in step)


@pytest.mark.slow
@pytest.mark.parametrize("path", [ACTION, TEMPLATE, *WORKFLOWS], ids=lambda path: path.name)
def test_scripts_hold_no_expression_and_actions_are_pinned(path: Path) -> None:
    """Text of a pull request comes as a variable, and code of others by the hash of its commit."""
    text = path.read_text(encoding="utf-8")
    uses = re.findall(r"uses: (.*)", text)

    assert not [script for script in scripts(path) if "${{" in script]
    assert [use for use in uses if use == "./" or re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", use)] == uses


def test_action_and_template_have_the_same_steps() -> None:
    """What `init` writes runs the commands of the action by its Makefile."""
    makefile = TEMPLATE.with_name("Makefile").read_text(encoding="utf-8")
    called = [name for script in scripts(ACTION) for name in re.findall(r"\b(review|comment) --?\w", script)]

    assert ["review", "comment"] == called
    for name in called:
        assert f"$(SLICEWRIGHT) {name} " in makefile
        assert f"make {name}" in TEMPLATE.read_text(encoding="utf-8")
    names = [step["name"] for step in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]]
    assert names[1:] == re.findall(r"- name: (.*)", TEMPLATE.read_text(encoding="utf-8"))
