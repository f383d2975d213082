"""Files of the repository become a ConfigMap of the run, mounted one by one."""

from typing import Any

import pytest

from slicewright.document.read import read_documents
from slicewright.kubernetes.problem import errors
from slicewright.kubernetes.types import Object

from .kit import Run, composed, rendering

FILES = {"configs/a.yaml": "lr: 0.1\n", "configs/b.txt": "b"}
WRITTEN = [{"path": path, "mountPath": f"/etc/{path}"} for path in FILES]
ALIKE = ("a.b", "a/b")
DATA = {"configs.a.yaml": "lr: 0.1\n", "configs.b.txt": "b"}


def with_files(pattern: str = "jobset", **spec: Any) -> Run:
    """Return a Fixed run with both files."""
    return composed(rendering(pattern, {"files": WRITTEN, **spec}, files=FILES), FILES)


def config_map(made: Run) -> Object:
    """Return the only ConfigMap beside a run."""
    (found,) = [item for item in made.objects if item["kind"] == "ConfigMap"]
    return found


@pytest.mark.parametrize("pattern", ["jobset", "job", "pathways", "pathwaysjob"])
def test_program_sees_each_file_at_its_path(pattern: str) -> None:
    """The container of the program mounts the files read-only; with Pathways that is the one of the head."""
    made = with_files(pattern)
    volume = {"name": "files", "configMap": {"name": "w-files"}}

    assert [mount for mount in made.container()["volumeMounts"] if mount["name"] == "files"] == [
        {"name": "files", "mountPath": "/etc/configs/a.yaml", "subPath": "configs.a.yaml", "readOnly": True},
        {"name": "files", "mountPath": "/etc/configs/b.txt", "subPath": "configs.b.txt", "readOnly": True},
    ]
    assert [item for item in made.pod()["volumes"] if item["name"] == "files"] == [volume]
    assert config_map(made) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "w-files", "namespace": "ns", "labels": {"slicewright.dev/workload": "w"}},
        "data": DATA,
    }


def test_frozen_run_holds_its_files() -> None:
    """The ConfigMap is in the file of the run, has its name, and cannot be changed in the cluster."""
    made = rendering("jobset", {"files": WRITTEN, "naming": "Hashed"}, files=FILES)
    (text,) = [text for path, text in made.writes.items() if "/w-" in path]
    jobset, held = (document.data for document in read_documents(text, "")[0])

    assert held["metadata"]["name"] == f"{jobset['metadata']['name']}-files"
    assert (held["data"], held["immutable"]) == (DATA, True)


def test_content_of_a_file_is_not_in_the_id_of_a_run() -> None:
    """A changed file starts no run by itself."""
    spec = {"files": WRITTEN, "naming": "Hashed"}
    one, other = (rendering("jobset", spec, files={**FILES, "configs/b.txt": text}) for text in ("1", "2"))

    assert sorted(one.writes) == sorted(other.writes)


def test_a_file_may_be_at_two_paths() -> None:
    """One file of the ConfigMap is mounted twice."""
    written = [{"path": "a.txt", "mountPath": path} for path in ("/x", "/y/a.txt")]
    made = rendering("jobset", {"files": written}, files={"a.txt": "1"})

    assert errors(made.problems) == ()
    (text,) = [text for path, text in made.writes.items() if path.endswith("files.yaml")]
    assert text.count("a.txt: ") == 1
    mounts = "".join(made.writes.values())
    assert (1, 1) == (mounts.count("mountPath: /x"), mounts.count("mountPath: /y/a.txt"))


@pytest.mark.parametrize(
    "more",
    [
        {"files": [{"path": "a.txt", "mountPath": path} for path in ("/etc/x/y", "/etc/x")]},
        {"gcsFuse": [{"bucket": "b", "mountPath": "/etc/x/y"}]},
        {"container": {"image": "i", "volumeMounts": [{"name": "v", "mountPath": "/etc/x/y"}]}},
    ],
)
def test_nothing_is_mounted_below_a_file(more: Object) -> None:
    """A container with a mount below a file would never start."""
    written = [{"path": "a.txt", "mountPath": "/etc/x"}]
    made = rendering("jobset", {"files": written, **more}, files={"a.txt": "1"})

    (problem,) = errors(made.problems)
    assert "FIELD001 a file is mounted at '/etc/x', so nothing can be mounted at '/etc/x/y'" in problem.text()


@pytest.mark.parametrize(
    ("written", "files", "said"),
    [
        ([{"path": "a.txt", "mountPath": "/a"}], {}, "FILE033"),
        ([{"path": "a.txt", "mountPath": "/a"}], {"a.txt": "x" * 1_048_577}, "FILE034"),
        ([{"path": name, "mountPath": f"/{name}"} for name in ALIKE], dict.fromkeys(ALIKE, "x"), "FIELD001"),
        ([{"path": name, "mountPath": "/x"} for name in ("a", "b")], {"a": "1", "b": "2"}, "FIELD001"),
    ],
    ids=["missing", "too large", "two of one key", "two at one path"],
)
def test_files_that_no_config_map_can_hold(written: list[Object], files: dict[str, str], said: str) -> None:
    """A file that is not there, more than Kubernetes takes, and two files in one place are errors."""
    made = rendering("jobset", {"files": written}, files=files)

    assert [problem.id for problem in errors(made.problems)] == [said]
    assert made.writes == {}


def test_volume_of_the_user_keeps_its_name() -> None:
    """A volume that is called as ours is refused at the field that brings ours."""
    template = {"spec": {"volumes": [{"name": "files", "emptyDir": {}}]}}
    made = rendering("jobset", {"files": WRITTEN, "podTemplate": template}, files=FILES)

    assert [problem.path for problem in errors(made.problems)] == [("spec", "files")]
