"""`render --check` composes each run that is new since a commit: a pull request cannot smuggle one in."""

import shutil
from textwrap import dedent

import pytest
from tests.conftest import JOB, Repo
from tests.diff.kit import commit
from tests.files import git
from tests.words import places

from slicewright.rendering import header

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

BINDING = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mine, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default}]
"""

NOT_CHECKED = "warning: RUN009 new runs are not checked for edits by hand"


def forge(repo: Repo, workload: str) -> str:
    """Change a run and give it a header that fits, and return its path."""
    path = f"overlays/c1/default/{workload}/{repo.runs(workload)[0]}"
    text = repo.read(path)
    found = header.read_frozen(text)
    assert found is not None
    body = header.body_of(text).replace("python:3.12", "evil:1") + BINDING
    repo.write(path, header.frozen("workloads/x.yaml, cluster c1", found.intent, found.tool, body))
    return path


@pytest.fixture
def branched(repo: Repo) -> Repo:
    """A rendered repository on main, and a branch of it that adds the workload `new`."""
    repo.run("render")
    commit(repo)
    git(repo.root, "checkout", "--quiet", "-b", "change")
    repo.workload("new")
    repo.run("render")
    return repo


def test_new_run_as_rendered_passes(branched: Repo) -> None:
    """Committed or not, and whatever was there before."""
    assert branched.run("render", "--check", "-o", "json").json["current"]
    commit(branched)
    assert branched.run("render", "--check", "--since", "main", "-o", "json").json["current"]


@pytest.mark.parametrize("options", [(), ("--since", "main")], ids=["default", "named"])
def test_forged_run_is_refused(branched: Repo, options: tuple[str, ...]) -> None:
    """Another image, a RoleBinding and a fitting digest: the problem names the file, the diff shows them."""
    path = forge(branched, "new")
    commit(branched)

    done = branched.run("render", "--check", *options, code=1)

    assert f"{path}: RUN008 the run is new since " in done.err
    assert "image: evil:1" in "".join(line for line in done.out.splitlines() if line.startswith("-"))
    assert "-kind: RoleBinding" in done.out
    found = branched.run("render", "--check", *options, "-o", "json", code=1).json
    assert (False, ["RUN008"]) == (found["current"], [problem["id"] for problem in found["problems"]])


def test_forged_change_of_an_older_run_is_refused(branched: Repo) -> None:
    """A run of the base commit that another content was given is new content."""
    path = forge(branched, "a")

    assert f"{path}: RUN008" in branched.run("render", "--check", code=1).err


def test_kept_run_that_nobody_asks_for_is_refused(branched: Repo) -> None:
    """`onChange: Keep` would let a forged run go on beside the real one."""
    branched.workload("new", f"onChange: Keep\n{dedent(JOB)}")
    path = f"overlays/c1/default/new/{branched.runs('new')[0]}"
    other = path.replace(".yaml", "0.yaml")
    branched.write(other, branched.read(path))
    listed = "overlays/c1/default/new/kustomization.yaml"
    branched.write(listed, branched.read(listed) + f"- {other.rpartition('/')[2]}\n")

    done = branched.run("render", "--check", code=1)

    assert f"{other}: RUN008 the run is new since" in done.err
    assert "no TPUWorkload declares it" in done.err


def test_older_runs_stay_frozen(branched: Repo) -> None:
    """What is in the base commit is not composed again: a base that changed does not matter to it."""
    shutil.rmtree(branched.root / "overlays/c1/default/new")
    (branched.root / "workloads/new.yaml").unlink()
    text = branched.read("bases/jobset/jobset.yaml")
    branched.write(
        "bases/jobset/jobset.yaml", text.replace("restartPolicy: Never", "restartPolicy: OnFailure")
    )
    branched.run("render")

    assert branched.run("render", "--check", "--since", "main", "-o", "json").json["current"]
    assert 1 == len(branched.run("outdated", "-o", "json").json)


def test_new_run_that_no_longer_renders_equal_is_refused_until_it_is_rendered_anew(branched: Repo) -> None:
    """A base that changed before the merge: without its folder the run is rendered again under its id."""
    text = branched.read("bases/jobset/jobset.yaml")
    branched.write(
        "bases/jobset/jobset.yaml", text.replace("restartPolicy: Never", "restartPolicy: OnFailure")
    )
    before = branched.runs("new")

    assert "RUN008" in branched.run("render", "--check", code=1).err
    shutil.rmtree(branched.root / "overlays/c1/default/new")
    branched.run("render")

    assert branched.run("render", "--check", "-o", "json").json["current"]
    assert before == branched.runs("new")


def test_without_git_or_a_commit_nothing_is_compared(repo: Repo) -> None:
    """`--check` works in a folder that git does not know."""
    repo.run("render")
    forge(repo, "a")

    assert "" == repo.run("render", "--check").err
    git(repo.root, "init", "--quiet")
    assert "" == repo.run("render", "--check").err


def test_clone_without_the_default_branch_is_warned(branched: Repo) -> None:
    """A shallow clone in CI must not pass in silence."""
    commit(branched)
    git(branched.root, "branch", "--delete", "--force", "main")

    assert places(branched.run("render", "--check").err).startswith("warning: RUN009\n")


def test_worktree_whose_repository_is_gone_is_warned(repo: Repo) -> None:
    """A copy of a worktree, as a container may have it, has a .git that leads nowhere."""
    repo.run("render")
    repo.write(".git", "gitdir: /nonexistent/.git/worktrees/a\n")

    assert repo.run("render", "--check").err.startswith(
        f"{NOT_CHECKED}: {repo.root} is not in a git repository"
    )


def test_git_that_gives_no_answer_is_warned(branched: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container in CI often runs as another user than the owner of the clone; git refuses it then."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    done = branched.run("render", "--check")

    assert done.err.startswith(f"{NOT_CHECKED}: git rev-parse failed: detected dubious ownership")
    assert "  hint: another user owns the folder: git config --global --add safe.directory" in done.err


def test_tag_that_is_called_as_the_default_branch_hides_nothing(branched: Repo) -> None:
    """Git takes a tag before a branch of the same name."""
    forge(branched, "new")
    commit(branched)
    git(branched.root, "update-ref", "refs/remotes/origin/main", "main")
    for name in ("origin/main", "origin/HEAD", "main"):
        git(branched.root, "tag", name, "HEAD")

    assert "RUN008" in branched.run("render", "--check", code=1).err


def test_list_whose_entry_hides_in_a_comment_is_not_current(branched: Repo) -> None:
    """Only a line feed ends a line for YAML readers: what follows a form feed is still the comment."""
    path = "overlays/c1/default/kustomization.yaml"
    text = branched.read(path)
    branched.write(path, text.replace("- new\n", "").replace("this folder\n", "this folder\x0c- new\n"))

    assert "- new" in branched.run("render", "--check", code=1).out


def test_unknown_commit_is_refused(branched: Repo) -> None:
    """A name that git does not know is wrong usage, and so is `--since` without `--check`."""
    assert (
        "unknown git revision 'nothing'"
        in branched.run("render", "--check", "--since", "nothing", code=2).err
    )
    assert "--since is empty" in branched.run("render", "--check", "--since", "", code=2).err
    assert "use it with --check" in branched.run("render", "--since", "main", code=2).err


def test_git_that_is_missing_is_said_where_a_commit_is_named(
    branched: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes a check for done that could not be done."""
    monkeypatch.setenv("PATH", "/nonexistent")

    assert "GIT001" in branched.run("render", "--check", "--since", "main", code=3).err
    assert places(branched.run("render", "--check").err).startswith("warning: RUN009\n")


