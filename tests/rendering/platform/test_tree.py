"""Platforms in the tree: written, changed and removed by `render`, and only by a render of everything."""

import stat
from typing import Any

import pytest
from tests.conftest import Repo
from tests.words import places

from .kit import FOLDER, cluster

pytestmark = pytest.mark.slow  # whole repositories are rendered, compared or read

SPEC = """
pools:
- {name: tpus, tpu: v5litepod-8, slices: 3}
- {name: cpu-np, machineType: n2-standard-64}
clusterQueues:
- {name: cluster-queue, quota: [{pool: tpus}], localQueues: [{name: queue}]}
"""
QUEUED = """
    clusters: [c1]
    tpu: v5litepod-8
    queueName: %s
    container: {image: python:3.12, script: python train.py}
"""


@pytest.fixture
def managed(empty: Repo) -> Repo:
    """A repository with a cluster that is managed and a hashed workload in its queue, not rendered yet."""
    empty.write("clusters/c1.yaml", cluster(SPEC))
    empty.workload("a", QUEUED % "queue")
    return empty


def platform(repo: Repo, *arguments: str, code: int = 0) -> dict[str, list[Any]]:
    """Render and return what happens to the files of platforms: effect and reason by path."""
    found = repo.run("render", "-o", "json", *arguments, code=code).json["platform"]
    return {change["path"]: [change["effect"], change["reason"]] for change in found}


def test_render_writes_the_platform_and_the_scripts(managed: Repo) -> None:
    """Objects are below overlays, all else is below provision; the second render changes nothing."""
    found = platform(managed)

    files = ["flavors", "kustomization", "local-queues", "priority-classes", "queues"]
    scripts = ["cluster", "destroy", "lib", "node-pools", "verify"]
    expected = [
        "overlays/c1/_controllers/kustomization.yaml",
        *(f"{FOLDER}/{name}.yaml" for name in files),
        *(f"provision/c1/{name}.sh" for name in scripts),
    ]
    assert {path: ["added", "it is new"] for path in expected} == found
    assert platform(managed) == {}
    managed.run("render", "--check")
    managed.run("validate")


def test_scripts_can_be_executed(managed: Repo) -> None:
    """Whoever checks the repository out can run them; other files are as any other."""
    managed.run("render")

    modes = {
        path.suffix: stat.S_IMODE(path.stat().st_mode) & 0o111
        for folder in ("overlays/c1/_platform", "provision/c1")
        for path in (managed.root / folder).iterdir()
    }
    assert modes == {".yaml": 0, ".sh": 0o111}


def test_platform_is_live(managed: Repo) -> None:
    """A change of quota changes the queue and no run; `--check` sees it before it is written."""
    managed.run("render")
    run = managed.runs()
    managed.write("clusters/c1.yaml", cluster(SPEC.replace("slices: 3", "slices: 2")))

    check = managed.run("render", "--check", code=1).out
    found = platform(managed)

    assert '-        nominalQuota: "24"' in check
    assert '+        nominalQuota: "16"' in check
    assert ["changed", "platform files follow the TPUCluster at each render"] == found[
        f"{FOLDER}/queues.yaml"
    ]
    assert ["changed", "it follows clusters/c1.yaml"] == found["provision/c1/node-pools.sh"]
    assert run == managed.runs()


def test_named_workloads_leave_platforms_alone(managed: Repo) -> None:
    """A render of some workloads neither writes nor deletes anything of a platform."""
    managed.run("render", "a")
    assert "_platform" not in str(managed.tree())
    managed.run("render")
    before = {**managed.stamps(FOLDER), **managed.stamps("provision")}
    managed.write("clusters/c1.yaml", cluster(SPEC.replace("slices: 3", "slices: 2")))

    assert platform(managed, "a") == {}
    assert before == {**managed.stamps(FOLDER), **managed.stamps("provision")}


def test_platform_that_is_no_longer_ours_leaves(managed: Repo) -> None:
    """`managed: false` removes what we wrote, says why, and leaves the runs and what others wrote."""
    managed.run("render")
    managed.write(f"{FOLDER}/notes.yaml", "kind: List\n")
    managed.write("provision/c1/mine.sh", "#!/bin/sh\n")
    managed.write("clusters/c1.yaml", cluster(SPEC).replace("spec:\n", "spec:\n  managed: false\n"))

    found = platform(managed)

    assert {tuple(change) for change in found.values()} == {("removed", "managed is false")}
    assert len(found) == 11
    assert list(managed.tree(FOLDER)) == [f"{FOLDER}/notes.yaml"]
    assert list(managed.tree("provision")) == ["provision/c1/mine.sh"]
    assert len(managed.runs()) == 1


