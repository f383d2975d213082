"""What slicewright does not evaluate itself is named, so that the real kustomize can be asked."""

from pathlib import Path

import pytest

from slicewright.rendering.compose import Composed, compose_with, origins
from slicewright.rendering.kustomization import Stopped

from .kit import COMPONENT, Tree, built, composed, config_map, merging, patching

O = "o/kustomization.yaml"  # noqa: E741 - the folder of every tree here
MERGE = "o/p.yaml: a strategic-merge patch"
MERGE_INTO = f"{O}: a strategic-merge patch of an object with lists or nulls"
MERGE_QUOTED = f"{O}: a strategic-merge patch of a text with a number or a boolean"
NO_TARGET = f"{O}: a patch without a target, or with a selector"
TARGET = "target: {kind: ConfigMap}"
REPLACE = "patch: '- {op: replace, path: /data/a, value: c}'"


def _patched(entry: str) -> Tree:
    return {O: f"resources: [a.yaml]\npatches:\n- {entry}\n", "o/a.yaml": config_map("a")}


def _object(text: str) -> Tree:
    return {O: "resources: [a.yaml]\n", "o/a.yaml": text}


OUTSIDE: dict[str, tuple[Tree, str]] = {
    "an unknown field": (_object("") | {O: "resources: [a.yaml]\nnamePrefix: p-\n"}, f"{O}: namePrefix"),
    "the first of several": (
        _object("") | {O: "resources: [a.yaml]\nnamespace: n-1\nimages: []\n"},
        f"{O}: images",
    ),
    "in a base": (
        {O: "resources: [../b]\n", "b/kustomization.yaml": "resources: []\nnamespace: team\n"},
        "b/kustomization.yaml: namespace",
    ),
    "a merge of a list": (merging("data: {a: [c]}", data="{b: c}"), MERGE),
    "a merge of null, which deletes": (merging("data: {a: null}"), MERGE),
    "a directive of a merge": (merging("data: {$patch: delete}"), MERGE),
    "a merge that keeps an object local": (
        merging("", metadata="{name: b, annotations: {config.kubernetes.io/local-config: x}}"),
        MERGE,
    ),
    "a merge into an object with a list": (merging("data: {a: c}", data="{b: [c]}"), MERGE_INTO),
    "a merge of a note of kustomize": (
        merging("", metadata="{name: b, annotations: {internal.config.kubernetes.io/needsHashSuffix: x}}"),
        MERGE,
    ),
    "a merge of a number into a text": (merging("data: {m: {d: 5}}", data="{m: {d: '4'}}"), MERGE_QUOTED),
    "a merge of a boolean into a text": (merging("data: {a: true}", data="{a: 'false'}"), MERGE_QUOTED),
    "a merge into an object with null": (merging("data: {a: c}", data="{b: null}"), MERGE_INTO),
    "a patch without a target": (
        _patched(
            "patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    data: {a: c}"
        ),
        NO_TARGET,
    ),
    "a label selector": (_patched(f"{{target: {{labelSelector: a=b}}, {REPLACE}}}"), NO_TARGET),
    "a pattern that Go may read otherwise": (
        _patched(f"{{target: {{name: '(?i)A'}}, {REPLACE}}}"),
        NO_TARGET,
    ),
    "a pattern with a class": (_patched(f"{{target: {{name: '\\w'}}, {REPLACE}}}"), NO_TARGET),
    "patch options": (
        _patched(f"{{{TARGET}, options: {{allowNameChange: true}}, {REPLACE}}}"),
        f"{O}: a patch with options",
    ),
    "a patch of two documents": (
        _patched(f"{{{TARGET}, path: p.yaml}}") | {"o/p.yaml": "- {op: remove, path: /data}\n---\n[]\n"},
        "o/p.yaml: a strategic-merge patch",
    ),
    "a list of objects": (
        _object("apiVersion: v1\nkind: List\nmetadata: {name: l}\nitems: []\n"),
        "o/a.yaml: a list of objects in one document (List)",
    ),
    "a list without a name": (
        _object("apiVersion: v1\nkind: List\nmetadata: {}\nitems: []\n"),
        "o/a.yaml: a list of objects in one document (List)",
    ),
    "an object that stays local": (
        _object(
            config_map("a").replace(
                "{name: a}", "{name: a, annotations: {config.kubernetes.io/local-config: x}}"
            )
        ),
        "o/a.yaml: the annotation config.kubernetes.io/local-config",
    ),
    "an object with a note of kustomize": (
        _object(
            config_map("a").replace("{name: a}", "{name: a, annotations: {config.kubernetes.io/index: '0'}}")
        ),
        "o/a.yaml: the annotation config.kubernetes.io/index",
    ),
    **{
        f"annotations: {written}": (
            _object(config_map("a").replace("{name: a}", f"{{name: a, annotations: {written}}}")),
            "o/a.yaml: annotations that are not texts",
        )
        for written in ("{x: 1}", "{x: true}", "{x: 1.50}", "{x: null}", "{x: {v: w}}", "null", "word")
    },
    "a patch that writes a number as an annotation": (
        _object(config_map("a"))
        | {O: "resources: [a.yaml]\n" + patching("{op: add, path: /metadata/annotations, value: {x: 1}}")},
        "o/a.yaml: annotations that are not texts",
    ),
    "a word that YAML 1.1 takes for a boolean": (
        _patched(f"{{{TARGET}, path: p.yaml}}") | {"o/p.yaml": "- {op: add, path: /data/a, value: on}\n"},
        "o/p.yaml:1: kustomize reads on as something else than YAML 1.2 does",
    ),
    "a date": (
        _object(config_map("a", data="{a: 2026-01-01}")),
        "o/a.yaml:4: kustomize reads 2026-01-01 as something else than YAML 1.2 does",
    ),
}
"""These, kustomize builds."""

