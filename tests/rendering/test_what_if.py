"""Changes of a person in the documents that they are about, and the tree that a render makes of them."""

from typing import Any

import pytest
from tests.conftest import Repo

from slicewright.project.judge import rendered
from slicewright.project.repository_reader import read_checkout
from slicewright.rendering.changed_documents import (
    ChangeError,
    changed_documents,
    read_changes,
    without_quota,
)

CLUSTER = """
    pools:
    - {name: tpus, tpu: v5litepod-8, slices: 2, nodePoolNames: [one, two]}
    - {name: more, tpu: v5litepod-16}
    clusterQueues:
    - name: cq
      quota: [{pool: tpus, nominalSlices: 2}]
      preemption: {withinClusterQueue: Never}
      localQueues: [{name: q, namespace: default}, {name: q, namespace: team}]
"""
RUN = "clusters: [c1, c2]\ntpu: v5litepod-8\nnaming: Fixed\nqueueName: q\ncontainer: {image: python:3.12}"
SWEEP = f"{RUN}\nmatrix: {{env: {{LR: [1, 2]}}}}"

QUEUE = ("clusterQueues", 0)


@pytest.fixture
def repo(empty: Repo) -> Repo:
    """Return a repository with two clusters, workloads of one name in two namespaces, and a sweep."""
    empty.cluster(spec=CLUSTER)
    empty.cluster("c2", spec=CLUSTER)
    empty.workload("a", f"{RUN}\nslices: 2")
    empty.workload("twin", RUN)
    empty.workload("twin-team", RUN, metadata=", namespace: team")
    path = empty.root / "workloads" / "twin-team.yaml"
    path.write_text(path.read_text("utf-8").replace("name: twin-team", "name: twin"), encoding="utf-8")
    empty.workload("sweep", SWEEP)
    return empty


def changed(repo: Repo, text: str) -> dict[str, Any]:
    """Return the specs of the documents that changes make other than they are, by name."""
    documents = changed_documents(read_checkout(repo.root).repository, "c1", read_changes(text))
    return {data["metadata"]["name"]: data["spec"] for data in documents.values()}


def refused(repo: Repo, text: str) -> tuple[str, str]:
    """Return message and hint of a change that does not fit."""
    with pytest.raises(ChangeError) as error:
        changed(repo, text)
    return str(error.value), error.value.hint


@pytest.mark.parametrize(
    ("text", "slices"), [("pools.tpus.slices=+2", 4), ("pools.tpus.slices=-1", 1), ("pools.tpus.slices=3", 3)]
)
def test_slices_of_a_pool(repo: Repo, text: str, slices: int) -> None:
    """Relative to what is written, or as it is to be; each slice has a name for its node pool."""
    (pool, _) = changed(repo, text)["c1"]["pools"]

    assert (slices, ["one", "two", "tpus-2", "tpus-3"][:slices]) == (pool["slices"], pool["nodePoolNames"])


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("pools.more.slices=+1", ("c1", "pools", 1, "slices"), 2),
        ("clusterQueues.cq.quota.tpus.nominalSlices=+1", ("c1", *QUEUE, "quota", 0, "nominalSlices"), 3),
        ("clusterQueues.cq.preemption.withinClusterQueue=LowerPriority",
         ("c1", *QUEUE, "preemption", "withinClusterQueue"), "LowerPriority"),
        ("clusters.c2.clusterQueues.cq.cohortName=all", ("c2", *QUEUE, "cohortName"), "all"),
        ("workloads.a.slices=+1", ("a", "slices"), 3),
        ("workloads.team/twin.slices=+1", ("twin", "slices"), 2),
        ("workloads.a.rehearsal.submitAt=30m", ("a", "rehearsal", "submitAt"), "30m"),
        ("workloads.sweep.slices=+1", ("sweep", "slices"), 2),
        ("workloads.a.clusters.c2=c1", ("a", "clusters"), ["c1", "c1"]),
        ("workloads.a.slices=+1,workloads.a.slices=+1", ("a", "slices"), 4),
    ],
)  # fmt: skip
def test_value_at_a_path(repo: Repo, text: str, path: tuple[str | int, ...], value: object) -> None:
    """By names; what is not written has its default, and mappings on the way are made."""
    found: Any = changed(repo, text)
    for step in path:
        found = found[step]

    assert value == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pools.tpus.slices=+1", ["queues have quota for 2 of the 3 slices of tpus"]),
        ("pools.tpus.slices=+1,clusterQueues.cq.quota.tpus.nominalSlices=+1", []),
        ("pools.tpus.slices=-1", []),
        ("pools.more.slices=+1", []),
        ("workloads.a.slices=1,clusterQueues.cq.quota.tpus.nominalSlices=1", []),
    ],
)
def test_slices_without_quota_are_told(repo: Repo, text: str, told: list[str]) -> None:
    """Kueue would never admit a run to them."""
    checkout = read_checkout(repo.root)
    changes = read_changes(text)
    there, _ = rendered(checkout, changed_documents(checkout.repository, "c1", changes))

    assert told == without_quota(there.repository.sites["c1"], changes)


def test_null_removes(repo: Repo) -> None:
    """A field, and an element of a list."""
    found = changed(repo, "pools.more=null,workloads.a.slices=null,workloads.a.run=null")

    assert ["tpus"] == [pool["name"] for pool in found["c1"]["pools"]]
    assert "slices" not in found["a"]