def gone(managed: Repo) -> dict[str, list[str]]:
    """Take the file of the cluster and the workload away, and return what a render does to the platform."""
    (managed.root / "clusters/c1.yaml").unlink()
    (managed.root / "workloads/a.yaml").unlink()
    return platform(managed, "--end-runs", "1")


def test_platform_of_a_cluster_that_is_gone_leaves(managed: Repo) -> None:
    """A cluster without a file has no platform; what takes it down stays until somebody deletes it."""
    managed.run("render")
    kept = {path: managed.read(path) for path in ("provision/c1/destroy.sh", "provision/c1/lib.sh")}

    found = gone(managed)

    assert {tuple(change) for change in found.values()} == {("removed", "the cluster is gone")}
    assert {} == managed.tree()
    assert kept == managed.tree("provision")
    for command in (["render"], ["render", "--check"], ["render", "--check", "-o", "json"]):
        done = managed.run(*command)
        assert "POOL045" in done.out + done.err
        assert kept == managed.tree("provision")
    (managed.root / "provision/c1/destroy.sh").rename(managed.root / "provision/c1/verify.sh")
    managed.run("render")
    done = managed.run("render", "--check")
    assert ("POOL045" in done.out + done.err, managed.tree("provision")) == (False, {})


def test_terraform_of_a_cluster_that_is_gone_stays(managed: Repo) -> None:
    """`terraform destroy` needs all that made the cluster."""
    text = managed.read("clusters/c1.yaml")
    managed.write("clusters/c1.yaml", f"{text}  environment: {{}}\n")
    managed.run("render")
    before = managed.tree("provision")

    found = gone(managed)

    assert "provision/c1/cluster.tf" in before
    assert before == managed.tree("provision")
    assert all(path.startswith("overlays/") for path in found)
    managed.run("render", "--check")


def test_cluster_that_is_written_wrongly_is_not_gone(managed: Repo) -> None:
    """While the file of a cluster is wrong, nothing is said of its absence, and nothing leaves."""
    managed.run("render")
    before = managed.tree("provision")
    managed.write("clusters/c1.yaml", managed.read("clusters/c1.yaml").replace("pools:", "pool:"))

    said = managed.run("render", code=1)

    assert ("POOL045" in said.out + said.err, before) == (False, managed.tree("provision"))


def test_file_that_nothing_asks_for_leaves(managed: Repo) -> None:
    """Without a priority class there is no file of them; what is left over of an earlier tool goes too."""
    managed.run("render")
    text = managed.read(f"{FOLDER}/flavors.yaml")
    managed.write(f"{FOLDER}/old.yaml", text)
    managed.write("provision/c1/old.tf", text)

    assert {
        f"{FOLDER}/old.yaml": ["removed", "nothing asks for it"],
        "provision/c1/old.tf": ["removed", "nothing asks for it"],
    } == platform(managed)


@pytest.mark.parametrize("path", [f"{FOLDER}/queues.yaml", "provision/c1/verify.sh"])
def test_file_of_somebody_else_is_not_replaced(managed: Repo, path: str) -> None:
    """Where one stands that we did not write, nothing is written at all."""
    managed.write(path, "mine\n")

    done = managed.run("render", code=1)

    assert f"{path}: TREE001" in done.err
    assert managed.read(path) == "mine\n"
    assert not (managed.root / f"{FOLDER}/flavors.yaml").exists()


def test_nothing_is_written_while_a_platform_is_wrong(managed: Repo) -> None:
    """A quota in half slices stops the render of everything."""
    managed.write("clusters/c1.yaml", cluster(SPEC.replace("{pool: tpus}", "{pool: tpus, nominalChips: 12}")))

    done = managed.run("render", "-o", "json", code=1).json

    assert [problem["id"] for problem in done["problems"]] == ["QUOTA004"]
    assert (done["written"], done["platform"]) == ([], [])


def test_renamed_queue_is_live_and_strands_frozen_runs_by_name(managed: Repo) -> None:
    """The queue changes in one place; a frozen run keeps its name for it, and validate names the run."""
    managed.workload("a", QUEUED % "queue" + "    onChange: Keep\n")
    managed.run("render")
    (old,) = managed.runs()
    managed.write("clusters/c1.yaml", cluster(SPEC.replace("name: queue", "name: renamed")))
    said = managed.run("render", code=1).err
    managed.workload("a", QUEUED % "renamed" + "    onChange: Keep\n")
    managed.run("render")

    found = managed.run("validate", "-o", "json", code=1).json["problems"]

    assert "REF002" in places(said)
    assert "name: renamed" in managed.read(f"{FOLDER}/local-queues.yaml")
    assert [("FIT106", f"JobSet default/{old.removesuffix('.yaml')}")] == [
        (problem["id"], problem["object"]) for problem in found if problem["severity"] == "error"
    ]


