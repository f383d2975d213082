"""The pods of every kind that makes pods: where their templates are, and how many of them Kueue counts."""

from typing import Any

import pytest

from slicewright.kubernetes.kinds import PODS
from slicewright.kubernetes.pods import maker, pods_of

POD: dict[str, Any] = {"spec": {"containers": [{"name": "main"}]}}
JOBSET = {
    "spec": {"replicatedJobs": [{"name": "node", "replicas": 2, "template": {"spec": {"template": POD}}}]}
}
RAY = {
    "headGroupSpec": {"template": POD},
    "workerGroupSpecs": [{"groupName": "tpu", "replicas": 2, "numOfHosts": 4, "template": POD}],
}
HEAD, WORKERS = ("head", 1, "headGroupSpec.template"), ("tpu", 8, "workerGroupSpecs.0.template")
RUNTIME = {"template": JOBSET}
IN_RUNTIME = "template.spec.replicatedJobs.0.template.spec.template"


def _ray(place: str) -> list[tuple[str, int, str]]:
    return [(name, count, f"{place}.{path}") for name, count, path in (HEAD, WORKERS)]


KINDS: dict[str, tuple[dict[str, Any], list[tuple[str, int, str]]]] = {
    "ClusterTrainingRuntime": ({"spec": RUNTIME}, [("node", 2, f"spec.{IN_RUNTIME}")]),
    "CronJob": (
        {"spec": {"jobTemplate": {"spec": {"parallelism": 4, "template": POD}}}},
        [("", 4, "spec.jobTemplate.spec.template")],
    ),
    "DaemonSet": ({"spec": {"template": POD}}, [("", 1, "spec.template")]),
    "Deployment": ({"spec": {"replicas": 5, "template": POD}}, [("", 1, "spec.template")]),
    "Job": ({"spec": {"parallelism": 4, "completions": 3, "template": POD}}, [("", 3, "spec.template")]),
    "JobSet": (JOBSET, [("node", 2, "spec.replicatedJobs.0.template.spec.template")]),
    "LeaderWorkerSet": (
        {"spec": {"leaderWorkerTemplate": {"size": 4, "leaderTemplate": POD, "workerTemplate": POD}}},
        [
            ("leader", 1, "spec.leaderWorkerTemplate.leaderTemplate"),
            ("worker", 3, "spec.leaderWorkerTemplate.workerTemplate"),
        ],
    ),
    "PathwaysJob": ({"spec": {"controller": {"template": POD}}}, [("", 1, "spec.controller.template")]),
    "Pod": (POD, [("", 1, "")]),
    "PodTemplate": ({"template": POD}, [("", 1, "template")]),
    "RayCluster": ({"spec": RAY}, _ray("spec")),
    "RayCronJob": (
        {"spec": {"jobTemplate": {"rayClusterSpec": RAY}}},
        _ray("spec.jobTemplate.rayClusterSpec"),
    ),
    "RayJob": (
        {"spec": {"rayClusterSpec": RAY, "submitterPodTemplate": POD}},
        [*_ray("spec.rayClusterSpec"), ("submitter", 1, "spec.submitterPodTemplate")],
    ),
    "RayService": ({"spec": {"rayClusterConfig": RAY}}, _ray("spec.rayClusterConfig")),
    "ReplicaSet": ({"spec": {"replicas": 5, "template": POD}}, [("", 1, "spec.template")]),
    "StatefulSet": ({"spec": {"replicas": 5, "template": POD}}, [("", 5, "spec.template")]),
    "TrainingRuntime": ({"spec": RUNTIME}, [("node", 2, f"spec.{IN_RUNTIME}")]),
    "TrainJob": (
        {"spec": {"podTemplateOverrides": [POD], "runtimePatches": [{"trainingRuntimeSpec": RUNTIME}]}},
        [
            ("", 1, "spec.podTemplateOverrides.0"),
            ("", 1, f"spec.runtimePatches.0.trainingRuntimeSpec.{IN_RUNTIME}"),
        ],
    ),
    "Workload": (
        {"spec": {"podSets": [{"name": "main", "count": 6, "template": POD}]}},
        [("main", 6, "spec.podSets.0.template")],
    ),
}


def test_every_kind_with_templates_is_tried() -> None:
    """A new row of the table comes with an object of its kind."""
    assert sorted(of.kind for of in PODS if of.templates) == sorted(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_its_pods_where_its_controller_reads_them(kind: str) -> None:
    """Every pod template is found, with the name and the number of pods that Kueue gives it."""
    data, expected = KINDS[kind]
    assert expected == [
        (pods.name, pods.count, ".".join(map(str, pods.path))) for pods in pods_of(data, kind)
    ]


def test_a_group_without_a_leader_template_consists_of_workers() -> None:
    """A LeaderWorkerSet makes its leader of workerTemplate where it has no other."""
    data = {"spec": {"leaderWorkerTemplate": {"size": 4, "workerTemplate": POD}}}
    assert [4] == [pods.count for pods in pods_of(data, "LeaderWorkerSet")]


def test_an_unknown_kind_has_no_pods() -> None:
    """What is not in the table is not guessed."""
    assert () == pods_of({"spec": {"template": POD}}, "Widget")


def test_slices_and_hosts_of_a_run() -> None:
    """A replica of a Job is a slice and its pods are the hosts; pods of no Job are the hosts of one slice."""
    job = {"replicas": 2, "template": {"spec": {"parallelism": 4, "template": POD}}}
    jobset = {"spec": {"replicatedJobs": [job]}}
    group = {"spec": {"leaderWorkerTemplate": {"size": 4, "workerTemplate": POD}}}
    made = [*pods_of(jobset, "JobSet"), *pods_of(group, "LeaderWorkerSet")]
    assert [(2, 4), (1, 4)] == [(pods.slices, pods.hosts) for pods in made]


def test_what_makes_a_pod() -> None:
    """Pods of a JobSet have the label of their Job as well; other pods belong to no run."""
    job = {"batch.kubernetes.io/job-name": "a-slice-0"}
    both = {**job, "jobset.sigs.k8s.io/jobset-name": "a"}
    pods = [{"metadata": {"labels": labels}} for labels in (both, job, {"app": "b"})]
    assert [("JobSet", "a"), ("Job", "a-slice-0"), ("", "")] == [maker(pod) for pod in pods]
