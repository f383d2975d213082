"""Which objects a patch is applied to: as kustomize selects them."""

from pathlib import Path

import pytest

from slicewright.rendering.compose import identity, matching

from .kit import Tree, built, composed, config_map, ordered, patching

MARK = "{op: add, path: /data/mark, value: here}"
OBJECTS = "---\n".join(
    [
        config_map("a"),
        config_map("abc"),
        config_map("b", namespace="default"),
        config_map("b", namespace="team"),
        "apiVersion: example.com/v1\nkind: ConfigMapSet\nmetadata: {name: a}\ndata: {}\n",
        "apiVersion: example.com/v1beta1\nkind: Holder\nmetadata: {name: a.b}\ndata: {}\n",
    ]
)


@pytest.mark.tools
@pytest.mark.parametrize(
    "target",
    [
        "",
        "kind: ConfigMap",
        "kind: Config.*",
        "name: a",
        "name: a|b",
        "name: ^a.*$",
        "name: '[a-b]'",
        "name: a.b",
        "name: 'a(bc)?'",
        "name: ''",
        "namespace: default",
        "namespace: team",
        "namespace: ''",
        "group: example.com",
        "group: example",
        "group: example.com, version: v1",
        "version: v1",
        "kind: ConfigMap, name: b, namespace: team",
        "kind: ConfigMap, version: v2",
    ],
)
def test_same_targets(target: str, tmp_path: Path) -> None:
    """Each field of a target is a regular expression for the whole; no namespace counts as `default`."""
    tree = {
        "o/kustomization.yaml": "resources: [a.yaml]\n" + patching(MARK, target=target),
        "o/a.yaml": OBJECTS,
    }

    assert built(tree, tmp_path) == ordered(list(composed(tree).objects))


def _renaming(operation: str, target: str) -> Tree:
    first = patching(operation, target="name: a").removeprefix("patches:\n")
    return {
        "o/kustomization.yaml": "resources: [a.yaml]\npatches:\n"
        + first
        + patching(MARK, target=target).removeprefix("patches:\n"),
        "o/a.yaml": config_map("a"),
    }


@pytest.mark.tools
@pytest.mark.parametrize(
    ("operation", "target"),
    [
        ("{op: replace, path: /metadata/name, value: new}", "name: new"),
        ("{op: replace, path: /metadata/name, value: new}", "name: a"),
        ("{op: add, path: /metadata/namespace, value: new}", "namespace: new"),
        ("{op: add, path: /metadata/namespace, value: new}", "namespace: default"),
        ("{op: replace, path: /kind, value: Secret}", "kind: Secret"),
        ("{op: replace, path: /kind, value: Secret}", "kind: ConfigMap"),
        ("{op: replace, path: /apiVersion, value: example.com/v2}", "group: example.com"),
        ("{op: replace, path: /apiVersion, value: example.com/v2}", "version: v1"),
    ],
)
def test_changed_names(operation: str, target: str, tmp_path: Path) -> None:
    """A later patch finds an object by its new name or its first one, but by its new kind only."""
    tree = _renaming(operation, target)

    assert built(tree, tmp_path) == ordered(list(composed(tree).objects))


@pytest.mark.tools
@pytest.mark.parametrize("name", ["a", "middle", "new"])
def test_names_changed_in_a_base(name: str, tmp_path: Path) -> None:
    """The first and the last name of an object are known to the overlays above, those between are not."""
    rename = "{{op: replace, path: /metadata/name, value: {}}}"
    tree = {
        "o/kustomization.yaml": "resources: [../b]\n" + patching(MARK, target=f"name: {name}"),
        "b/kustomization.yaml": "resources: [a.yaml]\n"
        + patching(rename.format("middle"), rename.format("new")),
        "b/a.yaml": config_map("a"),
    }

    assert built(tree, tmp_path) == ordered(list(composed(tree).objects))


def test_matching_returns_the_objects_themselves() -> None:
    """The selection of a user's own patch works on objects in memory, and returns what can be changed."""
    objects = [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "train", "namespace": "team"}},
    ]

    assert [objects[0]] == matching({"kind": "JobSet"}, objects)
    assert objects[1] is matching({"namespace": "team", "group": ""}, objects)[0]
    assert objects == matching({"name": "train"}, objects)
    assert matching({"kind": "Job"}, objects) == []


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "n"}},
            ("batch", "Job", "n", "a"),
        ),
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}, ("", "Service", "", "a")),
        ({"kind": "Service", "metadata": None}, ("", "Service", "", "")),
    ],
)
def test_identity(item: dict[str, object], expected: tuple[str, str, str, str]) -> None:
    """An object is known by group, kind, namespace and name, whatever its version."""
    assert expected == identity(item)
