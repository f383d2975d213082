"""docs/reference/rehearse*.md: what they tell people to type holds in this repository."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from slicewright.cli.compare_variants import read_variants
from slicewright.cli.rehearse import rehearse
from slicewright.project.repository_reader import read_checkout
from slicewright.rehearse.model.clock import unclear
from slicewright.rehearse.model.time_span import seconds
from slicewright.rendering.changed_documents import changed_documents

ROOT = Path(__file__).resolve().parents[2]
PAGES = "\n".join(
    page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "reference").glob("rehearse*.md"))
)
COMMANDS = re.findall(r"^slicewright rehearse(.*?)(?: {2,}#.*)?$", PAGES, re.MULTILINE)
NEW = 60.0
"""What a workload takes that says nothing of its rehearsal; it is submitted at 0s."""


@pytest.mark.parametrize("command", [command for command in COMMANDS if "[" not in command])
def test_commands_mean_clusters_and_workloads_of_this_repository(command: str) -> None:
    """And a page that they write is none that git would add."""
    given = rehearse.make_context("rehearse", shlex.split(command)).params
    repository = read_checkout(ROOT).repository
    cluster = given["cluster"] or "multislice-cluster"
    playing = [one.key for one in repository.workloads if cluster in one.clusters]

    assert playing
    assert unclear((*given["submit_at"], *given["duration"]), playing) is None
    for variant in read_variants(given["variants"], given["sweep"]):
        changed = changed_documents(repository, cluster, variant.changes)
        assert bool(variant.changes) == bool(changed)
    if given["html"]:
        ignored = subprocess.run(["git", "check-ignore", "--quiet", given["html"]], cwd=ROOT, check=False)
        assert 0 == ignored.returncode


def test_pages_have_the_commands() -> None:
    """Four first, then times, checkpoints, load, variants, one that keeps the bed, and one to fill in."""
    assert 16 == len(COMMANDS)


@pytest.mark.parametrize("cluster", ["multislice-cluster", "multislice-autopilot"])
def test_new_workload_has_the_first_minutes_for_itself(cluster: str) -> None:
    """The README makes one, and its slices must not meet those of pods with another priority (REH010)."""
    found = {
        one.key: (
            one.spec.get("podTemplate", {}).get("spec", {}).get("priorityClassName", ""),
            _begins(one.spec),
        )
        for one in read_checkout(ROOT).repository.workloads
        if cluster in one.clusters
    }
    usual = [begins for name, begins in found.values() if not name]
    others = [begins for name, begins in found.values() if name]

    assert 3 * NEW <= min(usual)
    assert max(usual) + 3 * NEW <= min(others)


def _begins(spec: dict[str, dict[str, str]]) -> float:
    return seconds(spec.get("rehearsal", {}).get("submitAt", "0s"))
