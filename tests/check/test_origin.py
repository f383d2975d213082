"""Problems of rendered objects stand at the field of the TPUWorkload or TPUCluster that a person changes."""

from functools import cache
from typing import Any

import pytest
from tests.conftest import PROJECT

from slicewright.check.origin import Origins, of_cluster
from slicewright.intent.source import SourceFile
from slicewright.kubernetes.problem import Path, errors
from slicewright.objects import Resource
from slicewright.rendering.changes import render
from slicewright.rendering.io.package_data import package
from slicewright.rendering.overlays import Bases, make
from slicewright.rendering.platform.platform_files import objects
from slicewright.rendering.repository import Repository, Settings, read_repository

HEAD = "apiVersion: slicewright.dev/v1alpha1\nkind: "
CLUSTER = """\
TPUCluster
metadata: {name: c1}
spec:
  project: p
  location: us-west4
  nodeLocations: [us-west4-a]
  pools:
  - {name: v5e, tpu: v5litepod-16, slices: 4}
  - {name: v6e, tpu: v6e-16, slices: 4}
  - {name: v5p, tpu: v5p-32, slices: 8}
  - {name: cpu, machineType: n2-standard-64, nodes: 4}
  cohorts: [{name: all, quota: [{pool: v6e, nominalSlices: 1}]}]
  clusterQueues:
  - {name: other, quota: []}
  - name: tpu
    cohortName: all
    quota: [{pool: v6e, nominalSlices: 2}, {pool: v5e}, {pool: v5p}, {pool: cpu}]
    preemption: {withinClusterQueue: LowerPriority}
    localQueues:
    - {name: a, namespace: default}
    - {name: team, namespace: default}
    - {name: q, namespace: one}
    - {name: q, namespace: two}
  teams: [{name: one, namespace: one}, {name: two, namespace: two, serviceAccountName: robot}]
  kueue: {waitForPodsReady: {timeout: 2h}}
"""
JOBSET = """\
TPUWorkload
metadata: {name: a, annotations: {example.com/note: mine}}
spec:
  clusters: [c1]
  tpu: v5litepod-16
  slices: 2
  queueName: team
  workloadPriorityClassName: high
  provisioning: OnDemand
  hostNetwork: true
  privileged: true
  failurePolicy:
    maxRestarts: 4
    rules: [{name: first, action: FailJobSet, onJobFailureReasons: [BackoffLimitExceeded]}]
  container:
    image: x
    env: [{name: A, value: b}, {name: C, value: d}]
  podTemplate:
    spec:
      serviceAccountName: robot
      volumes: [{name: one, emptyDir: {}}, {name: two, emptyDir: {}}]
      containers: [{name: side, image: "y"}]
  auxiliaryJobs:
  - {name: board, pool: cpu, podTemplate: {spec: {containers: [{name: board, image: z}]}}}
  patches:
  - target: {kind: JobSet}
    ops: [{op: add, path: /spec/ttlSecondsAfterFinished, value: 7}]
"""
PATHWAYS = """\
TPUWorkload
metadata: {name: p}
spec:
  clusters: [c1]
  tpu: v5p-32
  queueName: team
  container: {image: x}
  pathways: {pathwaysDir: "gs://b/p", head: {pool: cpu}}
"""
OPERATOR = """\
TPUWorkload
metadata: {name: o}
spec:
  clusters: [c1]
  tpu: v5p-32
  api: PathwaysJob
  queueName: team
  container: {image: x}
  pathways: {pathwaysDir: "gs://b/p", head: {podTemplate: {spec: {serviceAccountName: robot}}}}
"""
FIXED = """\
TPUWorkload
metadata: {name: f}
spec:
  clusters: [c1]
  tpu: v5litepod-16
  api: Job
  naming: Fixed
  container: {image: x}
  patches:
  - target: {kind: Service}
    ops: [{op: add, path: /spec/suspend, value: 7}]
"""
FILES = {
    "clusters/c1.yaml": CLUSTER,
    "workloads/a.yaml": JOBSET,
    "workloads/p.yaml": PATHWAYS,
    "workloads/o.yaml": OPERATOR,
    "workloads/f.yaml": FIXED,
}
JOB = ("template", "spec")
TEMPLATE = (*JOB, "template")


