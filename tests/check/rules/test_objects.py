"""What the rules look at: pod templates of every kind, and the objects of a kustomization."""

from typing import Any

import pytest
from tests.check.rules.kit import findings, object_set, run

from slicewright.check.rules.every import RULES
from slicewright.check.rules.kustomize_build import built, patches
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue


def test_namesake_of_another_group_is_left_alone() -> None:
    """A Job of Volcano is none of ours."""
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}

    assert object_set(job).all[0].pods == ()
    assert findings("JS121", job) == []


def _item(file: str, **data: Any) -> Resource:
    return Resource(data, file)


def test_kustomization_without_api_version_is_one() -> None:
    """Kustomize fills in apiVersion and kind, so files often have neither."""
    item = _item("a/kustomization.yaml", kind="Kustomization", buildMetadata=["originAnnotations"])

    found = run(ObjectSet([item], catalogue()), [rule for rule in RULES if rule.id == "KUS113"])

    assert [problem.message for problem in found] == [
        "'originAnnotations' writes values that differ between machines and versions"
    ]


def test_resources_of_a_kustomization_are_found_by_their_files() -> None:
    """Where nothing was composed, files, folders and bases are followed, each level after the one above."""
    overlay = _item(
        "a/overlay/kustomization.yaml",
        apiVersion="kustomize.config.k8s.io/v1beta1",
        kind="Kustomization",
        resources=["../base", "extra.yaml", "missing.yaml"],
    )
    base = _item(
        "a/base/kustomization.yml",
        apiVersion="kustomize.config.k8s.io/v1beta1",
        kind="Kustomization",
        resources=["job.yaml"],
    )
    job = _item("a/base/job.yaml", apiVersion="batch/v1", kind="Job")
    extra = _item("a/overlay/extra.yaml", apiVersion="v1", kind="ConfigMap")

    found = built(overlay, ObjectSet([overlay, base, job, extra], catalogue()))

    assert found == [extra, job]


def test_kustomization_that_includes_itself_ends() -> None:
    """A loop is for kustomize to report; here it only must end."""
    loop = _item(
        "a/kustomization.yaml",
        apiVersion="kustomize.config.k8s.io/v1beta1",
        kind="Kustomization",
        resources=["../a"],
    )

    assert built(loop, ObjectSet([loop], catalogue())) == []


def test_patches_in_files_are_read_where_they_are_known() -> None:
    """A patch file under examination is looked at; of another nothing is said."""
    kustomization = _item(
        "a/kustomization.yaml",
        apiVersion="kustomize.config.k8s.io/v1beta1",
        kind="Kustomization",
        patches=[{"path": "patch.yaml"}, {"path": "elsewhere.yaml"}, {}],
        patchesStrategicMerge=["patch.yaml"],
    )
    patch = _item("a/patch.yaml", apiVersion="jobset.x-k8s.io/v1alpha2", kind="JobSet")

    found = [
        (found.path, found.content)
        for found in patches(kustomization, ObjectSet([kustomization, patch], catalogue()))
    ]

    assert found == [
        (("patches", 0), patch.data),
        (("patches", 1), None),
        (("patchesStrategicMerge", 0), patch.data),
    ]


def test_rules_run_on_all_objects_of_a_world() -> None:
    """Without a choice every rule runs."""
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "a"},
        "spec": None,
    }

    found = {problem.id for problem in run(object_set(queue))}

    assert found == {"KQ111", "GIT123"}


def test_annotations_have_256_kib_at_most() -> None:
    """What the API server refuses by its size is reported, and a byte less is not."""
    metadata = {"name": "a", "namespace": "b", "annotations": {"x": "y" * (256 * 1024 - 1)}}
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    assert [] == findings("JS142", data)

    metadata["annotations"] = {"x": "y" * (256 * 1024)}

    assert ["annotations have 262,145 bytes; the limit is 262,144"] == findings("JS142", data)


_CHOSEN = "the Job controller sets the selector, and the API refuses any other"


@pytest.mark.parametrize(
    ("stored", "expected"),
    [({}, [_CHOSEN]), ({"status": {"succeeded": 1}}, []), ({"metadata": {"name": "a", "uid": "1"}}, [])],
)
def test_selector_of_a_stored_job_is_that_of_the_api_server(
    stored: dict[str, Any], expected: list[str]
) -> None:
    """`kubectl get job -o yaml` writes the selector that the API server added; a new Job has none."""
    labels = {"batch.kubernetes.io/controller-uid": "1"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec, **stored}

    assert expected == findings("JS135", job)


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [("${CPUS}", []), ("{1", ["the text of serveConfigV2 is not one YAML mapping"]), ("1", [])],
)
def test_text_with_placeholders_need_not_be_yaml_yet(cpus: str, expected: list[str]) -> None:
    """`{num_cpus: ${CPUS}}` is YAML only when it is filled in."""
    text = f"applications: [{{name: a, import_path: 'a:b', x: {{num_cpus: {cpus}}}}}]"
    spec = {"serveConfigV2": text, "rayClusterConfig": {"headGroupSpec": {}}}
    service = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "a"}, "spec": spec}

    assert expected == findings("RAY112", service)
