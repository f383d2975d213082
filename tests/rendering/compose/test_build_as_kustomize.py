"""Kustomizations of the subset give the objects that kustomize builds."""

from pathlib import Path

import pytest

from .kit import COMPONENT, Tree, built, composed, config_map, merging, ordered, patching

ADD_X = "{op: add, path: /data/x, value: first}"
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

ALIKE: dict[str, Tree] = {
    "a file": {"o/kustomization.yaml": KUSTOMIZATION + "resources: [a.yaml]\n", "o/a.yaml": config_map("a")},
    "no apiVersion and kind": {"o/kustomization.yaml": "resources: [a.yaml]\n", "o/a.yaml": config_map("a")},
    "no resources": {"o/kustomization.yaml": "resources: []\n"},
    "fields without a value": {"o/kustomization.yaml": "resources: []\ncomponents:\npatches:\n"},
    "files of any name": {
        "o/kustomization.yaml": "resources: [a, b.json, c/d.txt]\n",
        "o/a": config_map("a"),
        "o/b.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}',
        "o/c/d.txt": config_map("d"),
    },
    "several documents": {
        "o/kustomization.yaml": "resources: [a.yaml]\n",
        "o/a.yaml": "---\n# nothing\n---\n" + config_map("a") + "---\n" + config_map("b") + "---\n",
    },
    "an empty file": {
        "o/kustomization.yaml": "resources: [a.yaml, b.yaml]\n",
        "o/a.yaml": "# nothing yet\n",
        "o/b.yaml": config_map("b"),
    },
    "anchors and merges": {
        "o/kustomization.yaml": "resources: [a.yaml]\n",
        "o/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        "data: &data {a: b}\nother: *data\nmore: {<<: *data, c: d}\n",
    },
    "no apiVersion in an object": {
        "o/kustomization.yaml": "resources: [a.yaml]\n",
        "o/a.yaml": "kind: Holder\nmetadata: {name: a}\n",
    },
    "nested bases": {
        "o/kustomization.yaml": "resources: [../b, c/]\n",
        "b/kustomization.yaml": "resources: [../d/e, b.yaml]\n",
        "b/b.yaml": config_map("b"),
        "d/e/kustomization.yaml": "resources: [./e.yaml]\n",
        "d/e/e.yaml": config_map("e"),
        "o/c/kustomization.yaml": "resources: [c.yaml]\n",
        "o/c/c.yaml": config_map("c"),
    },
    "the other names": {
        "o/kustomization.yml": "resources: [../b, a.yaml]\n",
        "o/a.yaml": config_map("a"),
        "b/Kustomization": "resources: [b.yaml]\n",
        "b/b.yaml": config_map("b"),
    },
    "a folder whose name begins with dots": {
        "o/kustomization.yaml": "resources: [../..b]\n",
        "..b/kustomization.yaml": "resources: [b.yaml]\n",
        "..b/b.yaml": config_map("b"),
    },
    "a component": {
        "o/kustomization.yaml": "resources: [../b]\ncomponents: [../c]\n",
        "b/kustomization.yaml": "resources: [b.yaml]\n",
        "b/b.yaml": config_map("b"),
        "c/kustomization.yaml": COMPONENT + "resources: [c.yaml]\n" + patching(ADD_X),
        "c/c.yaml": config_map("c"),
    },
    "a component without apiVersion": {
        "o/kustomization.yaml": "resources: [a.yaml]\ncomponents: [c]\n",
        "o/a.yaml": config_map("a"),
        "o/c/kustomization.yaml": "kind: Component\n" + patching(ADD_X),
    },
    "components in their order": {
        "o/kustomization.yaml": "components: [../d, ../c]\nresources: [a.yaml]\n",
        "o/a.yaml": config_map("a"),
        "c/kustomization.yaml": COMPONENT + patching("{op: replace, path: /data/a, value: c}"),
        "d/kustomization.yaml": COMPONENT + patching("{op: replace, path: /data/a, value: d}"),
    },
    "the overlay after its components": {
        "o/kustomization.yaml": "resources: [a.yaml]\ncomponents: [../c]\n"
        + patching("{op: replace, path: /data/a, value: overlay}"),
        "o/a.yaml": config_map("a"),
        "c/kustomization.yaml": COMPONENT + patching("{op: replace, path: /data/a, value: c}"),
    },
    "a component in a component": {
        "o/kustomization.yaml": "resources: [a.yaml]\ncomponents: [../c]\n",
        "o/a.yaml": config_map("a"),
        "c/kustomization.yaml": COMPONENT
        + "components: [../d]\n"
        + patching("{op: test, path: /data/a, value: d}", "{op: replace, path: /data/a, value: c}"),
        "d/kustomization.yaml": COMPONENT + patching("{op: replace, path: /data/a, value: d}"),
    },
    "a component twice": {
        "o/kustomization.yaml": "resources: [a.yaml]\ncomponents: [../c, ../c]\n",
        "o/a.yaml": config_map("a", data="{l: []}").replace("[]", "[x]"),
        "c/kustomization.yaml": COMPONENT + patching("{op: add, path: /data/l/-, value: c}"),
    },
    "a component sees all that came before": {
        "o/kustomization.yaml": "resources: [../b, a.yaml]\ncomponents: [../c, ../d]\n",
        "o/a.yaml": config_map("a"),
        "b/kustomization.yaml": "resources: [b.yaml]\n",
        "b/b.yaml": config_map("b"),
        "c/kustomization.yaml": COMPONENT + "resources: [c.yaml]\n",
        "c/c.yaml": config_map("c"),
        "d/kustomization.yaml": COMPONENT + patching(ADD_X),
    },
    "a component by itself": {
        "o/kustomization.yaml": COMPONENT + "resources: [a.yaml]\n",
        "o/a.yaml": config_map("a"),
    },
    "patches of a base stay in the base": {
        "o/kustomization.yaml": "resources: [../b, a.yaml]\n",
        "o/a.yaml": config_map("a"),
        "b/kustomization.yaml": "resources: [b.yaml]\n" + patching(ADD_X),
        "b/b.yaml": config_map("b"),
    },
    "a patch in a file": {
        "o/kustomization.yaml": "resources: [a.yaml]\n"
        "patches: [{path: p/p.yaml, target: {kind: ConfigMap}}]\n",
        "o/a.yaml": config_map("a"),
        "o/p/p.yaml": f"# comment\n- {ADD_X}\n",
    },
    "a patch in JSON": {
        "o/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: p.json, target: {kind: ConfigMap}}]\n",
        "o/a.yaml": config_map("a"),
        "o/p.json": '[{"op": "add", "path": "/data/x", "value": "first"}]\n',
    },
    "a patch that matches nothing": {
        "o/kustomization.yaml": "resources: [a.yaml]\n" + patching(ADD_X, target="kind: Secret"),
        "o/a.yaml": config_map("a"),
    },
    "fields that are merged": merging("data: {a: c, new: 1, m: {f: true}, more: {g: {}}, empty: {}}"),
    "a text in the place of a number": merging("data: {a: '5', b: 'true'}", data="{a: 5, b: true}"),
    "labels that are merged": merging("", metadata="{name: b, namespace: c, labels: {d: e}}"),
    "a merge into empty mappings": merging("data: {m: {}, o: {p: q}}", data="{m: {d: {}}, o: {}}"),
    "annotations that are an empty mapping": {
        "o/kustomization.yaml": "resources: [a.yaml]\n" + patching(ADD_X),
        "o/a.yaml": config_map("a").replace("{name: a}", "{name: a, annotations: {}, labels: {}}"),
    },
    "the last annotation is removed": {
        "o/kustomization.yaml": "resources: [a.yaml]\n"
        + patching("{op: remove, path: /metadata/annotations/x}"),
        "o/a.yaml": config_map("a").replace("{name: a}", "{name: a, annotations: {x: v}}"),
    },
    "labels that are not texts": {
        "o/kustomization.yaml": "resources: [a.yaml]\n" + patching(ADD_X),
        "o/a.yaml": config_map("a").replace(
            "{name: a}", "{name: a, labels: {i: 1, b: true, f: 1.5, none: null}}"
        ),
    },
    "a merge that matches nothing": merging("data: {a: c}", target="kind: Secret", data="{a: [b]}"),
    "a component without what it patches": {
        "o/kustomization.yaml": COMPONENT + "patches: [{path: p.yaml, target: {kind: ConfigMap}}]\n",
        "o/p.yaml": config_map("a"),
    },
    "one object, in two namespaces and versions": {
        "o/kustomization.yaml": "resources: [a.yaml]\n" + patching(ADD_X, target="namespace: team"),
        "o/a.yaml": "---\n".join(
            [
                config_map("a"),
                config_map("a", namespace="team"),
                config_map("a").replace("v1", "v2"),
                config_map("a").replace("v1", "example.com/v1"),
            ]
        ),
    },
}


