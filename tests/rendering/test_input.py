"""Input files that are wrong: every problem of every file in one run, with its place, and nothing written."""

import pytest
from tests.conftest import Repo
from tests.words import places

HEAD = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUWorkload\n"
BOMB = "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)

FILES = {
    "an unknown key, with the nearest": (
        HEAD
        + "metadata: {name: a}\nspec:\n  clusters: [c1]\n  tpu: v5e-8\n  slice: 2\n  container: {image: x}\n",
        "workloads/a.yaml:7:3: IN002\n",
    ),
    "a wrong type": (
        HEAD + "metadata: {name: a}\nspec: {clusters: c1, tpu: v5e-8, slices: two}\n",
        "workloads/a.yaml:4:18: IN001\n",
    ),
    "no kind": ("apiVersion: slicewright.dev/v1alpha1\n", "workloads/a.yaml:1:1: IN007\n"),
    "another kind": (HEAD.replace("TPUWorkload", "TPUWorkloads"), "a.yaml:2:7: IN007\n"),
    "a kind that is not a text": (HEAD.replace("TPUWorkload", "[x]"), "a.yaml:2:7: IN007\n"),
    "another version": (HEAD.replace("v1alpha1", "v1"), "1:13: IN007\n"),
    "no version": ("kind: TPUWorkload\n", "workloads/a.yaml:1:1: IN007\n"),
    "a key that people try in a cluster": (
        HEAD.replace("TPUWorkload", "TPUCluster")
        + "metadata: {name: c2}\nspec:\n  pools: []\n  queues: []\n",
        "6:3: IN002",
    ),
    "a list": ("- a\n", "workloads/a.yaml:1:1: IN007\n"),
    "no YAML": ("a: [\n", "workloads/a.yaml:2:1: YAML001"),
    "aliases that explode": ("a: &a [x, x, x, x, x, x, x, x]\n" + BOMB, "YAML004"),
    "a name that would leave the tree": (
        HEAD + "metadata: {name: ../../x}\nspec: {clusters: [c1], tpu: v5e-8, container: {image: x}}\n",
        "workloads/a.yaml:3:18: IN005\n",
    ),
    "a namespace that would leave the tree": (
        HEAD
        + "metadata: {name: a, namespace: ..}\nspec: {clusters: [c1], tpu: v5e-8, container: {image: x}}\n",
        "workloads/a.yaml:3:32: IN005\n",
    ),
    "a TPU that is not there beside a wrong key": (
        HEAD
        + "metadata: {name: a}\nspec: {clusters: [c1], tpu: v5litepod-7, slice: 1, container: {image: x}}\n",
        "workloads/a.yaml:4:29: TPU005",
    ),
    "a cluster without a name": (
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: []\nspec: {pools: []}\n",
        "workloads/a.yaml:3:11: IN001\n",
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_wrong_file_is_refused_with_its_place(repo: Repo, what: str) -> None:
    """What is wrong is said with file, line and column, and with what to write instead."""
    text, expected = FILES[what]
    repo.write("workloads/a.yaml", text)

    done = repo.run("render", code=1)

    assert expected in places(done.err)
    assert done.out == ""
    assert not (repo.root / "overlays").exists()


def test_all_problems_come_in_one_run(repo: Repo) -> None:
    """Files that cannot be read, parsed, understood or planned do not hide each other."""
    (repo.root / "workloads/bytes.yaml").write_bytes(b"name: \xff\n")
    repo.write("workloads/parse.yaml", "a: [")
    repo.write("workloads/schema.yaml", HEAD + "metadata: {name: s}\nspec: {tpu: 5}\n")
    repo.workload("plan", "clusters: [c2]\ntpu: v5litepod-7\ncontainer: {image: x}")
    repo.write("slicewright.yaml", "limit: {}\n")

    problems = repo.run("render", "-o", "json", code=1).json["problems"]

    assert [(problem["id"], problem["file"]) for problem in problems] == [
        ("IN002", "slicewright.yaml"),
        ("FILE002", "workloads/bytes.yaml"),
        ("YAML001", "workloads/parse.yaml"),
        ("REF001", "workloads/plan.yaml"),
        ("TPU005", "workloads/plan.yaml"),
        ("IN003", "workloads/schema.yaml"),
        ("IN001", "workloads/schema.yaml"),
    ]


def test_documents_of_one_file_have_their_own_places(empty: Repo) -> None:
    """A file may hold several documents, and a problem points into the right one."""
    empty.cluster()
    empty.workload("a")
    second = (
        empty.read("workloads/a.yaml").replace("name: a", "name: b").replace("v5litepod-8", "v5litepod-7")
    )
    empty.write("workloads/a.yaml", f"{empty.read('workloads/a.yaml')}---\n{second}---\n")

    done = empty.run("render", code=1)

    assert done.err.startswith("workloads/a.yaml:14:8: TPU005 ")


def test_clusters_and_workloads_may_stand_in_either_folder(empty: Repo) -> None:
    """The kind says what a document is, not the folder."""
    empty.cluster()
    empty.workload("a", file="clusters/both.yaml")

    assert [effect.split()[0] for effect in empty.effects()] == ["starts"]


def test_warnings_are_shown_and_do_not_stop(repo: Repo) -> None:
    """A run that would never start is rendered, with a warning at every render."""
    repo.workload("a", "clusters: [c1]\ntpu: v6e-8\ncontainer: {image: x}")

    done = repo.run("render")

    assert places(done.err).startswith("workloads/a.yaml:6:8: warning: REF006\n")
    assert len(repo.runs()) == 1
    assert repo.run("render", "--check").code == 0


def test_a_render_of_one_workload_is_silent_about_others(repo: Repo) -> None:
    """Warnings in the files of other workloads are left out; without a name all are there."""
    repo.workload("a", "clusters: [c1]\ntpu: v6e-8\ncontainer: {image: x}")
    repo.workload("b", "clusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}")

    assert ["REF006" in repo.run("render", *names).err for names in ((), ("b",), ("a",))] == [
        True,
        False,
        True,
    ]


def test_file_of_a_link_that_leads_out_is_not_read(repo: Repo) -> None:
    """What the repository does not hold cannot get into a run."""
    (repo.root / "configs").mkdir()
    (repo.root / "configs/a").symlink_to("/etc/hosts")
    files = "files: [{path: configs/a, mountPath: /a}]"
    repo.workload("a", f"clusters: [c1]\ntpu: v5litepod-8\ncontainer: {{image: i}}\n{files}")

    assert places(repo.run("render", code=1).err).splitlines()[0] == "configs/a: FILE004"