COLLIDING = (36244, 45392)
"""Two values of `run` that give JOB the same id."""


def test_id_of_another_intent_is_refused(repo: Repo) -> None:
    """Eight digits can meet: the frozen run of the other intent does not stand in for this one."""
    spec = "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {{image: x}}\nrun: {}\n"
    repo.workload("a", spec.format(COLLIDING[0]))
    repo.run("render")
    before = repo.stamps()
    repo.workload("a", spec.format(COLLIDING[1]))

    assert "workloads/a.yaml:4:1: RUN007" in repo.run("render", code=1).err
    assert "RUN007" in repo.run("render", "--check", code=1).err
    assert "RUN007" in repo.run("render", "a", "--stdout", code=1).err
    assert before == repo.stamps()
    repo.run("rerun", "a")
    assert ["ends", "starts"] == [effect.split()[0] for effect in repo.effects()]


def test_run_of_an_earlier_version_holds_no_digest_of_its_intent(repo: Repo) -> None:
    """Files that slicewright 0.1.0 wrote are read as they are."""
    repo.run("render")
    path = f"overlays/c1/default/a/{repo.runs()[0]}"
    text = repo.read(path)
    start = text.replace(text.partition("; intent")[2].partition("; frozen")[0], "").replace("; intent;", ";")
    second = start.split("\n")[1].rpartition(":")[0] + ":"
    body = header.body_of(text)
    head = f"{header.GENERATED}\n{second}"
    repo.write(path, f"{head}{header._digest(head, body)}\n{body}")

    assert "; intent sha256:" in text
    assert "intent" not in repo.read(path).split("\n")[1]
    assert "0 files would be written" in repo.run("render", "--check").out