@pytest.mark.tools
@pytest.mark.parametrize("case", ALIKE)
def test_same_objects(case: str, tmp_path: Path) -> None:
    """What slicewright evaluates itself equals the output of kustomize, as parsed objects."""
    expected = built(ALIKE[case], tmp_path)

    actual = composed(ALIKE[case])
    assert (actual.problems, actual.outside) == ((), ())
    assert expected == ordered(list(actual.objects))


def test_objects_come_in_the_order_of_the_files() -> None:
    """Objects come as they are listed, those of components last; kustomize itself sorts them by kind."""
    names = [item["metadata"]["name"] for item in composed(ALIKE["a component"]).objects]

    assert names == ["b", "c"]


def test_the_root_of_the_tree_can_be_built() -> None:
    """A kustomization may stand in the root itself, and name what is below."""
    tree = {
        "kustomization.yaml": "resources: [a.yaml, o]\n",
        "a.yaml": config_map("a"),
        "o/kustomization.yaml": "resources: [b.yaml]\n",
        "o/b.yaml": config_map("b"),
    }

    assert len(composed(tree, ".").objects) == 2
    assert len(composed(tree, "o/..").objects) == 2


def test_texts_stay_as_they_were() -> None:
    """Objects of two builds are their own: changing those of one does not reach those of another."""
    tree = ALIKE["a component"]
    first = composed(tree).objects
    first[0]["data"]["a"] = "changed"

    assert composed(tree).objects[0]["data"]["a"] == "b"


def test_aliases_become_values_of_their_own() -> None:
    """A patch at one place of an object does not change the other places that an alias shared."""
    tree = {
        "o/kustomization.yaml": "resources: [a.yaml]\n"
        + patching("{op: add, path: /data/x, value: new}", target="name: a"),
        "o/a.yaml": "kind: Holder\nmetadata: {name: a}\ndata: &data {a: b}\nother: *data\n",
    }

    assert composed(tree).objects[0]["other"] == {"a": "b"}
