"""Names over the budget: controllers append to ours, and what they make must fit 63 characters."""

import pytest
from tests.words import places

from .kit import CLUSTER, PROGRAM, cluster, planned, workload

FIXED = "naming: Fixed\n"
PATHWAYS = "pathways: {pathwaysDir: 'gs://b/p'}\n"
AUXILIARY = """
auxiliaryJobs:
- {name: tensorboard-uploader, pool: cpu-np, podTemplate: {spec: {containers: [{name: m, image: x}]}}}
"""

# The longest name that is legal: 63 - len("-slice-1-15") - len("-abcde") and so on.
BUDGETS = {
    "jobset": ("tpu: v5litepod-16\nslices: 2\n" + PROGRAM, 63 - len("-slice-1-3") - 6),
    "jobset-of-11-slices": ("tpu: v5litepod-16\nslices: 11\n" + PROGRAM, 63 - len("-slice-10-3") - 6),
    "jobset-of-64-hosts": ("tpu: v5litepod-256\n" + PROGRAM, 63 - len("-slice-0-63") - 6),
    "auxiliary": ("tpu: v5litepod-16\n" + PROGRAM + AUXILIARY, 63 - len("-tensorboard-uploader-0-0") - 6),
    "job": ("tpu: v5litepod-4\napi: Job\n" + PROGRAM, 63 - 6),
    "indexed-job": ("tpu: v5litepod-16\napi: Job\n" + PROGRAM, 63 - len("-3") - 6),
    "pathways": ("tpu: v5litepod-16\n" + PROGRAM + PATHWAYS, 63 - len("-pathways-head-0-0.pw-01234567")),
    "pathwaysjob": ("tpu: v5litepod-16\napi: PathwaysJob\n" + PROGRAM + PATHWAYS, 22),
}


@pytest.mark.parametrize("pattern", BUDGETS)
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "hashed"])
def test_longest_name_is_legal_and_one_more_is_refused(pattern: str, fixed: bool) -> None:
    """The longest name renders for each pattern, hashed with its id; one character more is refused."""
    spec, most = BUDGETS[pattern]
    spec, most = (spec + FIXED, most) if fixed else (spec, most - 9)

    plans, problems = planned(workload(spec, name="n" * most))
    none, refused = planned(workload(spec, name="n" * (most + 1)))

    assert [most + (0 if fixed else 9)] == [len(plan.name) for plan in plans]
    assert tuple(problem for problem in problems if problem.severity == "error") == ()
    assert none == ()
    assert [problem.id for problem in refused if problem.severity == "error"] == ["NAME001"]


def test_formula_of_the_jobset_webhook_holds() -> None:
    """`<jobset>-<replicatedJob>-<job index>-<pod index>-abcde` of the longest name has 63 characters."""
    spec, most = BUDGETS["jobset"]

    (plan,), _ = planned(workload(spec + FIXED, name="n" * most))

    assert len(f"{plan.name}-slice-{plan.slices - 1}-{plan.hosts - 1}-abcde") == 63


def test_coordinator_of_pathways_is_a_label_value() -> None:
    """`<jobset>-pathways-head-0-0.<subdomain>` of the longest name has 63 characters."""
    spec, most = BUDGETS["pathways"]

    (plan,), _ = planned(workload(spec + FIXED, name="n" * most))

    assert plan.pathways is not None
    assert len(f"{plan.name}-pathways-head-0-0.{plan.pathways.subdomain}") == 63


def said(spec: str, name: str) -> str:
    """Return what is said against a name."""
    _, problems = planned(workload(spec, name=name))
    return "\n".join(problem.text() for problem in problems if problem.severity == "error")


def test_refusal_of_a_pathwaysjob_counts_what_is_left() -> None:
    """A hashed PathwaysJob has 13 characters left, and the error says it."""
    spec, _ = BUDGETS["pathwaysjob"]

    expected = "workloads/a.yaml:3:18: NAME001"
    assert expected == places(said(spec, "fourteen-chars"))


def test_refusal_of_a_fixed_jobset_speaks_of_no_id() -> None:
    """A Fixed name has no id, and the error names JobSet's formula."""
    spec, most = BUDGETS["jobset"]

    expected = "workloads/a.yaml:3:18: NAME001"
    assert expected == places(said(spec + FIXED, "n" * (most + 1)))


def test_auxiliary_job_that_leaves_no_room_is_named() -> None:
    """Where the name of an auxiliary job takes everything, shortening the workload's would not help."""
    spec = "tpu: v5litepod-16\n" + PROGRAM + AUXILIARY.replace("tensorboard-uploader", "x" * 60)

    expected = "workloads/a.yaml:3:18: NAME001"
    assert expected == places(said(spec + FIXED, "a"))


def test_subdomain_is_short_and_its_own() -> None:
    """Two Pathways runs of one namespace never share a subdomain, nor do equal names in two namespaces."""
    spec, _ = BUDGETS["pathways"]
    other = workload(spec + FIXED, name="a", metadata=", namespace: other")
    plans, _ = planned(workload(spec + FIXED, name="a"), workload(spec + FIXED, name="b"), other)

    subdomains = [plan.pathways.subdomain for plan in plans if plan.pathways]

    assert len(set(subdomains)) == 3
    assert {11} == {len(subdomain) for subdomain in subdomains}


def test_two_writers_of_one_identity_are_refused() -> None:
    """(cluster, namespace, name) is an identity; the refusal says where the first one is."""
    text = workload("tpu: v5litepod-8\n" + PROGRAM)

    _, problems = planned(text, text)

    expected = "workloads/b.yaml:7:14: NAME002"
    assert [expected] == places([*problems])


def test_same_name_in_another_namespace_or_cluster_is_another_workload() -> None:
    """Only the whole identity counts."""
    spec = "tpu: v5litepod-8\n" + PROGRAM
    other = workload(spec, metadata=", namespace: other")

    plans, problems = planned(workload(spec), other)

    assert problems == ()
    assert [plan.namespace for plan in plans] == ["default", "other"]


def test_fixed_workload_called_as_a_hashed_run_is_refused() -> None:
    """A Hashed `a` whose run is `a-<id>` and a Fixed `a-<id>` would make one object."""
    spec = "tpu: v5litepod-8\n" + PROGRAM
    (hashed,), _ = planned(workload(spec))

    _, problems = planned(workload(spec), workload(spec + FIXED, name=hashed.name))

    expected = "workloads/b.yaml:3:18: NAME003"
    assert [expected] == places([*problems])


def test_object_of_another_kind_is_refused_too() -> None:
    """What controllers make of a JobSet and of an indexed Job of one name meets in a Service."""
    spec = "tpu: v5litepod-8\n" + PROGRAM
    (hashed,), _ = planned(workload(spec))

    _, problems = planned(workload(spec), workload("api: Job\n" + spec + FIXED, name=hashed.name))

    assert [problem.id for problem in problems] == ["NAME003"]


def test_cluster_that_is_declared_twice_is_refused() -> None:
    """The place of the first one is given."""
    _, problems = planned(
        workload("tpu: v5litepod-8\n" + PROGRAM), clusters=f"{cluster()}---\n{cluster(CLUSTER)}"
    )

    expected = "clusters/c1.yaml:12:18: NAME002"
    assert [expected] == places([*problems])