def test_namespace_that_nothing_makes_is_told(managed: Repo) -> None:
    """A workload there could not be applied; where somebody else makes the platform nobody can know."""
    managed.write(
        "clusters/c2.yaml", cluster(SPEC, name="c2").replace("spec:\n", "spec:\n  managed: false\n")
    )
    teams = SPEC + "teams: [{name: research, namespace: research}]\n"
    queues = "localQueues: [{name: queue}, {name: q, namespace: research}]"
    managed.write(
        "clusters/c3.yaml", cluster(teams.replace("localQueues: [{name: queue}]", queues), name="c3")
    )
    spec = (QUEUED % "x").replace("[c1]", "[c1, c2, c3]").replace("    queueName: x\n", "")
    managed.workload("a", spec, metadata=", namespace: reserch")

    found = managed.run("render", "-o", "json").json["problems"]

    told = [(problem["id"], problem["severity"], problem["message"], problem["hint"]) for problem in found]
    message = "nothing creates namespace 'reserch' on cluster "
    assert [
        ("TEAM006", "warning", f"{message}'c1'", "add a team to clusters/c1.yaml"),
        ("TEAM006", "warning", f"{message}'c3'", "did you mean 'research'?"),
    ] == told


def test_compute_class_that_is_not_there_is_refused(managed: Repo) -> None:
    """A workload would never start; where the file declares no class, any name is taken on trust."""
    managed.workload("a", QUEUED % "queue" + "    provisioning: {type: ComputeClass, name: lader}\n")
    managed.run("render")
    classes = "computeClasses: [{name: ladder, priorities: [{tpu: v5litepod-8}]}]\n"
    managed.write("clusters/c1.yaml", cluster(SPEC + classes))

    said = managed.run("render", code=1).err

    assert "POOL017" in places(said)
    managed.workload("a", QUEUED % "queue" + "    provisioning: {type: ComputeClass, name: ladder}\n")
    managed.run("render")


def test_one_workload_on_two_clusters_differs_by_their_files(managed: Repo) -> None:
    """Each cluster's platform follows its own file; the workload is one file for both."""
    spec = SPEC.replace("slices: 3", "slices: 7").replace("name: tpus,", "name: tpus, flavor: other,")
    managed.write("clusters/c2.yaml", cluster(spec, name="c2"))
    managed.workload("a", (QUEUED % "queue").replace("[c1]", "[c1, c2]"))
    managed.run("render")

    assert managed.runs() == managed.runs(cluster="c2")
    assert 'nominalQuota: "24"' in managed.read(f"{FOLDER}/queues.yaml")
    assert 'nominalQuota: "56"' in managed.read("overlays/c2/_platform/queues.yaml")
    assert "name: other" in managed.read("overlays/c2/_platform/flavors.yaml")
    managed.run("validate")


def test_controllers_are_rendered_checked_and_told_when_edited(managed: Repo) -> None:
    """A hand edit of the folder is shown as any other; one of the release is refused, also by validate."""
    managed.run("render")
    folder, base = "overlays/c1/_controllers", "bases/controllers/kueue-v0.19.2/manifests.yaml"
    assert list(managed.tree(folder)) == [f"{folder}/kustomization.yaml"]

    managed.write(base, managed.read(base).replace("kueue:v0.19.2", "kueue:mine"))
    for arguments in (["render"], ["render", "--check"], ["validate"]):
        done = managed.run(*arguments, "-o", "json", code=1).json
        wrong = [(one["id"], one["file"]) for one in done["problems"] if one["severity"] == "error"]
        assert wrong == [("CTRL002", base)]


def test_controllers_of_somebody_else_leave_the_tree(managed: Repo) -> None:
    """`controllers: {managed: false}` removes the folder; the platform stays."""
    managed.run("render")
    managed.write("clusters/c1.yaml", cluster(f"{SPEC}\ncontrollers: {{managed: false}}"))

    assert platform(managed) == {
        "overlays/c1/_controllers/kustomization.yaml": ["removed", "nothing asks for it"]
    }
    managed.run("validate")
