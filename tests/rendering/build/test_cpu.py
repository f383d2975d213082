"""Runs on CPU nodes: one pod on each node, nothing of TPUs."""

from typing import Any

from .kit import Run, run

CLUSTER = {"pools": [{"name": "cpu", "machineType": "n2-standard-64", "nodes": 2}]}


def on_nodes(nodes: int = 2, **spec: Any) -> Run:
    """Return a run on so many nodes of a pool that has two."""
    return run("jobset", cluster=CLUSTER, tpu=None, slices=None, cpu={"pool": "cpu", "nodes": nodes}, **spec)


def test_run_on_cpu_nodes_is_a_jobset_without_chips() -> None:
    """The pods select the node pool, have an index each, and ask for what the container says alone."""
    made = on_nodes(container={"image": "i", "resources": {"requests": {"cpu": "4"}}})
    job = made.job("worker")["template"]

    assert [item["name"] for item in made.item["spec"]["replicatedJobs"]] == ["worker"]
    assert "metadata" not in job
    assert {key: job["spec"][key] for key in ("completionMode", "completions", "parallelism")} == {
        "completionMode": "Indexed",
        "completions": 2,
        "parallelism": 2,
    }
    assert made.pod("worker")["nodeSelector"] == {"cloud.google.com/gke-nodepool": "cpu"}
    assert made.pod("worker")["containers"] == [
        {"name": "main", "image": "i", "resources": {"requests": {"cpu": "4"}}}
    ]


def test_pods_of_several_nodes_keep_off_each_other() -> None:
    """`nodes: 2` means two nodes, also where both pods would fit one; a single pod needs no such rule."""
    terms = on_nodes().pod("worker")["affinity"]["podAntiAffinity"]
    labels = {"jobset.sigs.k8s.io/jobset-name": "w", "jobset.sigs.k8s.io/replicatedjob-name": "worker"}

    assert terms == {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
    assert "affinity" not in on_nodes(1).pod("worker")


def test_buckets_and_priority_of_a_run_on_cpu_nodes() -> None:
    """Components of ours fit: a bucket is mounted, and maintenance restarts the run."""
    bucket = {"bucket": "b", "mountPath": "/b"}
    made = on_nodes(gcsFuse=[bucket], failurePolicy={"onHostMaintenance": "Restart"})

    assert made.template("worker")["metadata"]["annotations"] == {"gke-gcsfuse/volumes": "true"}
    assert made.item["spec"]["failurePolicy"]["rules"][0]["name"] == "hostMaintenance"
