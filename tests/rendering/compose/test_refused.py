"""What kustomize refuses is a problem here, before anybody runs kustomize."""

from pathlib import Path

import pytest
from tests.words import places

from slicewright.rendering.compose import compose

from .kit import COMPONENT, Tree, built, composed, config_map, merging, patching

ADD_X = "{op: add, path: /data/x, value: first}"
A = {"o/a.yaml": config_map("a")}
NO_OBJECT = "a document is not a Kubernetes object: it needs a kind and a metadata.name, both strings"


def _o(text: str, **others: str) -> Tree:
    """Return a tree with a kustomization, an object beside it and other files there."""
    return {"o/kustomization.yaml": text, **A, **{f"o/{name}": other for name, other in others.items()}}


def _patched(entry: str, patch: str = "") -> Tree:
    return _o(f"resources: [a.yaml]\npatches:\n- {entry}\n", **({"p.yaml": patch} if patch else {}))


def _meeting(levels: int) -> Tree:
    """Return components of which each level lists both of the next, so that paths double."""
    return {
        f"{side}{level}/kustomization.yaml": f"{COMPONENT}components: [../c{level + 1}, ../d{level + 1}]\n"
        for level in range(levels)
        for side in "cd"
    } | {f"{side}{levels}/kustomization.yaml": COMPONENT + "resources: []\n" for side in "cd"}


