"""What a release is made of: its tag and notes, the permissions of its jobs, and the image."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import yaml
from tests.conftest import PROJECT

from slicewright.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

TAG = f"v{__version__}"


def release(root: Path, tag: str, changelog: str) -> tuple[int, str, str]:
    """Run the script on a checkout with a changelog."""
    for name in (".github/release.py", "generator/slicewright/version.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / name, root / name)
    (root / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    command = [sys.executable, "-I", str(root / ".github/release.py"), tag]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_notes_are_those_of_the_version(tmp_path: Path) -> None:
    """Neither what is unreleased nor what was released before."""
    before, after = "# C\n\n## Unreleased\n\n- a\n\n", "\n## 0.0.1\n\n- c\n"
    text = f"{before}## {__version__} - 2026-01-01\n\n### Added\n\n- b\n{after}"

    assert (0, "### Added\n\n- b\n", "") == release(tmp_path, TAG, text)


def test_tag_of_another_version_and_missing_notes_stop_a_release(tmp_path: Path) -> None:
    """Before anything is built."""
    notes = f"## {__version__}\n\n- b\n"

    assert (1, "") == release(tmp_path, "v9.9.9", notes)[:2]
    assert (1, "") == release(tmp_path, TAG, notes.replace(__version__, f"{__version__}9"))[:2]
    assert (1, "") == release(tmp_path, TAG, f"## {__version__}\n\n## 0.0.1\n\n- c\n")[:2]


def test_jobs_have_the_permissions_that_the_page_lists() -> None:
    """No others: a job that may write has no checkout, but for the image, which is made of the wheels."""
    workflow = yaml.safe_load((PROJECT / ".github/workflows/release.yaml").read_text(encoding="utf-8"))
    page = (PROJECT / "docs/contributing/release.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", page, re.MULTILINE)
    granted = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    checkouts = {
        name for name, job in workflow["jobs"].items() if "actions/checkout@" in json.dumps(job["steps"])
    }

    assert {} == workflow["permissions"]
    assert {name: re.findall(r"`(.*?)`", scopes) for name, scopes in rows} == {
        name: [f"{scope}: {access}" for scope, access in scopes.items()] for name, scopes in granted.items()
    }
    assert {"check", "wheels", "image"} == checkouts
    assert "pypi" == workflow["jobs"]["publish"]["environment"]


def test_image_runs_as_nobody_from_a_pinned_base() -> None:
    """No shell begins it, and only the wheel and its pins go into its build."""
    text = (PROJECT / "Containerfile").read_text(encoding="utf-8")
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    copied = set(re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE)[0].split())
    admitted = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert re.fullmatch(r"docker\.io/library/python:[\w.-]+@sha256:[0-9a-f]{64}", bases[0])
    assert {"base"} == set(bases[1:])
    assert ["65532:65532"] == re.findall(r"^USER (.*)", text, re.MULTILINE)
    assert ["/opt/slicewright/bin/slicewright"] == json.loads(
        text.partition("ENTRYPOINT ")[2].partition("\n")[0]
    )
    assert ["*", *(f"!{path}" for path in sorted(copied))] == admitted
