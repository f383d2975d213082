"""The rest of the file: names, places, releases, classes, checks, and comments where they belong."""

from typing import Any

import pytest
import yaml

from slicewright.cluster.importing.cluster_document import name_from, text_of
from slicewright.cluster.importing.node_pools import Inventory, Note
from slicewright.intent.tpucluster import DEFAULT_PRIORITY_CLASSES

from .kit import TPU, flavor, kueue, node, notes, of, queue, slice_nodes, spec


@pytest.mark.parametrize(
    ("context", "name"),
    [
        ("gke_my-project_us-west4_research", "research"),
        ("kind-Test_2", "kind-test-2"),
        ("arn:aws:1", "arn-aws-1"),
        ("10.0.0.1", "cluster-10-0-0-1"),
        ("***", "cluster"),
        ("a" * 80, "a" * 63),
    ],
)
def test_name_comes_from_the_context(context: str, name: str) -> None:
    """GKE's contexts hold it; of others it is what a name may have."""
    assert name == name_from(context)


def test_context_of_gcloud_says_where_the_cluster_is() -> None:
    """Project and location stand in its name."""
    found = spec(context="gke_my-project_us-west4_research")

    assert (found["project"], found["location"]) == ("my-project", "us-west4")


def test_nodes_say_where_the_cluster_is() -> None:
    """Where the context does not: by provider id and region; what cannot be one is left out."""
    one = node("a", "np", **{"topology.kubernetes.io__region": "us-east5"})
    one["spec"]["providerID"] = "gce://my-project/us-east5-b/a"
    other = node("a", "np", **{"topology.kubernetes.io__region": "local"})
    other["spec"]["providerID"] = "kind://docker/a"

    assert {key: spec(one)[key] for key in ("project", "location")} == {
        "project": "my-project",
        "location": "us-east5",
    }
    assert {"project", "location"}.isdisjoint(spec(other))


def deployment(name: str, image: str) -> dict[str, Any]:
    """Return a Deployment of one container."""
    template = {"spec": {"containers": [{"image": image}]}}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": {"template": template}}


def test_releases_come_from_images() -> None:
    """Of the controllers, by their tags; a digest behind it does not matter."""
    made = [
        deployment("jobset-controller-manager", "registry.k8s.io/jobset/jobset:v0.11.1@sha256:00"),
        deployment("kueue-controller-manager", "registry.k8s.io:443/kueue/kueue:v0.18.0"),
        deployment("pathways-job-controller-manager", "somewhere/pathways-job:latest"),
        deployment("other", "x:v1.2.3"),
    ]

    assert spec(*made)["versions"] == {"jobset": "v0.11.1", "kueue": "v0.18.0"}


def test_old_kueue_is_taken_for_the_last_without_v1beta2() -> None:
    """So that what is rendered fits; a note says that it is a guess."""
    found = of(versions=("v1alpha1", "v1beta1"))

    assert found.document["spec"]["versions"] == {"kueue": "v0.14.0"}
    assert [note.path for note in found.notes if "release" in note.message] == [("spec", "versions", "kueue")]
    known = deployment("kueue-controller-manager", "kueue:v0.12.0")
    assert spec(known, versions=("v1beta1",))["versions"] == {"kueue": "v0.12.0"}


def priority(kind: str, name: str, value: int, **more: Any) -> dict[str, Any]:
    """Return a priority class of a kind."""
    return {"kind": kind, "metadata": {"name": name}, "value": value, **more}


def test_priority_classes_beside_the_default_ones() -> None:
    """One of ours with another value is declared; a class for pods of the same name belongs to it."""
    made = [
        *(priority("WorkloadPriorityClass", name, value) for name, value in DEFAULT_PRIORITY_CLASSES.items()),
        priority("WorkloadPriorityClass", "own", 7, description="For mine."),
        priority("WorkloadPriorityClass", "pods", 5),
        priority("PriorityClass", "pods", 5, preemptionPolicy="Never"),
        priority("PriorityClass", "own", 7),
    ]
    made[0]["value"] = -1

    assert spec(*made)["priorityClasses"] == [
        {"name": "very-low", "value": -1},
        {"name": "pods", "value": 5, "podPriorityClass": True},
        {"name": "own", "value": 7, "description": "For mine."},
    ]
    assert not [note for note in of(*made).notes if "priority" in note.message]


def test_missing_priority_classes_are_noted() -> None:
    """Workloads may name them here, and Kueue would not know them."""
    some = [priority("WorkloadPriorityClass", name, 1) for name in ("low", "medium", "high")]

    said = "very-low, very-high: priority classes that workloads may name here, but the cluster has none"
    assert Note(said) in of(*some).notes
    assert Note(said) not in of(*some, versions=()).notes


def test_topologies_checks_and_their_configurations() -> None:
    """As they are, but for what a platform of ours makes on its own."""
    made = [
        kueue("Topology", "racks", {"levels": [{"nodeLabel": "a"}, {"nodeLabel": "b"}]}),
        kueue(
            "AdmissionCheck",
            "mine",
            {"controllerName": "x", "parameters": {"kind": "K"}, "retryDelayMinutes": 1},
        ),
        kueue("AdmissionCheck", "flex-start-queued", {"controllerName": "y"}),
        kueue("ProvisioningRequestConfig", "flex-start-queued", {}),
        kueue(
            "ProvisioningRequestConfig",
            "own",
            {"provisioningClassName": "c", "managedResources": [TPU], "podSetUpdates": {}, "parameters": {}},
        ),
        kueue("ProvisioningRequestConfig", "plain", {"retryStrategy": {"backoffLimitCount": 1}}),
    ]

    found = spec(*made)

    assert found["topologies"] == [{"name": "racks", "levels": [{"nodeLabel": "a"}, {"nodeLabel": "b"}]}]
    assert found["admissionChecks"] == [{"name": "mine", "controllerName": "x", "parameters": {"kind": "K"}}]
    assert found["provisioningRequestConfigs"] == [
        {"name": "own", "provisioningClassName": "c", "managedResources": [TPU]},
        {"name": "plain", "retryStrategy": {"backoffLimitCount": 1}},
    ]
    assert notes(*made) == ["it also has podSetUpdates, which this file cannot say"]


def test_notes_are_comments_above_their_place() -> None:
    """Long ones are wrapped, what cannot be printed is replaced, and the file reads as without them."""
    found = of(*slice_nodes("np")[:1], flavor("odd\nname"), queue("q", ("odd\nname", {TPU: 1})))

    text = text_of(found, "my\ncontext")

    lines = text.splitlines()
    assert "# Read from the cluster of context 'my?context' by slicewright import cluster." == lines[0]
    at = lines.index("  - name: np")
    assert "  # node pool 'np' has 1 of the 2 nodes of its 1 slice now" == lines[at - 1]
    assert max(map(len, lines)) <= 110
    assert found.document == yaml.safe_load(text)


def test_empty_cluster_is_an_empty_file() -> None:
    """Nothing is made up."""
    assert spec(versions=()) == {"mode": "Standard", "managed": False, "pools": []}
    assert Inventory() == Inventory(nodes=(), kueue_versions=())