REFUSED: dict[str, tuple[Tree, str]] = {
    "no kustomization": (A, ("o/kustomization.yaml: KUS001")),
    "no file": (_o("resources: [b.yaml]\n"), "o/kustomization.yaml: KUS001"),
    "no folder": (_o("resources: [../b]\n"), ("b/kustomization.yaml: KUS001")),
    "no component": (_o("resources: [a.yaml]\ncomponents: [../b]\n"), ("b/kustomization.yaml: KUS001")),
    "no patch": (_patched("{path: p.yaml, target: {kind: ConfigMap}}"), "o/p.yaml: KUS001"),
    "two names": (
        _o("resources: [a.yaml]\n", **{"kustomization.yml": "resources: [a.yaml]\n"}),
        ("o/kustomization.yaml: KUS002"),
    ),
    "an empty file": (_o("# nothing\n"), "o/kustomization.yaml: KUS002"),
    "nothing but a kind": (_o("kind: Kustomization\nresources:\n"), "o/kustomization.yaml: KUS002"),
    "a list": (_o("- a.yaml\n"), "o/kustomization.yaml: KUS002"),
    "another kind": (_o("kind: Kustomisation\nresources: [a.yaml]\n"), ("o/kustomization.yaml: KUS002")),
    "a kind that is a list": (
        _o("kind: [Kustomization]\nresources: [a.yaml]\n"),
        ("o/kustomization.yaml: KUS002"),
    ),
    "the apiVersion of the other kind": (
        _o("apiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [a.yaml]\n"),
        ("o/kustomization.yaml: KUS002"),
    ),
    "a component among the resources": (
        {**_o("resources: [../c]\n"), "c/kustomization.yaml": COMPONENT + "resources: []\n"},
        "c/kustomization.yaml: KUS002",
    ),
    "a kustomization among the components": (
        {**_o("components: [../c]\n"), "c/kustomization.yaml": "resources: []\n"},
        "c/kustomization.yaml: KUS002",
    ),
    "resources as a word": (_o("resources: a.yaml\n"), "o/kustomization.yaml: KUS002"),
    "resources that are no paths": (_o("resources: [{a: b}]\n"), "o/kustomization.yaml: KUS002"),
    "components that are no paths": (_o("components: ['']\n"), "o/kustomization.yaml: KUS002"),
    "patches that are no mappings": (_o("patches: [p.yaml]\n"), "o/kustomization.yaml: KUS002"),
    "a patch without operations": (_patched("{target: {kind: ConfigMap}}"), "o/kustomization.yaml: KUS002"),
    "a patch with operations twice": (
        _patched(
            "{target: {kind: ConfigMap}, path: p.yaml, patch: '- {op: remove, path: /data}'}", f"- {ADD_X}\n"
        ),
        "o/kustomization.yaml: KUS002",
    ),
    "a patch that is not a text": (
        _patched("{target: {kind: ConfigMap}, patch: [{op: remove, path: /data}]}"),
        "o/kustomization.yaml: KUS002",
    ),
    "a patch that looks like JSON": (
        _patched("{target: {kind: ConfigMap}, path: p.yaml}", f"[{ADD_X}]\n"),
        ("o/p.yaml: KUS002"),
    ),
    "a merge of a mapping into a text": (merging("data: {a: {b: c}}"), "o/kustomization.yaml: KUS006"),
    "a merge of a text into a mapping": (merging("data: {m: c}"), "o/kustomization.yaml: KUS006"),
    "itself": (_o("resources: [.]\n"), "KUS003"),
    "a circle": ({**_o("resources: [../b]\n"), "b/kustomization.yaml": "resources: [../o]\n"}, "KUS003"),
    "the folder above": ({**_o("resources: [b]\n"), "o/b/kustomization.yaml": "resources: [..]\n"}, "KUS003"),
    "a folder above the first": (
        {
            **_o("resources: [../b]\n"),
            "b/kustomization.yaml": "resources: [..]\n",
            "kustomization.yaml": "resources: [o]\n",
        },
        "KUS003",
    ),
    "a component with itself": (
        {**_o("components: [../c]\n"), "c/kustomization.yaml": COMPONENT + "components: [.]\n"},
        "KUS003",
    ),
    "an absolute path": (_o("resources: [/etc]\n"), "o/kustomization.yaml: KUS004"),
    "a file of another folder": (
        {**_o("resources: [../b/b.yaml]\n"), "b/b.yaml": config_map("b")},
        "o/kustomization.yaml: KUS004",
    ),
    "a patch of another folder": (
        {**_patched("{target: {kind: ConfigMap}, path: ../b/p.yaml}"), "b/p.yaml": f"- {ADD_X}\n"},
        "o/kustomization.yaml: KUS004",
    ),
    "an object twice": (
        _o("resources: [a.yaml, b.yaml]\n", **{"b.yaml": config_map("a")}),
        "o/kustomization.yaml: KUS005",
    ),
    "an object twice in a file": (
        _o("resources: [b.yaml]\n", **{"b.yaml": config_map("a") + "---\n" + config_map("a")}),
        "o/kustomization.yaml: KUS005",
    ),
    "an object with and without the default namespace": (
        _o("resources: [a.yaml, b.yaml]\n", **{"b.yaml": config_map("a", namespace="default")}),
        "o/kustomization.yaml: KUS005",
    ),
    "a base twice": (
        {**_o("resources: [../b, ../c]\n"), "c/kustomization.yaml": "resources: [../b]\n"}
        | {"b/kustomization.yaml": "resources: [b.yaml]\n", "b/b.yaml": config_map("b")},
        "o/kustomization.yaml: KUS005",
    ),
    "a component with the object of the base": (
        {**_o("resources: [a.yaml]\ncomponents: [../c]\n"), "c/a.yaml": config_map("a")}
        | {"c/kustomization.yaml": COMPONENT + "resources: [a.yaml]\n"},
        "c/kustomization.yaml: KUS005",
    ),
    "two objects renamed to one name": (
        _o("resources: [a.yaml, b.yaml]\n" + patching("{op: add, path: /metadata/name, value: c}"))
        | {"o/b.yaml": config_map("b")},
        "o/kustomization.yaml: KUS005",
    ),
    "a test that fails": (
        _o("resources: [a.yaml]\n" + patching("{op: test, path: /data/a, value: c}")),
        "o/kustomization.yaml: KUS006",
    ),
    "no kind": (_o("resources: [b.yaml]\n", **{"b.yaml": "metadata: {name: a}\n"}), "o/b.yaml: KUS008"),
    "no name": (_o("resources: [b.yaml]\n", **{"b.yaml": "kind: A\nmetadata: {}\n"}), "o/b.yaml: KUS008"),
    "no metadata": (_o("resources: [b.yaml]\n", **{"b.yaml": "kind: A\n"}), "o/b.yaml: KUS008"),
    "no object": (_o("resources: [b.yaml]\n", **{"b.yaml": "- kind: A\n"}), "o/b.yaml: KUS008"),
    "a name taken away": (
        _o("resources: [a.yaml]\n" + patching("{op: remove, path: /metadata/name}")),
        "o/kustomization.yaml: KUS008",
    ),
    "a syntax error": (_o("resources: [a.yaml\n"), ("o/kustomization.yaml:1:12: YAML001")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_problem(case: str) -> None:
    """Each mistake is one problem, with the file that it is in and what to do about it."""
    tree, expected = REFUSED[case]

    actual = composed(tree)
    assert ((), (), [expected]) == (actual.objects, actual.outside, places([*actual.problems]))


@pytest.mark.tools
@pytest.mark.parametrize("case", REFUSED)
def test_kustomize_refuses_it_too(case: str, tmp_path: Path) -> None:
    """Kustomize does not build what is a problem here."""
    tree, _ = REFUSED[case]

    assert None is built(tree, tmp_path)


@pytest.mark.parametrize("entry", ["../../b", "../../b/b.yaml", "../..", "b/../../../c"])
def test_nothing_outside_of_the_tree_is_read(entry: str) -> None:
    """A path that leads out of the repository is refused, whatever stands there."""
    asked: list[str] = []
    tree = _o(f"resources: [{entry}]\n")

    def read_text(path: str) -> str | None:
        asked.append(path)
        return tree.get(path)

    (problem,) = compose("o", read_text).problems
    assert "o/kustomization.yaml: KUS004" == places(problem)
    assert [path for path in asked if path.startswith((".", "/"))] == []


@pytest.mark.slow
def test_components_that_meet_again_on_every_level_come_to_an_end() -> None:
    """Each time that a component is listed it is applied anew: what doubles thirty times is refused soon.

    Kustomize goes through it all, which takes hours.
    """
    tree = {**_o("resources: [a.yaml]\ncomponents: [../c0, ../d0]\n"), **_meeting(30)}

    (problem,) = composed(tree).problems
    expected = "KUS003"
    assert expected == places(problem)


def test_a_key_given_twice_is_refused() -> None:
    """Of a key that is given twice kustomize takes the last one without a word; here it is a mistake."""
    (problem,) = composed(_o("resources: [a.yaml]\nresources: []\n")).problems

    expected = "o/kustomization.yaml:2:1: YAML002"
    assert expected == places(problem)


@pytest.mark.parametrize(
    "text",
    [
        "kind: A\nmetadata: {name: 1}\n",
        "kind: A\nmetadata: {name: a, namespace: 1}\n",
        "apiVersion: 1\nkind: A\nmetadata: {name: a}\n",
        "kind: true\nmetadata: {name: a}\n",
    ],
)
def test_names_are_strings(text: str) -> None:
    """A number where a name belongs is refused; kustomize passes it on for the API server to refuse."""
    (problem,) = composed(_o("resources: [b.yaml]\n", **{"b.yaml": text})).problems

    assert "o/b.yaml: KUS008" == places(problem)


def test_a_failing_patch_names_its_object() -> None:
    """The problem of a patch says which object it did not fit."""
    tree = _o("resources: [b.yaml]\n" + patching("{op: remove, path: /spec}")) | {
        "o/b.yaml": config_map("b", namespace="team")
    }

    (problem,) = composed(tree).problems
    assert (problem.id, problem.object) == ("KUS006", "ConfigMap team/b")


def test_patches_are_held_against_a_million_objects_at_most() -> None:
    """Few folders with many objects and many patches take as long as many folders do."""
    objects = "---\n".join(config_map(f"a{number}") for number in range(1100))
    patches = patching(*["{op: add, path: /data/c, value: d}"] * 1000, target="kind: None")
    tree = {"o/kustomization.yaml": f"resources: [a.yaml]\n{patches}", "o/a.yaml": objects}
    (problem,) = composed(tree).problems
    assert "o/kustomization.yaml: KUS003" == places(problem)
