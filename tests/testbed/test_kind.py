"""The cluster of kind that the end-to-end tests create: what is asked of kind, which takes notes here."""

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.kind.cluster import PREFIX, running
from tests.e2e.kind.settings import IMAGES, Settings, settings

from slicewright.programs.pins import versions

KIND = f"""#!/bin/sh
echo "$*" >>"$NOTES"
case "$1" in
  version) echo "kind {versions()["kind"]}" ;;
  create) exit 7 ;;
esac
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """Put a kind in place that creates nothing, and return how to see what was asked of it."""
    program = tmp_path / "kind"
    program.write_text(KIND, encoding="utf-8")
    program.chmod(0o755)
    notes = tmp_path / "notes"
    tool = tmp_path / "cache/tools/kubectl"  # a kubectl is not asked for anything here, but has to be there
    monkeypatch.setenv("NOTES", str(notes))
    monkeypatch.setenv("SLICEWRIGHT_KIND", str(program))
    monkeypatch.setenv("SLICEWRIGHT_KUBECTL", str(kubectl(tool)))
    monkeypatch.setenv("SLICEWRIGHT_CACHE", str(tmp_path / "cache"))
    return lambda: [shlex.split(line) for line in notes.read_text(encoding="utf-8").splitlines()]


def kubectl(folder: Path) -> Path:
    """Write a kubectl that knows its version."""
    folder.mkdir(parents=True)
    program = folder / "kubectl"
    program.write_text(f"#!/bin/sh\necho 'Client Version: {versions()['kubernetes']}'\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_failed_creation(asked: Callable[[], list[list[str]]], tmp_path: Path) -> None:
    """A cluster that cannot be created leaves its logs and nothing else; every call names it and its file."""
    wanted = settings({"SLICEWRIGHT_KIND_NODE_IMAGE": "example/node:1"})

    with pytest.raises(subprocess.CalledProcessError), running(wanted):
        pass

    calls = [call for call in asked() if call[0] != "version"]
    (name,) = {word for call in calls for word in call if word.startswith("--name=")}
    cluster = name.removeprefix("--name=")
    assert cluster.startswith(PREFIX)
    root = tmp_path / "cache/kind"
    file = f"--kubeconfig={root / cluster / 'kubeconfig'}"
    config = str(Path(__file__).parents[1] / "e2e/kind/kind.yaml")
    assert calls == [
        ["get", "clusters"],
        ["create", "cluster", name, file, "--image=example/node:1", "--config", config],
        ["export", "logs", str(root / ".logs" / cluster), name],
        ["delete", "cluster", name, file],
    ]
    assert [path.name for path in root.iterdir()] == [".lock"]


def test_what_a_killed_session_left(asked: Callable[[], list[list[str]]], tmp_path: Path) -> None:
    """The cluster of a session that was killed is deleted by the next one; that of a living one is not."""
    root = tmp_path / "cache/kind"
    dead, alive = root / f"{PREFIX}dead", root / f"{PREFIX}alive"
    for folder in (dead, alive):
        folder.mkdir(parents=True)
    hold = "import fcntl, sys; f = open(sys.argv[1], 'wb'); fcntl.flock(f, 2); print(flush=True); input()"
    holder = [sys.executable, "-c", hold, str(alive / "lock")]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as session:
        assert session.stdout is not None
        session.stdout.readline()
        with pytest.raises(subprocess.CalledProcessError), running(settings({})):
            pass
        session.kill()

    deletions = [call for call in asked() if call[0] == "delete"]
    assert deletions[0] == ["delete", "cluster", f"--name={dead.name}", f"--kubeconfig={dead / 'kubeconfig'}"]
    assert len(deletions) == 2
    assert [dead.exists(), alive.exists()] == [False, True]


def test_node_image_is_of_the_pinned_minor_version() -> None:
    """The public node image runs the minor release of Kubernetes that the cluster of processes runs."""
    name, _, digest = IMAGES["node"].partition("@")
    minor, _, _ = versions()["kubernetes"].rpartition(".")

    assert name.startswith(f"kindest/node:{minor}.")
    assert digest.startswith("sha256:")


def test_variables(tmp_path: Path) -> None:
    """Variables name images, files and manifests; a folder of manifests is read in the order of names."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.yaml").write_text(f"kind: {name}\n---\n", encoding="utf-8")
    wanted = settings(
        {
            "SLICEWRIGHT_KIND_NODE_IMAGE": "example/node:1",
            "SLICEWRIGHT_KIND_CONFIG": str(tmp_path / "kind.yaml"),
            "SLICEWRIGHT_KIND_ARCHIVES": f"{tmp_path / 'a.tar'}:{tmp_path / 'b.tar'}",
            "SLICEWRIGHT_KIND_MANIFESTS": str(tmp_path),
            "SLICEWRIGHT_KIND_JOBSET_IMAGE": "example/jobset:1",
            "SLICEWRIGHT_KIND_CONTAINER_IMAGE": "example/shell:1",
        }
    )

    assert wanted == Settings(
        node_image="example/node:1",
        config=tmp_path / "kind.yaml",
        container_image="example/shell:1",
        archives=(tmp_path / "a.tar", tmp_path / "b.tar"),
        manifests=tmp_path,
        images={"jobset-controller-manager": "example/jobset:1"},
    )
    assert wanted.objects() == [{"kind": "a"}, {"kind": "b"}]
    kinds = [item["kind"] for item in settings({}).objects()]
    assert kinds.count("Deployment") == 2
