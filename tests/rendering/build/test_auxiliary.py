"""Auxiliary jobs: replicatedJobs on CPU pools beside the slices."""

from typing import Any

import pytest

from slicewright.rendering.plan.plan import MARKER

from .kit import refused, run

UPLOADER = {"name": "tb-uploader", "image": "tb:1", "args": ["--logdir=gs://b/$(SLICEWRIGHT_RUN)"]}
TENSORBOARD = "bases/components/tensorboard/jobset"


def auxiliary(name: str = "logs", **fields: Any) -> dict[str, Any]:
    """Return an auxiliary job that runs the uploader."""
    return {"name": name, "pool": "cpu", "podTemplate": {"spec": {"containers": [UPLOADER]}}, **fields}


def test_auxiliary_job_is_a_replicated_job_after_the_slices() -> None:
    """The job is one pod on its pool's nodes, with every default of the webhook written."""
    made = run("jobset", auxiliaryJobs=[auxiliary(), auxiliary("more", pool="more")])

    assert [job["name"] for job in made.item["spec"]["replicatedJobs"]] == ["slice", "logs", "more"]
    assert made.job("logs") == {
        "name": "logs",
        "groupName": "default",
        "replicas": 1,
        "template": {
            "spec": {
                "backoffLimit": 0,
                "completionMode": "Indexed",
                "completions": 1,
                "parallelism": 1,
                "template": {
                    "spec": {
                        "restartPolicy": "OnFailure",
                        "containers": [UPLOADER],
                        "nodeSelector": {"cloud.google.com/gke-nodepool": "cpu"},
                    }
                },
            }
        },
    }
    assert made.pod("more")["nodeSelector"] == {"cloud.google.com/gke-nodepool": "more"}


def test_success_is_the_slices_alone() -> None:
    """With a job beside them the slices decide when the run has succeeded; without one there is no target."""
    assert run("jobset", auxiliaryJobs=[auxiliary()]).item["spec"]["successPolicy"] == {
        "operator": "All",
        "targetReplicatedJobs": ["slice"],
    }
    assert run("jobset").item["spec"]["successPolicy"] == {"operator": "All"}


def test_backoff_limit_of_an_auxiliary_job() -> None:
    """`backoffLimit` says how many of its pods may fail."""
    made = run("jobset", auxiliaryJobs=[auxiliary(backoffLimit=6)])

    assert made.job("logs")["template"]["spec"]["backoffLimit"] == 6


def test_pod_template_of_an_auxiliary_job() -> None:
    """Metadata, selectors and whatever else stands in the pod template is the pod's."""
    template = {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"containers": [UPLOADER], "serviceAccountName": "me", "nodeSelector": {"disk": "ssd"}},
    }
    made = run("jobset", auxiliaryJobs=[auxiliary(podTemplate=template)])

    assert made.template("logs")["metadata"] == {"labels": {"a": "1"}}
    assert made.pod("logs")["serviceAccountName"] == "me"
    assert made.pod("logs")["nodeSelector"] == {"disk": "ssd", "cloud.google.com/gke-nodepool": "cpu"}


def test_auxiliary_job_of_a_hashed_run_is_told_the_run() -> None:
    """The uploader can read the logs of its run by $(SLICEWRIGHT_RUN)."""
    made = run("jobset", naming="Hashed", auxiliaryJobs=[auxiliary()])
    env = made.container("tb-uploader", "logs")["env"]

    assert env[1] == {"name": "SLICEWRIGHT_RUN", "value": made.item["metadata"]["name"][2:]}


def test_component_brings_the_job_along() -> None:
    """With the TensorBoard component the workload says only what is its own: image, arguments, pool."""
    template = {"spec": {"containers": [UPLOADER]}}
    job = {"name": "tensorboard", "pool": "cpu", "podTemplate": template}
    made = run("jobset", components=[TENSORBOARD], auxiliaryJobs=[job])
    spec = made.job("tensorboard")["template"]["spec"]

    assert [item["name"] for item in made.item["spec"]["replicatedJobs"]] == ["slice", "tensorboard"]
    assert spec["backoffLimit"] == 2_147_483_647
    assert made.container("tb-uploader", "tensorboard") == {**UPLOADER, "command": ["tb-gcp-uploader"]}
    assert made.pod("tensorboard")["nodeSelector"] == {"cloud.google.com/gke-nodepool": "cpu"}
    assert MARKER not in str(made.objects)


def test_backoff_limit_beside_the_component() -> None:
    """`backoffLimit` of the workload wins over that of the component."""
    job = auxiliary("tensorboard", backoffLimit=3)
    made = run("jobset", components=[TENSORBOARD], auxiliaryJobs=[job])

    assert made.job("tensorboard")["template"]["spec"]["backoffLimit"] == 3


def test_component_without_values_is_refused() -> None:
    """What the component asks for and nobody gives is named, each place with its path."""
    problems = refused("jobset", components=[TENSORBOARD])

    assert {problem.id for problem in problems} == {"BUILD001"}
    where = "spec.replicatedJobs[1].template.spec.template.spec"
    expected = {
        f"JobSet 'w' has no value at {where}.{field}"
        for field in (
            "nodeSelector['cloud.google.com/gke-nodepool']",
            "containers[0].image",
            "containers[0].args[0]",
            "containers[0].args[1]",
            "containers[0].args[2]",
        )
    }
    assert expected == {problem.message for problem in problems}


@pytest.mark.parametrize("strategy", ["Recreate", "InPlaceRestart"])
def test_restart_in_place_reaches_auxiliary_jobs(strategy: str) -> None:
    """JobSet asks every replicatedJob for the largest backoffLimit under InPlaceRestart, and for it only."""
    made = run("jobset", auxiliaryJobs=[auxiliary()], failurePolicy={"restartStrategy": strategy})
    spec = made.job("logs")["template"]["spec"]

    assert (spec["backoffLimit"] > 0) == (strategy == "InPlaceRestart")
    assert ("podReplacementPolicy" in spec) == (strategy == "InPlaceRestart")


def test_steps_start_when_the_step_before_is_complete() -> None:
    """Jobs before the slices run in their written order; the run succeeds with those after the slices."""
    steps = [("evaluate", "After"), ("prepare", "Before"), ("board", "Beside"), ("pack", "Before")]
    made = run("jobset", auxiliaryJobs=[auxiliary(name, runs=runs) for name, runs in steps])
    jobs = made.item["spec"]["replicatedJobs"]

    assert [(job["name"], [entry["name"] for entry in job.get("dependsOn", [])]) for job in jobs] == [
        ("prepare", []),
        ("pack", ["prepare"]),
        ("slice", ["pack"]),
        ("board", ["pack"]),
        ("evaluate", ["slice"]),
    ]
    assert {entry["status"] for job in jobs for entry in job.get("dependsOn", [])} == {"Complete"}
    assert made.item["spec"]["successPolicy"]["targetReplicatedJobs"] == ["slice", "evaluate"]
