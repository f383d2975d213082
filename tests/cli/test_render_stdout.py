"""`slicewright render --stdout`: objects as they would be committed, for a pipe."""

import yaml
from tests.conftest import Repo

FIXED = "naming: Fixed\nclusters: [c1]\ntpu: v5litepod-8\ncontainer: {image: x}"


def test_stdout_equals_the_frozen_run(repo: Repo) -> None:
    """What is piped into kubectl is what would be committed, with no files involved."""
    piped = repo.run("render", "a", "--stdout")
    assert not (repo.root / "overlays").exists()

    repo.run("render")

    _, _, body = repo.read(f"overlays/c1/default/a/{repo.runs()[0]}").split("\n", 2)
    assert (body, "") == (piped.out, piped.err)
    assert yaml.safe_load(piped.out)["kind"] == "JobSet"


def test_stdout_of_a_frozen_run_is_what_is_frozen(repo: Repo) -> None:
    """A run that is there stays as it is, whatever today's bases would make of it."""
    repo.run("render")
    before = repo.run("render", "a", "--stdout").out
    base = repo.read("bases/jobset/jobset.yaml")
    repo.write("bases/jobset/jobset.yaml", base.replace("restartPolicy: Never", "restartPolicy: OnFailure"))

    assert before == repo.run("render", "a", "--stdout").out


def test_stdout_of_an_edited_run_is_refused(repo: Repo) -> None:
    """What nobody vouches for is not piped into a cluster."""
    repo.run("render")
    path = f"overlays/c1/default/a/{repo.runs()[0]}"
    repo.write(path, repo.read(path) + "# mine\n")

    done = repo.run("render", "a", "--stdout", code=1)

    message = "RUN001 a frozen run was edited by hand: it did not have '# mine' here"
    line = len(repo.read(path).splitlines())
    assert (done.out, done.err.startswith(f"{path}:{line}: {message}\n")) == ("", True)


def test_stdout_prints_several_objects_and_workloads(repo: Repo) -> None:
    """A Job with its Service, and all workloads of a cluster, as one stream of documents."""
    repo.workload("b", "api: Job\nclusters: [c1]\ntpu: v5litepod-16\ncontainer: {image: x}")

    text = repo.run("render", "--stdout").out
    record = repo.run("render", "--stdout", "-o", "json").json

    documents = list(yaml.safe_load_all(text))
    assert [document["kind"] for document in documents] == ["JobSet", "Service", "Job"]
    assert {"apiVersion": "v1", "kind": "List", "items": documents} == record


def test_stdout_of_a_fixed_workload_is_the_whole_object(repo: Repo) -> None:
    """Not its patches: what kustomize would build."""
    repo.workload("b", FIXED)

    found = yaml.safe_load(repo.run("render", "b", "--stdout").out)

    assert (
        found["kind"],
        found["metadata"]["name"],
        found["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["image"],
    ) == ("JobSet", "b", "x")


def test_stdout_wants_one_cluster(repo: Repo) -> None:
    """Objects of two clusters in one stream would go to one of them."""
    repo.cluster("c2")
    repo.workload("a", "clusters: [c1, c2]\ntpu: v5litepod-8\ncontainer: {image: x}")

    several = repo.run("render", "--stdout", code=2)
    unknown = repo.run("render", "--stdout", "--cluster", "cc2", code=2)

    assert several.err.endswith("Error: name one cluster with --cluster: c1, c2\n")
    assert unknown.err.endswith("Error: nothing of this runs on a cluster 'cc2'; did you mean 'c2'?\n")
    assert repo.run("render", "--stdout", "--cluster", "c2").out != ""


def test_stdout_of_an_empty_repository_is_empty(empty: Repo) -> None:
    """Nothing is not a document."""
    assert empty.run("render", "--stdout").out == ""
    assert empty.run("render", "--stdout", "-o", "json").json["items"] == []


def test_stdout_shows_problems_on_stderr(repo: Repo) -> None:
    """Whatever stands against the tree stands against the pipe."""
    repo.workload("a", FIXED.replace("v5litepod-8", "v5litepod-7"))
    unplanned = repo.run("render", "--stdout", code=1)
    repo.workload("a", FIXED + "\npatches: [{target: {kind: Job}, ops: [{op: remove, path: /spec}]}]")

    unbuilt = repo.run("render", "--stdout", code=1)

    assert (unplanned.out, unbuilt.out) == ("", "")
    assert "TPU005" in unplanned.err
    assert "PATCH001" in unbuilt.err