@cache
def repository() -> Repository:
    """Return a cluster and workloads of every pattern, read once."""
    files = [SourceFile(path, HEAD + text) for path, text in FILES.items()]

    def read_text(path: str) -> str | None:
        return (PROJECT / path).read_text(encoding="utf-8") if (PROJECT / path).is_file() else None

    found = read_repository(files, Settings(), package(), read_text)
    assert () == errors(found.problems)
    return found


@cache
def items() -> dict[str, Resource]:
    """Return the objects of the runs, and those of the platform, by folder (and kind and name)."""
    rendering = render(repository(), {})
    assert () == errors(rendering.problems)
    bases = Bases(repository().read_text, package().schemas)
    made = {entry.plan.folder: make(entry, bases)[0] for entry in rendering.planned}
    runs = {folder: Resource(run.objects[-1], folder) for folder, run in made.items() if run}
    of_platform = [Resource(data, "overlays/c1/_platform") for data in objects(repository().sites["c1"])]
    return runs | {f"{item.kind} {item.name}": item for item in of_platform}


def place(item: Resource, path: Path) -> str:
    """Return what stands at the place to which a problem of a value leads."""
    origins = Origins(repository().workloads, repository().sites)
    problem = origins.placed(item.problem("X", path, "wrong"), item)
    assert (item.file, item.subject, path) == (problem.folder, problem.object, problem.path)
    line = (HEAD + FILES[problem.file]).splitlines()[problem.line - 1]
    return line[problem.column - 1 :]


def job(name: str, *rest: str | int) -> Path:
    """Return a path below the first replicatedJob, or below the second one."""
    return ("spec", "replicatedJobs", int(name in ("board", "worker")), *rest)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("metadata", "labels", "kueue.x-k8s.io/queue-name"), "team"),
        (("metadata", "labels", "kueue.x-k8s.io/priority-class"), "high"),
        (("metadata", "annotations", "example.com/note"), "mine"),
        (job("slice", "replicas"), "2"),
        (job("slice", *JOB, "parallelism"), "2"),
        (job("slice", *TEMPLATE, "spec", "nodeSelector", "cloud.google.com/gke-tpu-topology"), "OnDemand"),
        (job("slice", *TEMPLATE, "spec", "containers", 0, "env"), "[{name: A"),
        (job("slice", *TEMPLATE, "spec", "containers", 0, "resources"), "image: x"),
        (job("slice", *TEMPLATE, "spec", "containers", 1, "image"), '"y"'),
        (job("slice", *TEMPLATE, "spec", "serviceAccountName"), "robot"),
        (job("slice", *TEMPLATE, "spec", "volumes", 1), "{name: two"),
        (job("slice", *TEMPLATE, "spec", "volumes"), "[{name: one"),
        (job("slice", *TEMPLATE, "spec", "hostNetwork"), "true"),
        (job("slice", *TEMPLATE, "spec", "dnsPolicy"), "true"),
        (job("slice", *TEMPLATE, "spec", "containers", 0, "securityContext", "privileged"), "true"),
        (job("slice", *TEMPLATE), "spec:"),
        (job("board", *TEMPLATE, "spec", "containers", 0, "image"), "z}"),
        (job("board", *TEMPLATE, "spec", "nodeSelector"), "{name: board, pool"),
        (job("board", "replicas"), "{name: board, pool"),
        (job("slice", "dependsOn"), "- {name: board"),
        (("spec", "failurePolicy", "maxRestarts"), "4"),
        (("spec", "failurePolicy", "rules", 0, "action"), "FailJobSet"),
        (("spec", "ttlSecondsAfterFinished"), "target: {kind: JobSet}"),
        (("spec", "suspend"), "a, "),
        (("kind",), "a, "),
    ],
)
def test_value_of_a_jobset_leads_to_its_field(path: Path, expected: str) -> None:
    """Queue, priority, counts, pods by the names in their lists, patches; else to the workload's name."""
    assert place(items()["overlays/c1/default/a"], path).startswith(expected)


