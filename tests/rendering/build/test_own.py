"""What people bring along: their own components and their own patches, the last resort."""

import json
from typing import Any

import pytest
import yaml

from slicewright.rendering.kustomization import FILE_NAME

from .kit import PATTERNS, ROOT, refused, run

MINE = "components/mine"
COMPONENT = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
SPEC = {"jobset": "JobSet", "job": "Job", "indexed-job": "Job", "pathwaysjob": "PathwaysJob"}


def files(*objects: dict[str, Any], patches: list[dict[str, Any]] | None = None) -> dict[str, str]:
    """Return the files of a component with some objects and patches, by path."""
    names = [f"{index}.yaml" for index in range(len(objects))]
    texts = {f"{MINE}/{name}": json.dumps(item) for name, item in zip(names, objects, strict=True)}
    return {
        **texts,
        f"{MINE}/{FILE_NAME}": json.dumps({**COMPONENT, "resources": names, "patches": patches or []}),
    }


def labelled(pattern: str, key: str) -> dict[str, Any]:
    """Return a patch that labels the run object."""
    patch = [{"op": "add", "path": f"/metadata/labels/{key}", "value": "1"}]
    return {"target": {"kind": SPEC.get(pattern, "JobSet")}, "patch": json.dumps(patch)}


def config(name: str, **metadata: Any) -> dict[str, Any]:
    """Return a ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"a": "1"},
    }


@pytest.mark.parametrize("pattern", PATTERNS)
def test_component_changes_the_run(pattern: str) -> None:
    """A user's component is applied after ours, and what it patches is kept."""
    made = run(pattern, components=[MINE], files=files(patches=[labelled(pattern, "mine")]))

    assert made.item["metadata"]["labels"]["mine"] == "1"


def claim(name: str, **metadata: Any) -> dict[str, Any]:
    """Return a PersistentVolumeClaim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, **metadata},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}},
    }


@pytest.mark.parametrize("naming", ["Hashed", "Fixed"])
def test_claim_of_a_component_outlives_the_run(naming: str) -> None:
    """Argo CD and Flux prune no volume claim with the run that brought it, unless the claim says so."""
    said = {"argocd.argoproj.io/sync-options": "Prune=true", "kustomize.toolkit.fluxcd.io/prune": "enabled"}
    own = files(claim("data"), claim("scratch", annotations=said), config("settings"))
    made = run("jobset", naming=naming, components=[MINE], files=own)
    found = {item["metadata"]["name"]: item["metadata"].get("annotations", {}) for item in made.objects}

    assert {
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
        "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
    } == found["data"]
    assert said == {key: found["scratch"][key] for key in said}
    assert {} == found["settings"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_object_of_a_component_keeps_its_name(pattern: str) -> None:
    """What a component adds keeps its name, and gains the workload's namespace where it has none."""
    own = config("settings")
    made = run(pattern, components=[MINE], files=files(own, config("other", namespace="elsewhere")))
    maps = [item for item in made.objects if item["kind"] == "ConfigMap"]

    assert maps == [config("settings", namespace="ns"), config("other", namespace="elsewhere")]
    assert made.item["metadata"]["name"] == "w"


def test_cluster_scoped_object_of_a_component_has_no_namespace() -> None:
    """A kind without namespaces is left as it is."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "p"},
        "value": 1,
    }
    made = run("jobset", components=[MINE], files=files(group))

    assert group in made.objects


def test_object_with_the_marker_as_name_is_the_run_s() -> None:
    """An object whose name a component leaves open has the name, namespace and labels of the run."""
    own = config("replaced-by-slicewright", labels={"a": "1"})
    made = run("jobset", queueName="lq", components=[MINE], files=files(own))
    (kept,) = [item for item in made.objects if item["kind"] == "ConfigMap"]

    labels = {"a": "1", "slicewright.dev/workload": "w"}
    assert kept["metadata"] == {"name": "w", "namespace": "ns", "labels": labels}


def test_annotation_of_a_component_on_the_job_template_stays() -> None:
    """A single host loses the exclusive topology of its Job template, and no other annotation."""
    where = "/spec/replicatedJobs/0/template/metadata/annotations/a"
    patch = json.dumps([{"op": "add", "path": where, "value": "1"}])
    own = files(patches=[{"target": {"kind": "JobSet"}, "patch": patch}])
    made = run("jobset", tpu="v5litepod-4", slices=1, components=[MINE], files=own)

    assert made.job("slice")["template"]["metadata"] == {"annotations": {"a": "1"}}


@pytest.mark.parametrize("pattern", ["jobset", "pathways"])
def test_base_without_its_replicated_job_is_refused(pattern: str) -> None:
    """A base in which a replicatedJob is missing is an error, not a traceback."""
    text = (ROOT / "bases" / pattern / "jobset.yaml").read_text(encoding="utf-8")
    for name in ("slice", "worker"):
        text = text.replace(f"- name: {name}\n", "- name: other\n")
    problems = refused(pattern, files={f"bases/{pattern}/jobset.yaml": text})

    assert [problem.id for problem in problems] == ["BASE001"]


def test_objects_of_one_kind_have_patches_of_their_own() -> None:
    """Two objects of one kind are patched by two files, each for exactly its object, and ours comes last."""
    made = run("jobset", components=[MINE], files=files(config("a.b"), config("axb")))
    kustomization = yaml.safe_load(made.files[FILE_NAME])

    assert [(entry["path"], entry["target"]["name"]) for entry in kustomization["patches"]] == [
        ("configmap.patch.yaml", "a[.]b"),
        ("configmap-axb.patch.yaml", "axb"),
        ("jobset.patch.yaml", "replaced-by-slicewright"),
    ]
    assert {entry["path"] for entry in kustomization["patches"]} | {FILE_NAME} == set(made.files)


def test_unchanged_object_has_no_patch() -> None:
    """An object that stays as its component has it is not patched."""
    made = run("jobset", components=[MINE], files=files(config("a", namespace="ns")))

    assert set(made.files) == {"jobset.patch.yaml", FILE_NAME}


def test_object_of_a_component_is_frozen_with_the_run() -> None:
    """A hashed run's file holds what its components add."""
    made = run("jobset", naming="Hashed", components=[MINE], files=files(config("settings")))

    assert [item["kind"] for item in made.objects] == ["JobSet", "ConfigMap"]