def test_number_of_defaults_is_in_effect(repo: Repo) -> None:
    """A relative change adds to what TPUDefaults give."""
    text = "apiVersion: slicewright.dev/v1alpha1\nkind: TPUDefaults\nmetadata: {name: d}\n"
    text += "spec: {failurePolicy: {maxRestarts: 3}}\n"
    repo.write("defaults/d.yaml", text)

    found = changed(repo, "workloads.default/twin.failurePolicy.maxRestarts=+1")

    assert {"maxRestarts": 4} == found["twin"]["failurePolicy"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("pools.tpu.slices=1", "'pools' has no 'tpu'", "did you mean 'tpus'?"),
        ("clusterQueues.cq.quota.x.nominalSlices=1", "'clusterQueues.cq.quota' has no 'x'",
         "write one of: tpus"),
        ("workloads.b.slices=1", "there is no workload 'b'", "write one of: a, sweep, twin"),
        ("workloads.team/b.slices=1", "there is no workload 'team/b'", "did you mean 'team/twin'?"),
        ("workloads.twin.slices=1", "'twin' is the name of several workloads",
         "write one of: default/twin, team/twin"),
        ("workloads.sweep-1.slices=1", "there is no workload 'sweep-1'",
         "it is an entry of a sweep: change default/sweep, which is written"),
        ("a.slices=1", "'a' is a workload, not a field of a TPUCluster", "write workloads.a.slices=1"),
        ("workloads=1", "there is no workload ''", "write one of: a, sweep, twin"),
        ("workloads.a=1", "'workloads.a=1' names no field", "write for example workloads.a.FIELD=VALUE"),
        ("clusters.c3.mode=x", "there is no cluster 'c3'", "write one of: c1, c2"),
        ("workloads.a.queueName=+1", "'queueName' has no number to add to", ""),
        ("workloads.a.backoffLimit=+1", "'backoffLimit' has no number to add to",
         "write the number without a sign; a quota without a number follows its pool"),
        ("workloads.a.slices.x=1", "'slices' holds no fields", "end the path there"),
        ("workloads.a.slices.x.y=1", "'slices.x' holds no fields", "end the path there"),
    ],
)  # fmt: skip
def test_change_that_does_not_fit(repo: Repo, text: str, message: str, hint: str) -> None:
    """A name that does not exist has the nearest ones as its hint."""
    told = message if "names no field" in message else f"{message} (in '{text}')"

    assert (told, hint) == refused(repo, text)


def test_variant_is_rendered_in_memory(repo: Repo) -> None:
    """What a render would write is there, and no file of the user changes."""
    before = {path: path.read_bytes() for path in repo.root.rglob("*") if path.is_file()}
    checkout = read_checkout(repo.root)
    there, against = rendered(
        checkout, changed_documents(checkout.repository, "c1", read_changes("workloads.a.slices=+1"))
    )
    overlay = "overlays/c1/default/a/kustomization.yaml"

    assert () == against
    assert overlay in there.existing
    assert there.existing[overlay] == there.repository.read_text(overlay)
    assert {"a": 3} == {one.name: one.slices for one in there.repository.workloads if one.name == "a"}
    assert before == {path: path.read_bytes() for path in repo.root.rglob("*") if path.is_file()}


def test_file_that_a_render_deletes_is_gone(repo: Repo) -> None:
    """The overlay of a workload that left the cluster is not read."""
    repo.run("render")
    checkout = read_checkout(repo.root)
    changes = read_changes("workloads.a.clusters=[c2]")
    there, _ = rendered(checkout, changed_documents(checkout.repository, "c1", changes))

    assert "overlays/c1/default/a/kustomization.yaml" in checkout.existing
    assert there.repository.read_text("overlays/c1/default/a/kustomization.yaml") is None


def test_value_that_the_schema_refuses_is_a_problem_at_its_place(repo: Repo) -> None:
    """With the id of that schema's problems, in the file that the user has."""
    checkout = read_checkout(repo.root)
    _, against = rendered(
        checkout, changed_documents(checkout.repository, "c1", read_changes("pools.tpus.slices=-5"))
    )

    assert [("IN005", "'slices' must be at least 1, not -3", "clusters/c1.yaml")] == [
        (problem.id, problem.message, problem.file) for problem in against
    ]


ARRIVALS = """
    rehearsal:
      arrivals:
      - {name: evening, rate: 1/h, count: 3, mix: [{workload: a}, {workload: twin, weight: 2}]}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rehearsal.arrivals.evening.rate=2/h", {"rate": "2/h"}),
        ("rehearsal.arrivals.evening.count=+4", {"count": 7}),
        ("rehearsal.arrivals.evening.seed=+1", {"seed": 2}),
        (
            "rehearsal.arrivals.evening.mix.a.weight=+2",
            {"mix": [{"workload": "a", "weight": 3}, {"workload": "twin", "weight": 2}]},
        ),
        (
            "rehearsal.arrivals.evening.mix.a.duration.exponential.mean=1h,rehearsal.arrivals.evening.mix.twin=null",
            {"mix": [{"workload": "a", "duration": {"exponential": {"mean": "1h"}}}]},
        ),
    ],
)
def test_arrival_profiles_are_known_by_name(repo: Repo, text: str, expected: dict[str, Any]) -> None:
    """Work in a mix by its workload; defaults are those of the schema."""
    repo.cluster(spec=CLUSTER + ARRIVALS)
    (profile,) = changed(repo, text)["c1"]["rehearsal"]["arrivals"]

    assert expected == {key: profile[key] for key in expected}
