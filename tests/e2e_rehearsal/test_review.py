"""`slicewright review --rehearse`: the verdict and the timeline of a rehearsal in the text of a change."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Repo

JOB = "clusters: [c1]\ntpu: v5litepod-8\nnaming: Fixed\ncontainer: {image: python:3.12}\n"


@pytest.mark.ci
def test_rehearsal_is_a_check_with_a_verdict_a_timeline_and_a_page(repo: Repo) -> None:
    """Runs that do not overlap as they promise: red, with the problem above the timeline."""
    repo.cluster("c1", "pools: [{name: tpus, tpu: v5litepod-8}]")
    repo.workload("a", f"{JOB}rehearsal: {{duration: 30s}}")
    repo.workload("b", f"{JOB}rehearsal: {{submitAt: 1h, expect: [together: [a]]}}")
    repo.run("render")
    arguments = ["review", "--rehearse", "c1", "--report", "report"]
    slicewright = Path(sys.executable).with_name("slicewright")

    done = subprocess.run(
        [slicewright, *arguments], cwd=repo.root, check=False, capture_output=True, text=True
    )

    assert 2 == done.returncode, done.stdout  # diff finds no git repository here
    assert re.search(
        r"^- ❌ `slicewright rehearse c1`: `c1: failed, 1 error; 2 finished; ", done.stdout, re.MULTILINE
    )
    words, _, timeline = done.stdout.partition("**The rehearsal of `c1`**")[2].partition("<summary>Timeline")
    assert "REH004" in words
    assert "simulates at" not in words
    assert "█" in timeline
    page = (repo.root / "report/rehearsal-c1.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