REMOTE = (
    *("https://github.com/a/b", "github.com/a/b", "git@github.com:a/b.git", "git::https://example.com/a"),
    *("../b?ref=main", "example.com/a//b"),
)


@pytest.mark.parametrize("case", OUTSIDE)
def test_feature(case: str) -> None:
    """The feature is named with the file that uses it; there are no objects and no problems."""
    tree, expected = OUTSIDE[case]

    assert Composed(outside=(expected,)) == composed(tree)


@pytest.mark.tools
@pytest.mark.parametrize("case", OUTSIDE)
def test_kustomize_builds_it(case: str, tmp_path: Path) -> None:
    """What is outside of the subset is right for all that, and kustomize has the answer."""
    tree, _ = OUTSIDE[case]

    assert None is not built(tree, tmp_path)


@pytest.mark.parametrize("entry", REMOTE)
@pytest.mark.parametrize("field", ["resources", "components"])
def test_remote_folders(field: str, entry: str) -> None:
    """Nothing is fetched: a remote base is outside of the subset."""
    assert Composed(outside=(f"{O}: remote {entry}",)) == composed({O: f"{field}: ['{entry}']\n"})


@pytest.mark.parametrize("pattern", ["a[", "(", "a**", "a*+", "a{2}", "(?P<n>a)", "\\d", "[[:alpha:]]*?*"])
def test_patterns_of_one_language_only(pattern: str) -> None:
    """A pattern that is wrong, or that Go and Python may read differently, is left to kustomize."""
    assert Composed(outside=(NO_TARGET,)) == composed(
        _patched(f"{{target: {{name: '{pattern}'}}, {REPLACE}}}")
    )


@pytest.mark.parametrize("target", ["[]", "{name: 1}", "{name: }", "x"])
def test_targets_of_another_form(target: str) -> None:
    """A target that is not a mapping of patterns is left to kustomize, which says what is wrong with it."""
    assert Composed(outside=(NO_TARGET,)) == composed(_patched(f"target: {target}\n  {REPLACE}"))


def test_an_empty_patch() -> None:
    """The versions of kustomize do not agree about a patch without operations."""
    assert Composed(outside=(f"{O}: a strategic-merge patch",)) == composed(
        _patched(f"{{{TARGET}, patch: '[]'}}")
    )


COMPONENTS: Tree = {
    "b/kustomization.yaml": "resources: [b.yaml]\n",
    "b/b.yaml": config_map("b"),
    "c/kustomization.yaml": COMPONENT + patching("{op: add, path: /data/c, value: '1'}"),
    "d/kustomization.yaml": COMPONENT
    + "resources: [d.yaml]\n"
    + patching("{op: test, path: /data/c, value: '1'}", target="name: b"),
    "d/d.yaml": config_map("d"),
}


def test_a_base_after_some_components() -> None:
    """The objects of a base are those of an overlay that names it and the components, in this order."""
    overlay = COMPONENTS | {O: "resources: [../b]\ncomponents: [../c, ../d]\n"}

    assert list(composed(overlay).objects) == compose_with("b", ("c", "d"), COMPONENTS.get)
    assert list(composed(COMPONENTS, "b").objects) == compose_with("b", (), COMPONENTS.get)


def test_each_object_is_known_by_its_file() -> None:
    """Whoever finds fault with an object can name the file that it came from."""
    assert origins("b", ("c", "d"), COMPONENTS.get) == ["b/b.yaml", "d/d.yaml"]


@pytest.mark.parametrize(
    ("components", "ident", "outside"),
    [
        (("d", "c"), "KUS006", ""),
        (("b",), "KUS002", ""),
        (("missing",), "KUS001", ""),
        (("e",), "", "e/kustomization.yaml: images"),
    ],
)
def test_a_component_that_does_not_fit_stops(components: tuple[str, ...], ident: str, outside: str) -> None:
    """The first thing that goes wrong is raised, with its problem or the feature that is outside."""
    tree = COMPONENTS | {"e/kustomization.yaml": COMPONENT + "images: []\n"}

    with pytest.raises(Stopped) as raised:
        compose_with("b", components, tree.get)

    problem = raised.value.problem
    assert (ident, outside) == (problem.id if problem else "", raised.value.outside)
    assert str(raised.value) == (problem.message if problem else outside)
