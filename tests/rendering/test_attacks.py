"""What an attacker found: input that must be refused before anything is written."""

import os
from pathlib import Path

import pytest
from tests.conftest import Repo
from tests.words import places

from slicewright import NoRepositoryError, load
from slicewright.rendering.io import write

WORKLOAD = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {name: a}
spec:
  clusters: [c1]
  tpu: v5litepod-8
  container: {image: x}
"""


def with_component(repo: Repo, item: str) -> None:
    """Give the workload a component that brings an object."""
    repo.write("workloads/a.yaml", WORKLOAD + "  naming: Fixed\n  components: [comp/x]\n")
    kustomization = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [o.yaml]\n"
    repo.write("comp/x/kustomization.yaml", kustomization)
    repo.write("comp/x/o.yaml", item)


@pytest.mark.parametrize(
    "item",
    [
        "apiVersion: v1\nkind: ../../../../../precious\nmetadata: {name: a}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x/../../../../../../pwn}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '..'}\n",
    ],
)
def test_kinds_and_names_that_are_paths_are_refused(repo: Repo, item: str) -> None:
    """No object's kind or name leads a file out of its overlay."""
    with_component(repo, item)

    assert "KUS008" in repo.run("render", code=1).err


@pytest.mark.parametrize("path", ["../x.yaml", "/x.yaml", "overlays/../../x.yaml", "a//b.yaml", "./a.yaml"])
def test_writer_stays_inside(tmp_path: Path, path: str) -> None:
    """The writer itself refuses a path that leads out of the repository."""
    refused = write.apply(tmp_path, {path: "x"}, ())

    assert ["FILE004"] == [problem.id for problem in refused]
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["", "apiVersion: v1\nkind: JobSet\nmetadata: {name: replaced-by-slicewright}\n"]
)
def test_base_without_its_object_is_refused(repo: Repo, text: str) -> None:
    """A base that lost its object, or holds another one, never renders an empty run."""
    repo.write("workloads/a.yaml", WORKLOAD)
    repo.write("bases/jobset/jobset.yaml", text)

    assert "bases/jobset/kustomization.yaml: BASE001" in places(repo.run("render", code=1).err)


def test_missing_file_of_a_live_run_is_not_written_anew(repo: Repo) -> None:
    """A frozen file that a commit forgot is never made again from today's bases under the old name."""
    repo.write("workloads/a.yaml", WORKLOAD)
    repo.run("render")
    (run,) = repo.root.glob("overlays/c1/default/a/a-*.yaml")
    run.unlink()

    path = run.relative_to(repo.root)
    assert places(repo.run("render", code=1).err).startswith(f"{path}: RUN005")
    repo.run("rerun", "a")
    repo.run("render")


def test_empty_input_file_ends_nothing(repo: Repo) -> None:
    """A workload file that is momentarily empty is an error, not the end of its runs."""
    repo.write("workloads/a.yaml", WORKLOAD)
    repo.run("render")
    repo.write("workloads/a.yaml", "# nothing yet\n")

    assert places(repo.run("render", code=1).err).startswith("workloads/a.yaml: IN008\n")
    assert len(repo.runs()) == 1


@pytest.mark.parametrize("line", ["slices: 2.0", "backoffLimit: 1e3"])
def test_whole_floats_are_refused(repo: Repo, line: str) -> None:
    """2.0 is an integer to JSON Schema and none to the API server."""
    repo.write("workloads/a.yaml", WORKLOAD + f"  {line}\n")

    assert places(repo.run("render", code=1).err).splitlines()[0].endswith("IN001")


def test_numbers_with_a_fraction_pass_where_anything_may_stand(repo: Repo) -> None:
    """A patch may hold half of something; only whole numbers written as floats are refused."""
    patch = "{target: {kind: JobSet}, ops: [{op: add, path: /spec/half, value: 0.5}]}"
    repo.write("workloads/a.yaml", WORKLOAD + f"  patches: [{patch}]\n")

    repo.run("render")


def test_only_the_folder_that_was_named_counts(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """`..` in a path is the real folder above, not the text before it."""
    (repo.root.parent / "elsewhere").mkdir()
    monkeypatch.chdir(repo.root / "workloads")

    with pytest.raises(NoRepositoryError, match=r"no slicewright\.yaml"):
        load("../../elsewhere")


def test_chips_cannot_be_claimed_beside_the_containers(repo: Repo) -> None:
    """google.com/tpu in the pod's overhead or resources would change what the pod asks for."""
    template = (
        "podTemplate: {spec: {overhead: {google.com/tpu: 8}, resources: {limits: {google.com/tpu: 8}}}}"
    )
    repo.write("workloads/a.yaml", WORKLOAD + f"  {template}\n")

    found = [line for line in repo.run("render", code=1).err.splitlines() if "POD001" in line]
    assert [" 'google.com/tpu' cannot be set here"] * 2 == [line.partition("POD001")[2] for line in found]


def test_pipe_among_the_input_is_refused(repo: Repo) -> None:
    """A named pipe would be read forever, with the lock held."""
    os.mkfifo(repo.root / "workloads" / "pipe.yaml")

    assert "workloads/pipe.yaml: FILE001" in places(repo.run("render", code=1).err)


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
@pytest.mark.parametrize("folder", ["default/a", "default"])
def test_a_second_kustomization_beside_a_generated_one_is_refused(repo: Repo, folder: str, name: str) -> None:
    """Kustomize refuses a folder with two of them, and the tree must not be called current."""
    repo.write("workloads/a.yaml", WORKLOAD)
    repo.run("render")
    path = repo.write(f"overlays/c1/{folder}/{name}", "resources: []\n")
    repo.write(f"overlays/c1/elsewhere/{name}", "resources: []\n")

    for command in (("render",), ("render", "--check")):
        problems = repo.run(*command, "-o", "json", code=1).json["problems"]
        assert [("TREE002", path)] == [
            (one["id"], one["file"]) for one in problems if one["severity"] == "error"
        ]
