"""What pods need beside them, as their run objects say it."""

from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from slicewright.intent.tpucluster import Existing
from slicewright.kubernetes.types import Object
from slicewright.rehearse.model.scenario_part import ScenarioPart
from slicewright.rehearse.model.surroundings import (
    PENDING,
    Need,
    held_back,
    need_of,
    not_in_tree,
    surroundings,
    volume,
)
from slicewright.rehearse.model.verdict import judge

from .kit import A, job, jobset, part_of, pathwaysjob, replicated_job, says, told

SECRET = {"name": "t", "secret": {"secretName": "token", "items": [{"key": "b", "path": "b"}]}}
ENV = {"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "a"}}}
TOKEN = Need("Secret", "default", "token")
CLAIM = Need("PersistentVolumeClaim", "default", "data")


def needing(*volumes: Object, env: tuple[Object, ...] = (), **more: Any) -> Object:
    """Return a Job whose pods have volumes, variables, and other fields."""
    item = job()
    pod = item["spec"]["template"]["spec"]
    pod |= {"volumes": list(volumes), **more}
    pod["containers"][0] |= {"name": "main", "env": list(env)}
    return item


def missing(*runs: Object, objects: tuple[Object, ...] = ()) -> list[str]:
    """Return what runs need that nobody has."""
    found = surroundings([part_of("", *runs)], objects, ()).missing
    return [f"{run}: {need.kind} {need.name}" for run, needs in found.items() for need in needs]


@pytest.mark.parametrize(
    ("run", "kind", "name"),
    [
        (needing(SECRET), "Secret", "token"),
        (needing(env=(ENV,)), "Secret", "token"),
        (needing({"name": "c", "configMap": {"name": "files"}}), "ConfigMap", "files"),
        (needing({"name": "c", "csi": {"nodePublishSecretRef": {"name": "key"}}}), "Secret", "key"),
        (
            needing({"name": "d", "persistentVolumeClaim": {"claimName": "data"}}),
            "PersistentVolumeClaim",
            "data",
        ),
        (
            needing({"name": "p", "projected": {"sources": [{"configMap": {"name": "files"}}]}}),
            "ConfigMap",
            "files",
        ),
        (needing(serviceAccountName="trainer"), "ServiceAccount", "trainer"),
        (needing(imagePullSecrets=[{"name": "pull"}]), "Secret", "pull"),
    ],
)
def test_each_way_to_need_something_is_found(run: Object, kind: str, name: str) -> None:
    """Once a run; what the tree holds in the same namespace is not missing."""
    held = {"kind": kind, "metadata": {"name": name, "namespace": "default"}}
    elsewhere = {"kind": kind, "metadata": {"name": name, "namespace": "other"}}

    assert [f"{A}: {kind} {name}"] == missing(run)
    assert [f"{A}: {kind} {name}"] == missing(run, objects=(elsewhere,))
    assert [] == missing(run, objects=(held,))


def test_what_is_optional_or_everywhere_is_not_needed() -> None:
    """A kubelet starts the pods without it, or has it."""
    ca = {"name": "ca", "configMap": {"name": "kube-root-ca.crt"}}
    optional = {"name": "o", "secret": {"secretName": "token", "optional": True}}

    assert [] == missing(needing(ca, optional, serviceAccountName="default", imagePullSecrets=[{}]))


def test_key_that_an_object_lacks_is_missing() -> None:
    """A kubelet does not start the pods that need it; an empty object is filled by somebody else."""
    held = {"kind": "Secret", "metadata": {"name": "token", "namespace": "default"}, "stringData": {"b": ""}}
    run = needing(SECRET, env=(ENV,))
    found = surroundings([part_of("", run)], (held,), ()).missing[A]
    (problem,) = not_in_tree([part_of("", run)], {A: found}, "clusters/c1.yaml")

    assert "default/a cannot start: Secret 'token' of namespace 'default' has no key 'a'" == problem.message
    assert "add the key, or correct its name" == problem.hint
    assert PENDING in held_back(deepcopy(run), found)["spec"]["template"]["metadata"]["annotations"]
    assert "metadata" not in held_back(needing(SECRET), found)["spec"]["template"]
    assert [] == missing(run, objects=(held | {"stringData": {}},))
    assert [] == missing(run, objects=(held | {"data": {"a": ""}},))


def test_stand_ins_have_the_keys_that_pods_need() -> None:
    """Of all runs; each object once, in the order of its names."""
    account = needing(SECRET, {"name": "c", "configMap": {"name": "files", "items": [{"key": "k"}]}})
    other = needing(
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}, env=(ENV,), serviceAccountName="me"
    )
    other["metadata"]["name"] = "b"
    parts = [part_of("", account), part_of("", other, name="b")]
    existing = [
        Existing(kind, "*", "def*")
        for kind in ("Secret", "ConfigMap", "PersistentVolumeClaim", "ServiceAccount")
    ]
    found = surroundings(parts, (), existing)

    assert {} == found.missing
    assert [
        ("ConfigMap", {"k": ""}),
        ("PersistentVolumeClaim", None),
        ("Secret", None),
        ("ServiceAccount", None),
    ] == [(made["kind"], made.get("data")) for _, made in found.stand_ins]
    assert [{"a": "", "b": ""}] == [made["stringData"] for need, made in found.stand_ins if need == TOKEN]
    assert [CLAIM] == [need for need, made in found.stand_ins if "spec" in made]
    assert all(need == need_of(made) for need, made in found.stand_ins)


