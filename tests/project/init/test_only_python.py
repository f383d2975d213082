"""What `init` writes passes on a machine with Python, make and git alone: no kustomize, no Go, no cache."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.conftest import PROJECT
from tests.files import git
from tests.project.init.kit import init, read

from slicewright.check.io import kustomizations as kustomize
from slicewright.cli.main import cli
from slicewright.kubernetes.problem import Problem

ARGOCD = '  gitops:\n    argocd: {repoURL: "https://github.com/my-org/my-repository.git"}\n'
FLUX = "  gitops:\n    flux: {sourceRef: {name: flux-system}}\n"
GITOPS = {"no GitOps": "", "Argo CD": ARGOCD, "Flux": FLUX}


def synced(root: Path, gitops: str) -> None:
    """Write what syncs the sample cluster, as its last comment says."""
    cluster = root / "clusters/sample.yaml"
    sample = cluster.read_text(encoding="utf-8")
    plain = "".join(f"{line.replace('# ', '', 1)}\n" for line in sample.splitlines()[-2:])
    assert ARGOCD == plain, "what a reader uncomments"
    cluster.write_text(sample + gitops, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("gitops", GITOPS)
def test_no_kustomization_that_we_write_needs_kustomize(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gitops: str
) -> None:
    """`validate` evaluates all that `render` writes, the Component for Argo CD included."""
    monkeypatch.setattr(kustomize, "binary", lambda: Problem("TOOL001", "kustomize is missing"))
    init(str(tmp_path))
    synced(tmp_path, GITOPS[gitops])

    for command, said in (("render", "1 run to start"), ("validate", "0 errors, 0 warnings")):
        done = CliRunner().invoke(cli, [command, "-C", str(tmp_path)], catch_exceptions=False)
        assert (0, "", True) == (done.exit_code, done.stderr, said in done.stdout), done.output


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a user who installed the wheel of a checkout, and has nothing else."""
    home = tmp_path_factory.mktemp("home")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home / "dist")]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    kept = {name: os.environ[name] for name in os.environ if name.startswith("PIP_") or name == "LANG"}
    someone = {
        f"GIT_{who}_{what}": "t@example.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    (home / "bin").mkdir()
    for name in ("cat", "git", "grep", "make", "sh", "test", "touch"):
        (home / "bin" / name).symlink_to(_which(name))
    environ = {**kept, **someone, "HOME": str(home), "PATH": str(home / "bin"), "PYTHON": sys.executable}
    run("-m", "venv", "venv", program=sys.executable, folder=home, environ=environ)
    (wheel,) = (home / "dist").glob("slicewright-*.whl")
    run("install", "--quiet", str(wheel), program=f"{home}/venv/bin/pip", folder=home, environ=environ)
    # To save time, the repositories of all tests use it too; make installs there what a repository names.
    yield environ | {"VENV": str(home / "venv")}
    assert not (home / ".cache/slicewright").exists()


def _which(name: str) -> Path:
    return next(path for folder in os.defpath.split(os.pathsep) if (path := Path(folder, name)).is_file())


def run(*arguments: str, program: str, folder: Path, environ: dict[str, str]) -> str:
    """Run a command and return all that it prints."""
    done = subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=environ,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert 0 == done.returncode, done.stdout
    return done.stdout


@pytest.mark.ci
@pytest.mark.slow
@pytest.mark.parametrize("gitops", GITOPS)
def test_make_hook_and_workflow_pass_with_only_python(
    tmp_path: Path, machine: dict[str, str], gitops: str
) -> None:
    """A person renders and commits, the hook lets the commit pass, and each step of the workflow is green."""
    root = tmp_path / "training"

    def shell(command: str, **more: str) -> str:
        sh = f"{machine['PATH']}/sh"
        return run("-euc", command, program=sh, folder=root, environ={**machine, **more})

    command = f"{machine['VENV']}/bin/slicewright"
    said = run("init", str(root), program=command, folder=tmp_path, environ=machine)
    synced(root, GITOPS[gitops])
    shell("git init --quiet")
    assert "warning" not in said
    assert "0 errors, 0 warnings" in shell("make render check")
    shell("git add --all")
    (hook,) = read(root / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    shell(hook["entry"])
    shell("git commit --quiet --message init")
    workload = root / "workloads/hello.yaml"
    workload.write_text(workload.read_text(encoding="utf-8") + "  slices: 2\n", encoding="utf-8")
    shell("make render && git add --all && git commit --quiet --message change")

    steps = read(root / ".github/workflows/slicewright.yaml")["jobs"]["check"]["steps"]
    summary, event = tmp_path / "summary.md", tmp_path / "event.json"
    event.write_text("{}", encoding="utf-8")
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_REPOSITORY": "my-org/my-repository",
        "GITHUB_RUN_ID": "1",
        "SINCE": "HEAD^1",
    }
    for step in steps:
        shell(step.get("run", ""), **github)

    assert summary.read_text(encoding="utf-8").startswith("### slicewright: all 3 checks passed\n")
    assert "" == git(root, "status", "--porcelain")
