"""What a release is made of: its tag and notes, the permissions of its jobs, and the image."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml
from tests.conftest import PROJECT

from slicewright.version import __version__

TAG = f"v{__version__}"


def release(root: Path, tag: str, changelog: str) -> tuple[int, str, str]:
    """Run the script on a checkout with a changelog."""
    for name in (".github/release.py", "generator/slicewright/version.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT / name, root / name)
    (root / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    command = [sys.executable, "-I", str(root / ".github/release.py"), "notes", tag]
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


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """Yield the address of an index that has two files of one project."""
    files = {"slicewright_testbed_a-1-x.whl": b"one", "slicewright_testbed_a-2-x.whl": b"two"}
    listed = [
        {"filename": name, "hashes": {"sha256": hashlib.sha256(content).hexdigest()}}
        for name, content in files.items()
    ]
    page = tmp_path / "index/slicewright-testbed-a/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"files": listed}), encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "index")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("built", "code", "kept"),
    [
        ({"slicewright_testbed_a-2-x.whl": "two"}, 0, []),
        ({"slicewright_testbed_a-3-x.whl": "three"}, 0, ["slicewright_testbed_a-3-x.whl"]),
        ({"slicewright-1-x.whl": "a", "slicewright_testbed_a-1-x.whl": "one"}, 0, ["slicewright-1-x.whl"]),
        (
            {"slicewright_testbed_a-1-x.whl": "one", "slicewright_testbed_a-2-x.whl": "other"},
            1,
            ["slicewright_testbed_a-1-x.whl", "slicewright_testbed_a-2-x.whl"],
        ),
    ],
    ids=["same bytes", "new version", "new project", "other bytes"],
)
def test_published_wheel_keeps_its_bytes(
    tmp_path: Path, index: str, built: dict[str, str], code: int, kept: list[str]
) -> None:
    """Wheels that the index does not have are uploaded; other bytes of a published name stop the release."""
    dist = tmp_path / "dist"
    dist.mkdir()
    for name, content in built.items():
        (dist / name).write_text(content, encoding="utf-8")

    command = [sys.executable, "-I", str(PROJECT / ".github/release.py"), "keep-new", str(dist), index]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert (code, kept) == (done.returncode, sorted(path.name for path in dist.iterdir())), done.stderr
    assert (code == 1) == ("(tools/wheels.yaml): slicewright_testbed_a-2-x.whl\n" in done.stderr)


def test_jobs_have_the_permissions_that_the_page_lists() -> None:
    """No others: a job that may write has no checkout, and runs neither the wheels nor the image."""
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
    writes = {name for name, scopes in granted.items() if "write" in scopes.values()}
    runs = re.compile(r"\b(python3?|pip|make|slicewright|docker (build|run|exec)) ")
    assert {"check", "wheels", "compare", "image"} == checkouts
    assert {"publish", "push", "release"} == writes
    assert {"rehearse", *checkouts} == {
        name
        for name, job in workflow["jobs"].items()
        if any(
            runs.search(step.get("run", "").replace("docker tag slicewright", "")) for step in job["steps"]
        )
    }
    assert "skip-existing" not in json.dumps(workflow["jobs"]["publish"])
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
