"""TPU179 against bash: in which scripts the last command replaces the shell and gets SIGTERM."""

import subprocess

import pytest
from tests.check.rules.kit import object_set, run

PROGRAM = "sh -c 'echo $$'"


def job(script: str) -> dict[str, object]:
    """Return a Job on a Spot host whose container runs a script."""
    container = {
        "name": "main",
        "image": "example.com/train:1.2.3",
        "command": ["bash", "-c", script],
        "resources": {"limits": {"google.com/tpu": 4}},
    }
    spec = {"nodeSelector": {"cloud.google.com/gke-spot": "true"}, "containers": [container]}
    template = {"spec": {"restartPolicy": "Never", **spec}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": template},
    }


@pytest.mark.parametrize(
    "script",
    [
        PROGRAM,
        f"export A=1\nset -e\n{PROGRAM}\n",
        f"true && A=1 {PROGRAM};",
        f"echo ; {PROGRAM} \\\n  $(echo a | cat) 'b|c'",
        f"true > /dev/null\nexec {PROGRAM} 2>&1",
        f"exec 2> >(cat)\nexec {PROGRAM}",
        f"{PROGRAM} | cat",
        f"{PROGRAM} 2>&1",
        f"{PROGRAM} & wait",
        f"{PROGRAM}\nexit $?",
        f"{PROGRAM}; echo done",
        f"for i in 1; do\n{PROGRAM}\ndone",
        f"{PROGRAM} || exit 1",
        f"({PROGRAM})",
    ],
)
def test_a_note_says_what_bash_does(script: str) -> None:
    """The rule finds the scripts whose program is a child of the shell, and no others."""
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        process = shell.communicate()[0].split()[0]

    found = [problem.id for problem in run(object_set(job(script))) if problem.id == "TPU179"]

    assert found == ([] if process == str(shell.pid) else ["TPU179"])


@pytest.mark.parametrize("script", ["$(" * 300_000, ">" * 300_000 + "'"])
def test_long_scripts_are_read_once(script: str) -> None:
    """A line of 300,000 signs that begin something is read in the time of any other."""
    assert [] == [problem.id for problem in run(object_set(job(script))) if problem.id == "TPU179"]
