"""The service accounts of a run's pods: what is written, else that of the namespace's team."""

from typing import Any

import pytest
from tests.words import places

from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpuworkload import Workload
from slicewright.intent.tpuworkload import decode_workload as decode
from slicewright.rendering.folder import run_id
from slicewright.rendering.plan.explanation import explain
from slicewright.rendering.plan.plan import Plan

from .kit import PROGRAM, cluster, planned, workload

TEAM = "teams: [{name: a, namespace: default, serviceAccountName: trainer}, {name: b, namespace: other}]"
TWO = (
    "teams: [{name: a, namespace: default, serviceAccountName: x},"
    " {name: b, namespace: default, serviceAccountName: y}]"
)
POOLS = "pools: [{name: tpus, tpu: v6e-16}, {name: cpu, machineType: n2-standard-64}]"
HEAD = "pathways: {pathwaysDir: gs://b/tmp, head: {pool: cpu}}\n"
BUCKETS = "gcsFuse: [{bucket: data, mountPath: /data}, {bucket: more, mountPath: /more}]\n"


def made(spec: str, teams: str = TEAM) -> tuple[Plan, list[str]]:
    """Return the plan of a spec on a cluster with teams, and what is said of service accounts."""
    (plan,), problems = planned(workload(f"tpu: v6e-16\n{spec}"), clusters=cluster(f"{POOLS}\n{teams}"))
    return plan, [problem.text() for problem in problems if problem.id.startswith("TEAM01")]


def read(spec: str) -> Workload:
    """Return the workload of a spec, as it is written."""
    text = workload(f"tpu: v6e-16\n{spec}")
    documents, _ = read_documents(text, "")
    return decode(Source(SourceFile("workloads/a.yaml", text), documents[0]))


def account(template: dict[str, Any]) -> str:
    """Return the service account that a pod template names."""
    found: str = template.get("spec", {}).get("serviceAccountName", "")
    return found


def test_account_of_the_team() -> None:
    """All pods of a run have the account of the namespace's team."""
    containers = "containers: [{name: m, image: x}]"
    auxiliary = f"auxiliaryJobs: [{{name: tb, pool: cpu, podTemplate: {{spec: {{{containers}}}}}}}]\n"
    plan, said = made(PROGRAM + auxiliary)
    pathways, of_pathways = made(PROGRAM + HEAD)

    assert ([], []) == (said, of_pathways)
    assert pathways.pathways is not None
    templates = [plan.pod_template, plan.auxiliaries[0].pod_template]
    templates += [pathways.pod_template, pathways.pathways.written.head.pod_template]
    assert ["trainer"] * 4 == [account(template) for template in templates]
    assert [{"name": "m", "image": "x"}] == plan.auxiliaries[0].pod_template["spec"]["containers"]


def test_explain_says_whose_account_it_is() -> None:
    """A person who asks where a service account comes from is told of the team."""
    for spec in (PROGRAM, PROGRAM + HEAD):
        (fact,) = [
            fact for fact in explain(made(spec)[0], read(spec), ()) if fact.what == "serviceAccountName"
        ]
        assert ("trainer", "spec.teams of c1, namespace default") == (fact.value, fact.because)


@pytest.mark.parametrize("name", ["mine", "default"])
def test_account_of_the_workload_stands(name: str) -> None:
    """A pod template that names an account keeps it; `default` is the way out."""
    written = f"podTemplate: {{spec: {{serviceAccountName: {name}}}}}\n"
    plan, said = made(PROGRAM + written + BUCKETS)

    assert ([], name) == (said, account(plan.pod_template))


def test_head_and_workers_are_asked_each() -> None:
    """An account of the workers' pods says nothing of the head's."""
    plan, _ = made(PROGRAM + HEAD + "podTemplate: {spec: {serviceAccountName: mine}}\n")

    assert plan.pathways is not None
    assert ("mine", "trainer") == (
        account(plan.pod_template),
        account(plan.pathways.written.head.pod_template),
    )


def test_pathwaysjob() -> None:
    """The head of a PathwaysJob has the account; a headless one has no template that could."""
    plan, _ = made(f"api: PathwaysJob\n{PROGRAM}pathways: {{pathwaysDir: gs://b/tmp}}\n")
    headless, _ = made("api: PathwaysJob\npathways: {pathwaysDir: gs://b/tmp, headless: true}\n")

    assert plan.pathways is not None
    assert headless.pathways is not None
    assert ("trainer", {}) == (account(plan.pathways.written.head.pod_template), plan.pod_template)
    assert ({}, {}) == (headless.pathways.written.head.pod_template, headless.pod_template)


def test_id_of_a_run_is_that_of_its_words() -> None:
    """The account of a team is not in the id of a run: it is decided by the cluster."""
    with_team, without = made(PROGRAM)[0], made(PROGRAM, "")[0]

    assert with_team.run == without.run == run_id(read(PROGRAM).spec)


@pytest.mark.parametrize("teams", ["", "teams: [{name: b, namespace: default}]"])
def test_bucket_without_an_account(teams: str) -> None:
    """A bucket that pods ask for as `default` of their namespace is a warning, each at its line."""
    plan, said = made(PROGRAM + BUCKETS, teams)

    assert "" == account(plan.pod_template)
    assert [f"workloads/a.yaml:7:{column}: warning: TEAM010" for column in (22, 56)] == places(said)
    assert [] == made(PROGRAM, teams)[1]


@pytest.mark.parametrize(("more", "warned"), [("", True), ("hostNetwork: true\n", False)])
def test_pathways_on_the_pod_network_without_an_account(more: str, warned: bool) -> None:
    """Pathways writes to its bucket as its pods, unless these are on the host network."""
    _, said = made(PROGRAM + HEAD + more, "")

    assert [True] * warned == ["access 'gs://b/tmp'" in text for text in said]


def test_hint_for_pathways_names_the_pods_of_workers_and_of_the_head() -> None:
    """Doing what the hint says ends the warning; a PathwaysJob's workers are made by its controller."""
    of_head = "pathways.head.podTemplate.spec.serviceAccountName"
    (said,) = made(PROGRAM + HEAD, "")[1]
    mounts = "api: PathwaysJob\ngcsFuse: [{bucket: b, mountPath: /b}]\n"
    (by_controller,) = made(PROGRAM + HEAD + mounts, "")[1]
    mended = HEAD.replace("pool: cpu", "pool: cpu, podTemplate: {spec: {serviceAccountName: x}}")

    assert f"hint: write podTemplate.spec.serviceAccountName and {of_head}, or" in said
    assert f"hint: write {of_head}, or" in by_controller
    assert [] == made(f"{PROGRAM}{mended}podTemplate: {{spec: {{serviceAccountName: x}}}}\n", "")[1]


def test_several_accounts() -> None:
    """Where teams of a namespace have several accounts, none is given, and the workload is asked for one."""
    plan, said = made(PROGRAM + BUCKETS, TWO)
    of_head = made(PROGRAM + HEAD, TWO)[1]
    named = made(PROGRAM + "podTemplate: {spec: {serviceAccountName: x}}\n", TWO)[1]

    assert "" == account(plan.pod_template)
    assert ["workloads/a.yaml:5:3: warning: TEAM011"] == places(said)
    assert "workloads/a.yaml:7:45: warning: TEAM011" == places(of_head)[0]
    assert [] == named