def test_what_another_workload_brings_is_in_the_tree() -> None:
    """A component of one may hold the Secret of another."""
    held = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "default"}}
    parts = [part_of("", needing(SECRET)), part_of("", jobset("b"), held, name="b")]

    assert {} == surroundings(parts, (), ()).missing


def test_pods_that_a_kubelet_would_not_start_are_held_back() -> None:
    """Only those that need it; what the API server or the scheduler refuses needs no help."""
    server = replicated_job("server")
    server["template"]["spec"]["template"]["spec"]["volumes"] = [SECRET]
    run = held_back(jobset("a", replicated_job("slice"), server), [TOKEN])
    pods = [entry["template"]["spec"]["template"].get("metadata") for entry in run["spec"]["replicatedJobs"]]

    assert [None, {"annotations": {PENDING: "true"}}] == pods
    claim = needing({"name": "d", "persistentVolumeClaim": {"claimName": "data"}})
    assert deepcopy(claim) == held_back(claim, [CLAIM])


def test_head_of_a_pathwaysjob_is_held_back_by_the_annotation_of_the_whole() -> None:
    """Its controller copies that to the head's pods, and nothing of their template's."""
    run = held_back(pathwaysjob(template={"spec": {"containers": [], "volumes": [SECRET]}}), [TOKEN])

    assert {PENDING: "true"} == run["metadata"]["annotations"]


def test_run_that_lacks_something_is_told_of_once() -> None:
    """With what it lacks, for each of its objects; not also that it did not finish."""
    part: ScenarioPart = part_of("", needing(SECRET))
    timelines = told(
        says(0.0, "submitted"),
        says(0.0, "warned", reason="NotInTree", text=TOKEN.describe()),
        says(1.0, "waiting", text="no quota"),
    )
    found = [*not_in_tree([part], {A: (TOKEN,)}, "clusters/c1.yaml")]

    assert ["default/a cannot start: Secret 'token' of namespace 'default' is not in the tree"] == [
        problem.message for problem in found
    ]
    assert "add it to the tree, or list it under existing: in clusters/c1.yaml" == found[0].hint
    assert TOKEN.describe() == timelines[A].why
    assert () == judge([part], timelines, {}, cut_short=False, missing=[A])
    assert ["REH001"] == [problem.id for problem in judge([part], timelines, {}, cut_short=False)]


@pytest.mark.parametrize(
    ("more", "name", "of_class"),
    [({}, "pvc-u", ""), ({"volumeName": "disk", "storageClassName": "fast"}, "disk", "fast")],
)
def test_volume_is_bound_to_its_claim(more: Object, name: str, of_class: str) -> None:
    """It has the class, the size and the modes that the claim asks for."""
    claim = {
        "metadata": {"name": "data", "namespace": "default", "uid": "u"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}, **more},
    }
    made = volume(claim)

    assert name == made["metadata"]["name"]
    assert ("Filesystem", of_class, {"storage": "3Gi"}, ["ReadWriteOnce"]) == tuple(
        made["spec"][key] for key in ("volumeMode", "storageClassName", "capacity", "accessModes")
    )
    assert ("data", "default", "u") == tuple(
        made["spec"]["claimRef"][key] for key in ("name", "namespace", "uid")
    )


def test_arrival_lacks_what_its_template_lacks() -> None:
    """That is told of the template's own run alone."""
    arriving = replace(part_of("", needing(SECRET)), profile="evening")

    assert [] == [*not_in_tree([arriving], {A: (TOKEN,)}, "clusters/c1.yaml")]
