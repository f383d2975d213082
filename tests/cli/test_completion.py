"""Completion: a real bash asks for candidates; of zsh and fish, the scripts are printed and not run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from tests.conftest import CLUSTER

from slicewright.cli.command import COMPLETION
from slicewright.cli.main import cli

if TYPE_CHECKING:
    from tests.conftest import Repo


def words(*line: str) -> list[str]:
    """Return the candidates for the last word of a command line."""
    *before, word = line
    complete = ShellComplete(cli, {}, "slicewright", COMPLETION)
    return [item.value for item in complete.get_completions(before, word)]


@pytest.fixture
def stocked(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Stand in a repository with two clusters, and workloads of which two share a name."""
    repo.cluster("c1")
    repo.cluster("c2", CLUSTER.replace("name: queue", "name: other"))
    repo.workload("llama")
    repo.workload("gemma")
    repo.workload("gemma", file="workloads/b/gemma.yaml", metadata=", namespace: team")
    monkeypatch.chdir(repo.root)
    return repo


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["ca"], ["catalog", "capacity"]),
        (["render", "--end"], ["--end-runs"]),
        (["rerun", ""], ["a", "default/gemma", "llama", "team/gemma"]),
        (["explain", "l"], ["llama"]),
        (["render", "default/"], ["default/a", "default/gemma", "default/llama"]),
        (["render", "--stdout", "--cluster", ""], ["c1", "c2"]),
        (["capacity", "c"], ["c1", "c2"]),
        (["rehearse", "c1"], ["c1"]),
        (["new", "x", "--queue", ""], ["other", "queue"]),
        (["new", "x", "--tpu", "v5litepod-12"], ["v5litepod-128"]),
        (["new", "x", "--provisioning", "Flex"], ["FlexStart", "FlexStartQueued"]),
        (["catalog", "ct5lp"], ["ct5lp-hightpu-1t", "ct5lp-hightpu-4t", "ct5lp-hightpu-8t"]),
        (["rule", "TOOL00"], [f"TOOL00{number}" for number in range(1, 10)]),
        (["validate", "--disable", "FIT12"], ["FIT120", "FIT121"]),
        (["tools", "build", "kubect"], ["kubectl"]),
    ],
    ids=" ".join,
)
def test_names_of_the_repository_are_candidates(stocked: Repo, line: list[str], expected: list[str]) -> None:
    """Those that begin with the word; a name that two workloads have comes with the namespace."""
    del stocked

    assert expected == words(*line)


def test_entries_of_a_sweep_are_candidates_behind_its_name(stocked: Repo) -> None:
    """A slash behind the name asks for them; a file that is wrong gives none."""
    stocked.workload("lr", "clusters: [c1]\ntpu: v5litepod-8\nmatrix: {env: {LR: [1e-4, 0.5]}}")
    stocked.workload("broken", "clusters: [c1]\nmatrix: {env: {LR: x}}")

    assert (["lr"], ["lr/1e-4", "lr/5e-1"], []) == tuple(
        words("rerun", word) for word in ("lr", "lr/", "broken/")
    )


def test_commands_complete_without_being_imported() -> None:
    """It takes as long as `slicewright --version`."""
    code = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom slicewright.cli.main import cli\n"
        "found = ShellComplete(cli, {}, 'slicewright', 'X').get_completions([], 'ren')\n"
        "core = [name for name in sys.modules if name.startswith('slicewright.core')]\n"
        "print([item.value for item in found], core)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert "['render'] []\n" == done.stdout


def test_folder_of_the_command_line_counts(stocked: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """After -C DIR, before the command or after it, names are those of DIR."""
    monkeypatch.chdir("/")
    before = words("-C", str(stocked.root), "capacity", "")
    monkeypatch.chdir("/")

    assert ["c1", "c2"] == before == words("capacity", "-C", str(stocked.root), "")


def test_broken_repository_has_the_candidates_that_can_be_read(stocked: Repo) -> None:
    """A file that is broken, or is not of us, gives none; neither does a folder without a repository."""
    stocked.write("workloads/broken.yaml", "kind: [")
    stocked.write("workloads/other.yaml", "- kind: TPUWorkload\n")
    stocked.write("workloads/nameless.yaml", "kind: TPUWorkload\nmetadata: {name: 7}\n")
    stocked.write("catalog/v9.yaml", "generation: {")
    one = words("explain", "l")
    (stocked.root / "slicewright.yaml").unlink()

    assert ["llama"] == one
    assert [] == words("explain", "l")


@pytest.mark.parametrize(
    "name",
    [
        "zz$(touch${IFS}/tmp/x)",
        "zz`id`",
        "zz*",
        "zz y",
        "zz;id",
        "-zz",
        "zz\x1b[2J",
        "zz\nplain,zz2",
        "zz\n",
        "",
    ],
)
def test_name_that_a_shell_would_obey_is_not_offered(stocked: Repo, name: str) -> None:
    """A file of the repository may have it, but no object can; in a namespace it is no better."""
    metadata = {"name": name, "namespace": "team"}
    for file, data in (("one", metadata), ("two", metadata), ("space", {"name": "llama", "namespace": name})):
        workload = json.dumps({"kind": "TPUWorkload", "metadata": data})
        stocked.write(f"workloads/hostile-{file}.yaml", workload)

    assert ["a", "default/gemma", "team/gemma"] == [
        one for one in words("rerun", "") if not one.endswith("llama")
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_printed_for_each_shell(shell: str) -> None:
    """It asks this command, by the variable that click reads; zsh and fish themselves are not run here."""
    done = CliRunner().invoke(cli, ["completion", shell], prog_name="slicewright")

    assert done.exit_code == 0
    assert f"{COMPLETION}={shell}_complete" in done.stdout


def test_other_shell_is_refused() -> None:
    """With those that there are."""
    done = CliRunner().invoke(cli, ["completion", "tcsh"], prog_name="slicewright")

    assert done.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr


@pytest.mark.slow
def test_bash_completes(stocked: Repo) -> None:
    """A real bash reads the script and asks for candidates; what breaks writes nothing into the prompt."""
    script = Path(sys.executable).with_name("slicewright")
    lines = ["slicewright ren", "slicewright explain g", "slicewright new x --tpu v5litepod-12"]
    asked = [f"COMP_WORDS=({line}) COMP_CWORD={len(line.split()) - 1}; {COMPLETE}" for line in lines]
    (stocked.root / "workloads/b/gemma.yaml").write_text("}", encoding="utf-8")
    asked += ["rm slicewright.yaml; mkdir slicewright.yaml", asked[1]]
    setup = f'eval "$({shlex.quote(str(script))} completion bash)"'
    done = subprocess.run(
        ["bash", "--norc", "-euc", "\n".join([setup, *asked])],
        env={**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert ["render", "gemma", "v5litepod-128", ""] == done.stdout.splitlines()


COMPLETE = '_slicewright_completion slicewright; echo "${COMPREPLY[*]}"; COMPREPLY=()'


@pytest.mark.slow
def test_error_of_a_completion_is_not_shown(tmp_path: Path) -> None:
    """Even a defect leaves the prompt as it is."""
    code = (
        "from slicewright.cli import candidates, main\n"
        "def broken(word): raise ZeroDivisionError\n"
        "main.Commands.get_command = broken\n"
        "main.main()\n"
    )
    environ = {COMPLETION: "bash_complete", "COMP_WORDS": "slicewright explain x", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ},
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )

    assert (1, "", "") == (done.returncode, done.stdout, done.stderr)
