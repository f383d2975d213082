"""`render NAME` touches that workload and nothing else."""

import pytest
from tests.conftest import Repo

CHANGED = "run: 2\nclusters: [{}]\ntpu: v5litepod-8\ncontainer: {{image: x}}"


@pytest.fixture
def three(repo: Repo) -> Repo:
    """A rendered repository with a and b in one namespace and c in another one."""
    repo.workload("b")
    repo.workload("c", metadata=", namespace: other")
    repo.run("render")
    return repo


def test_only_the_named_workload_changes(three: Repo) -> None:
    """Both changed; the other one's files are not opened, and the list of the namespace stays."""
    for name in "ab":
        three.workload(name, CHANGED.format("c1"))
    before = three.stamps()

    effects = three.effects("a")

    after = three.stamps()
    assert {"a"} == {effect.split("/")[2].split("-")[0] for effect in effects}
    assert {path for path in before if "/a/" not in path} == {path for path in after if "/a/" not in path}
    assert all(before[path] == after[path] for path in after if "/a/" not in path)


def test_workload_that_is_gone_stays_until_all_are_rendered(three: Repo) -> None:
    """`render a` ends no other run, not even one whose workload was deleted."""
    (three.root / "workloads/b.yaml").unlink()
    (three.root / "workloads/c.yaml").unlink()
    before = three.stamps()

    assert three.effects("a") == []
    assert before == three.stamps()
    assert len(three.effects()) == 2


def test_new_neighbour_is_not_listed_before_it_is_rendered(three: Repo) -> None:
    """The list names the workloads that have a folder."""
    three.workload("new")
    three.workload("newer", metadata=", namespace: other")

    three.run("render", "a")
    before = three.read("overlays/c1/default/kustomization.yaml")
    three.run("render", "new")

    assert before.endswith("resources:\n- a\n- b\n")
    assert three.read("overlays/c1/default/kustomization.yaml").endswith("resources:\n- a\n- b\n- new\n")
    assert three.read("overlays/c1/other/kustomization.yaml").endswith("resources:\n- c\n")


def test_named_workload_that_lost_a_cluster_ends_there(three: Repo) -> None:
    """The change is that workload's own."""
    three.cluster("c2")
    three.workload("a", CHANGED.format("c1, c2"))
    three.workload("b", CHANGED.format("c1, c2"))
    three.run("render")

    three.workload("a", CHANGED.format("c1"))
    three.workload("b", CHANGED.format("c1"))
    effects = three.effects("a")

    assert [effect.replace(three.runs()[0][1:-5], "") for effect in effects] == [
        "ends c2/default/a: the workload left the cluster"
    ]
    assert three.read("overlays/c2/default/kustomization.yaml").endswith("resources:\n- b\n")


def test_name_may_carry_its_namespace(three: Repo) -> None:
    """`namespace/name` is the whole name, and needed where two namespaces have the same."""
    three.workload("a", CHANGED.format("c1"), file="workloads/other.yaml", metadata=", namespace: other")

    done = three.run("render", "a", code=2)

    assert "'a' is the name of several workloads; write one of: default/a, other/a" in done.err
    assert [effect.split()[0] for effect in three.effects("other/a")] == ["starts"]


def test_errors_of_other_workloads_are_shown_all_the_same(three: Repo) -> None:
    """Every problem of every file: nothing is written while anything is wrong."""
    three.workload("b", "clusters: [c1]\ntpu: v5litepod-7\ncontainer: {image: x}")
    before = three.stamps()

    done = three.run("render", "a", code=1)

    assert "workloads/b.yaml:6:8: TPU005" in done.err
    assert before == three.stamps()
