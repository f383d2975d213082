"""Ways to install slicewright: uv, pipx and pre-commit, from a folder of wheels or from a git repository.

No registry is asked: the folder has slicewright, what it needs, and what builds it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import PROJECT
from tests.files import copy_project, git
from tests.project.init.kit import init

from slicewright.version import __version__

BIN = Path(sys.executable).parent
pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG = """
repos:
- repo: {repo}
  rev: {rev}
  hooks:
  - id: slicewright-render
  - id: slicewright-validate
"""


def run(*command: str | Path, environ: dict[str, str], cwd: Path | None = None, code: int = 0) -> str:
    """Run a command and return all that it prints."""
    done = subprocess.run(
        command,
        env=environ,
        cwd=cwd,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert code == done.returncode, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of slicewright, of its requirements, and of its build."""
    folder = tmp_path_factory.mktemp("wheels")
    pins = PROJECT / "requirements/run.txt"
    download: list[str | Path] = [
        BIN / "pip",
        "download",
        "--quiet",
        "--require-hashes",
        "-r",
        pins,
        "-d",
        folder,
    ]
    subprocess.run(download, check=True)
    build: list[str | Path] = [BIN / "python", "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=PROJECT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A git repository with the working tree, by its address."""
    root = tmp_path_factory.mktemp("source") / "slicewright"
    copy_project(root)
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "all")
    git(root, "tag", f"v{__version__}")
    return root.as_uri()


@pytest.fixture
def environ(tmp_path: Path, wheels: Path) -> dict[str, str]:
    """Variables of a new user, whose installers look into the folder of wheels alone."""
    config = tmp_path / "uv.toml"
    config.write_text(f"no-index = true\nfind-links = [{json.dumps(str(wheels))}]\n", encoding="utf-8")
    return {
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}/.local/bin:{BIN}:{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "UV_CONFIG_FILE": str(config),
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
    }


def renders(command: Path, environ: dict[str, str], root: Path) -> bool:
    """Tell whether an installed slicewright makes and renders a repository: its data came along."""
    assert f"slicewright, version {__version__}\n" == run(command, "--version", environ=environ)
    run(command, "init", root, environ=environ)
    return "1 run to start" in run(command, "-C", root, "render", environ=environ)


@pytest.mark.parametrize("installer", ["uv tool", "pipx"])
@pytest.mark.parametrize("way", ["wheels", "git"])
def test_installer_brings_the_command(
    tmp_path: Path, environ: dict[str, str], source: str, installer: str, way: str
) -> None:
    """From the folder by its name, and from the repository, where the installer builds it."""
    wanted = "slicewright" if way == "wheels" else f"git+{source}@v{__version__}"
    program, *rest = installer.split()

    run(BIN / program, *rest, "install", wanted, environ=environ)

    assert renders(tmp_path / ".local/bin/slicewright", environ, tmp_path / "training")


def test_uvx_runs_a_revision_without_an_installation(environ: dict[str, str], source: str) -> None:
    """As somebody tries a branch."""
    said = run(BIN / "uvx", "--quiet", "--from", f"git+{source}", "slicewright", "--version", environ=environ)

    assert f"slicewright, version {__version__}\n" == said


def test_hooks_of_pre_commit_find_a_tree_that_is_not_rendered(
    tmp_path: Path, environ: dict[str, str], source: str
) -> None:
    """They pass on the rendered samples; after an edit the first one fails and says what to do."""
    root = tmp_path / "training"
    init(str(root))
    run(BIN / "slicewright", "-C", root, "render", environ=environ)
    config = CONFIG.format(repo=source, rev=f"v{__version__}")
    (root / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    command: list[str | Path] = [BIN / "pre-commit", "run", "--all-files", "--color=never"]

    fresh = run(*command, environ=environ, cwd=root)
    workload = root / "workloads/hello.yaml"
    workload.write_text(workload.read_text(encoding="utf-8") + "  slices: 2\n", encoding="utf-8")
    stale = run(*command, environ=environ, cwd=root, code=1)

    results = [line.rpartition(".")[2] for line in fresh.splitlines() if "...." in line]
    assert ["Passed", "Passed"] == results, fresh
    assert "the tree is what a render would write" in stale
    assert "the tree is not what a render would make\n  hint: slicewright render, and commit\n" in stale
