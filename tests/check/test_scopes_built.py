"""A repository is not a cluster: references and quotas are judged within a build."""

import subprocess
from pathlib import Path

import pytest
from tests.check.kit import run, write
from tests.check.test_kustomize import COMPONENT
from tests.check.tree_objects import findings_of, job, local, queue

from slicewright.check.io import kustomizations as kustomize

Tree = dict[str, str]

BUILT: list[tuple[str, Tree, list[str]]] = [
    (
        "two builds of one base are two scopes",
        {
            "base/kustomization.yaml": "resources: [j.yaml]\n",
            "base/j.yaml": job("9"),
            "small/kustomization.yaml": "resources: [../base, q.yaml]\n",
            "small/q.yaml": local() + queue("2"),
            "large/kustomization.yaml": "resources: [../base, q.yaml]\n",
            "large/q.yaml": local() + queue("20"),
        },
        ["small FIT101"],
    ),
    (
        "an overlay sets the namespace of base and queue",
        {
            "base/kustomization.yaml": "resources: [j.yaml]\n",
            "base/j.yaml": job(namespace="base"),
            "dev/kustomization.yaml": "namespace: dev\nresources: [../base, q.yaml]\n",
            "dev/q.yaml": local(namespace="other"),
        },
        [],
    ),
    (
        "a component brings the queue, and a prefix its name",
        {
            "base/kustomization.yaml": "resources: [j.yaml]\n",
            "base/j.yaml": job(),
            "part/kustomization.yaml": COMPONENT + "resources: [q.yaml]\n",
            "part/q.yaml": local("gpus"),
            "dev/kustomization.yaml": "resources: [../base]\ncomponents: [../part]\nnamePrefix: a-\n",
        },
        ["dev REF101"],
    ),
    (
        "a patch changes the queue that a job names",
        {
            "dev/kustomization.yaml": "resources: [j.yaml, q.yaml]\n"
            "patches: [{path: p.yaml, target: {kind: Job}}]\n",
            "dev/j.yaml": job(),
            "dev/q.yaml": local("gpus"),
            "dev/p.yaml": "- {op: replace, path: /metadata/labels/kueue.x-k8s.io~1queue-name, value: gpus}\n",
        },
        [],
    ),
]


@pytest.mark.tools
@pytest.mark.parametrize(("says", "tree", "expected"), BUILT, ids=[row[0] for row in BUILT])
def test_build_has_thesefindings_of(tmp_path: Path, says: str, tree: Tree, expected: list[str]) -> None:
    """What a build shows to be wrong is reported, and nothing else."""
    write(tmp_path, tree)

    assert expected == findings_of(tmp_path, "."), says


@pytest.mark.tools
@pytest.mark.parametrize(("says", "tree", "expected"), BUILT, ids=[row[0] for row in BUILT])
def test_scope_of_a_build_is_what_kustomize_builds(
    tmp_path: Path, says: str, tree: Tree, expected: list[str]
) -> None:
    """The output of kustomize, read from a pipe, has the findings that its folder has."""
    write(tmp_path, tree)
    found = []
    for folder in sorted(path.parent.name for path in tmp_path.glob("*/q.yaml")):
        target = "dev" if folder == "part" else folder
        built = subprocess.run(
            [str(kustomize.binary()), "build", str(tmp_path / target)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found += [line.replace("stdin", target) for line in findings_of(tmp_path, "-", stdin=built)]

    assert expected == found, says


@pytest.mark.parametrize(("account", "expected"), [("a", []), ("default", []), ("b", ["REF131"])])
def test_subject_gets_the_namespace_of_a_build(tmp_path: Path, account: str, expected: list[str]) -> None:
    """Who gives a build its namespace gives it to the subject of its account too."""
    binding = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
        f"subjects: [{{kind: ServiceAccount, name: {account}}}]\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: b}\n"
        "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n"
    )
    write(tmp_path, {"a/kustomization.yaml": "resources: [rbac.yaml]\n", "a/rbac.yaml": binding})
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n"
    write(tmp_path, {"b/rbac.yaml": binding, "c/rbac.yaml": binding})
    write(tmp_path, {"flux.yaml": f"{flux}spec: {{path: ./c, targetNamespace: c}}\n"})
    of_flux = run(tmp_path, ".", "-o", "json", "--only", "REF131").json["problems"]

    assert expected == run(tmp_path, "a", "-o", "json", "--only", "REF131").ids
    assert ["REF131"] == run(tmp_path, "b", "-o", "json", "--only", "REF131").ids
    assert ["REF131"] == run(tmp_path, "c", "-o", "json", "--only", "REF131").ids
    assert expected == [one["id"] for one in of_flux if one["file"] == "c/rbac.yaml"]