@pytest.mark.parametrize(
    ("workload", "path", "expected"),
    [
        ("p", job("head", *TEMPLATE, "spec", "containers", 0, "image"), "x}"),
        ("p", job("head", "replicas"), '{pathwaysDir: "gs://b/p", head'),
        ("p", job("worker", "replicas"), "v5p-32"),
        ("p", job("worker", *TEMPLATE, "spec", "initContainers", 0, "image"), "{pathwaysDir"),
        ("p", job("worker", *TEMPLATE, "spec", "containers", 0, "image"), "{pathwaysDir"),
        ("o", ("spec", "workers", 0, "numSlices"), "v5p-32"),
        ("o", ("spec", "pathwaysDir"), '"gs://b/p", head'),
        ("o", ("spec", "controller", "template", "spec", "serviceAccountName"), "robot"),
        ("f", ("spec", "parallelism"), "v5litepod-16"),
        ("f", ("spec", "template", "spec", "nodeSelector"), "v5litepod-16"),
        ("f", (), "f}"),
    ],
)
def test_every_pattern_leads_back(workload: str, path: Path, expected: str) -> None:
    """Heads lead to `pathways`, workers and slices to `tpu`, where no number of slices is written."""
    assert place(items()[f"overlays/c1/default/{workload}"], path).startswith(expected)


GROUPS = ("spec", "resourceGroups", 0)


@pytest.mark.parametrize(
    ("item", "path", "expected"),
    [
        ("ClusterQueue tpu", (*GROUPS, "flavors", 1, "resources", 0, "nominalQuota"), "pool: v5e}"),
        ("ClusterQueue tpu", (*GROUPS, "coveredResources"), "name: tpu"),
        ("ClusterQueue tpu", ("spec", "preemption", "withinClusterQueue"), "LowerPriority"),
        ("ClusterQueue tpu", ("spec", "cohortName"), "all"),
        ("ClusterQueue other", GROUPS, "name: other"),
        ("Cohort all", (*GROUPS, "flavors", 0), "pool: v6e, nominalSlices: 1"),
        ("LocalQueue team", ("spec", "clusterQueue"), "name: team"),
        ("ResourceFlavor v6e-4x4", (), "name: v6e"),
        ("Namespace two", (), "name: two"),
        ("ServiceAccount robot", (), "name: two"),
        ("WorkloadPriorityClass high", ("value",), "c1"),
    ],
)
def test_value_of_the_platform_leads_to_the_cluster(item: str, path: Path, expected: str) -> None:
    """Quota leads to the entry of its pool, queues and teams to theirs, defaults to the cluster's name."""
    assert place(items()[item], path).lstrip("{").startswith(expected)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("Cohort", "gone", ("spec", "cohorts")),
        ("ConfigMap", "kueue-manager-config", ("spec", "kueue")),
        ("LocalQueue", "gone", ("spec", "clusterQueues")),
        ("Node", "v5e-0-0", ("spec", "pools")),
        ("Pod", "a", ("metadata", "name")),
    ],
)
def test_what_the_file_does_not_name_leads_to_its_list(kind: str, name: str, expected: Path) -> None:
    """And what it has no list for to the name of the cluster."""
    data: dict[str, Any] = {"kind": kind, "metadata": {"name": name}}

    assert expected == of_cluster(repository().sites["c1"], data)


@pytest.mark.parametrize("name", ["a-00000000", "brought"])
def test_object_of_another_run_leads_to_the_name(name: str) -> None:
    """What is frozen of an earlier intent stands nowhere in the file; nor does what a component brings."""
    run = {"slicewright.dev/run": "00000000"} if name != "brought" else {}
    data = {"kind": "JobSet", "metadata": {"name": name, "labels": run}}

    assert place(Resource(data, "overlays/c1/default/a"), ("spec", "replicatedJobs", 0)).startswith("a, ")


@pytest.mark.parametrize("folder", ["overlays/gone/_platform", "overlays/c1/default/gone", "custom/x"])
def test_what_no_input_asks_for_stays_where_it_is(folder: str) -> None:
    """A folder of no workload, of no cluster, or outside of the tree has no line of ours."""
    item = Resource({"kind": "Pod", "metadata": {"name": "x"}}, folder)
    problem = item.problem("X", (), "wrong")
    origins = Origins(repository().workloads, repository().sites)

    assert problem == origins.placed(problem, item)
    assert problem == origins.placed(problem, None)