def test_wrong_quantity_of_a_component_is_left_to_validation() -> None:
    """What a component spells wrong is no reason to fail here, and stays as it is."""
    where = "/spec/replicatedJobs/0/template/spec/template/spec/containers/0/resources/limits/memory"
    patch = [{"op": "add", "path": where, "value": "16GB"}]
    made = run(
        "jobset",
        components=[MINE],
        files=files(patches=[{"target": {"kind": "JobSet"}, "patch": json.dumps(patch)}]),
    )

    assert made.container()["resources"]["limits"]["memory"] == "16GB"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_component_that_asks_for_a_value_is_refused(pattern: str) -> None:
    """A marker that nothing replaces is an error that says where it stands."""
    patch = labelled(pattern, "mine")
    patch["patch"] = patch["patch"].replace('"1"', '"replaced-by-slicewright"')
    problems = refused(pattern, components=[MINE], files=files(patches=[patch]))

    (problem,) = problems
    assert problem.id == "BUILD001"
    assert problem.message.endswith("'w' has no value at metadata.labels.mine")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
def test_patches_are_applied_last(pattern: str, naming: str) -> None:
    """`patches` change what everything else has made, in live and in frozen runs."""
    kind = SPEC.get(pattern, "JobSet")
    ops = [
        {"op": "test", "path": "/metadata/namespace", "value": "ns"},
        {"op": "replace", "path": "/metadata/labels/slicewright.dev~1workload", "value": "other"},
        {"op": "add", "path": "/metadata/labels/mine", "value": "1"},
    ]
    made = run(pattern, naming=naming, patches=[{"target": {"kind": kind}, "ops": ops}])

    assert made.item["metadata"]["labels"]["slicewright.dev/workload"] == "other"
    assert made.item["metadata"]["labels"]["mine"] == "1"


def test_patch_may_name_its_object() -> None:
    """A target can be told by name, group and version too."""
    target = {"kind": "Service", "name": "w", "group": "", "version": "v1"}
    ops = [{"op": "replace", "path": "/spec/publishNotReadyAddresses", "value": False}]
    made = run("indexed-job", patches=[{"target": target, "ops": ops}])

    assert [
        item["spec"]["publishNotReadyAddresses"] for item in made.objects if item["kind"] == "Service"
    ] == [False]


@pytest.mark.parametrize(("kind", "count"), [("Job", 0), ("ConfigMap", 2)])
def test_patch_must_match_one_object(kind: str, count: int) -> None:
    """A target that matches none or several is refused, and the error names the objects that there are."""
    own = files(config("a"), config("b"))
    ops = [{"op": "add", "path": "/metadata/labels", "value": {}}]
    patches = [{"target": {"kind": kind}, "ops": ops}]
    problems = refused("jobset", components=[MINE], files=own, patches=patches)

    (problem,) = problems
    assert problem.id == "PATCH001"
    assert problem.message.endswith(f", but matches {count}")
    assert problem.hint == "correct the target; the objects are JobSet w, ConfigMap a, ConfigMap b"


@pytest.mark.parametrize(
    "op",
    [
        {"op": "remove", "path": "/spec/nothing"},
        {"op": "test", "path": "/metadata/name", "value": "other"},
        {"op": "replace", "path": "", "value": {}},
        {"op": "remove", "path": ""},
    ],
)
def test_patch_that_does_not_fit_is_refused(op: dict[str, Any]) -> None:
    """A patch that leads nowhere, fails its test, or replaces the whole object is an error."""
    problems = refused("jobset", patches=[{"target": {"kind": "JobSet"}, "ops": [op]}])

    (problem,) = problems
    assert problem.id == "PATCH002"
    assert problem.path == ("spec", "patches", 0, "ops")


def test_patch_may_test_the_whole_object() -> None:
    """A test of the whole object is allowed, and fails when it is another."""
    op = {"op": "test", "path": "", "value": {}}
    problems = refused("jobset", patches=[{"target": {"kind": "JobSet"}, "ops": [op]}])

    assert "found" in problems[0].message


def test_all_broken_patches_are_reported() -> None:
    """Every patch is tried, and every problem told."""
    broken = {"target": {"kind": "JobSet"}, "ops": [{"op": "remove", "path": "/spec/nothing"}]}
    missing = {"target": {"kind": "Job"}, "ops": [{"op": "remove", "path": "/spec/nothing"}]}

    assert [problem.id for problem in refused("jobset", patches=[broken, missing])] == [
        "PATCH002",
        "PATCH001",
    ]
