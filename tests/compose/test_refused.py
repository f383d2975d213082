"""What kustomize refuses is a problem here, before anybody runs kustomize."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slicewright.core.compose.kustomization import compose

from .kit import COMPONENT, VERSIONS, Tree, built, composed, config_map, patching

if TYPE_CHECKING:
    from pathlib import Path

ADD_X = "{op: add, path: /data/x, value: first}"
A = {"o/a.yaml": config_map("a")}
HINT_EMPTY = "kustomize refuses it; write resources: [] if nothing is meant"
HINT_ABOVE = "name a folder with a kustomization.yaml instead, or move the file"
NO_OBJECT = "a document is no Kubernetes object: it needs a kind and a metadata.name, both strings"


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
    "no kustomization": (
        A,
        (
            "o/kustomization.yaml: KUS001 there is no file o/kustomization.yaml\n"
            "  hint: check the path; a folder that is named needs a kustomization.yaml"
        ),
    ),
    "no file": (
        _o("resources: [b.yaml]\n"),
        "o/kustomization.yaml: KUS001 there is no file o/b.yaml\n  hint: check the path",
    ),
    "no folder": (
        _o("resources: [../b]\n"),
        (
            "b/kustomization.yaml: KUS001 there is no file b/kustomization.yaml\n"
            "  hint: check the path; a folder that is named needs a kustomization.yaml"
        ),
    ),
    "no component": (
        _o("resources: [a.yaml]\ncomponents: [../b]\n"),
        (
            "b/kustomization.yaml: KUS001 there is no file b/kustomization.yaml\n"
            "  hint: check the path; a folder that is named needs a kustomization.yaml"
        ),
    ),
    "no patch": (
        _patched("{path: p.yaml, target: {kind: ConfigMap}}"),
        "o/p.yaml: KUS001 there is no file o/p.yaml\n  hint: check the path of the patch",
    ),
    "two names": (
        _o("resources: [a.yaml]\n", **{"kustomization.yml": "resources: [a.yaml]\n"}),
        (
            "o/kustomization.yaml: KUS002 kustomization.yaml and kustomization.yml are in one folder\n"
            "  hint: keep one"
        ),
    ),
    "an empty file": (
        _o("# nothing\n"),
        f"o/kustomization.yaml: KUS002 the kustomization is empty\n  hint: {HINT_EMPTY}",
    ),
    "nothing but a kind": (
        _o("kind: Kustomization\nresources:\n"),
        f"o/kustomization.yaml: KUS002 the kustomization is empty\n  hint: {HINT_EMPTY}",
    ),
    "a list": (_o("- a.yaml\n"), "o/kustomization.yaml: KUS002 expected one kustomization"),
    "another kind": (
        _o("kind: Kustomisation\nresources: [a.yaml]\n"),
        (
            "o/kustomization.yaml: KUS002 kind 'Kustomisation' is not a kustomization\n"
            "  hint: did you mean 'Kustomization'?"
        ),
    ),
    "a kind that is a list": (
        _o("kind: [Kustomization]\nresources: [a.yaml]\n"),
        (
            "o/kustomization.yaml: KUS002 kind '['Kustomization']' is not a kustomization\n"
            "  hint: did you mean 'Kustomization'?"
        ),
    ),
    "the apiVersion of the other kind": (
        _o("apiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [a.yaml]\n"),
        (
            "o/kustomization.yaml: KUS002 the apiVersion of a Kustomization cannot be "
            "'kustomize.config.k8s.io/v1alpha1'\n  hint: write kustomize.config.k8s.io/v1beta1"
        ),
    ),
    "a component among the resources": (
        {**_o("resources: [../c]\n"), "c/kustomization.yaml": COMPONENT + "resources: []\n"},
        "c/kustomization.yaml: KUS002 expected a Kustomization, found a Component",
    ),
    "a kustomization among the components": (
        {**_o("components: [../c]\n"), "c/kustomization.yaml": "resources: []\n"},
        "c/kustomization.yaml: KUS002 expected a Component, found a Kustomization",
    ),
    "resources as a word": (
        _o("resources: a.yaml\n"),
        "o/kustomization.yaml: KUS002 'resources' must be a list",
    ),
    "resources that are no paths": (
        _o("resources: [{a: b}]\n"),
        "o/kustomization.yaml: KUS002 'resources' must hold paths",
    ),
    "components that are no paths": (
        _o("components: ['']\n"),
        "o/kustomization.yaml: KUS002 'components' must hold paths",
    ),
    "patches that are no mappings": (
        _o("patches: [p.yaml]\n"),
        "o/kustomization.yaml: KUS002 'patches' must hold mappings",
    ),
    "a patch without operations": (
        _patched("{target: {kind: ConfigMap}}"),
        "o/kustomization.yaml: KUS002 a patch needs either 'path' or 'patch', a text",
    ),
    "a patch with operations twice": (
        _patched(
            "{target: {kind: ConfigMap}, path: p.yaml, patch: '- {op: remove, path: /data}'}", f"- {ADD_X}\n"
        ),
        "o/kustomization.yaml: KUS002 a patch needs either 'path' or 'patch', a text",
    ),
    "a patch that is not a text": (
        _patched("{target: {kind: ConfigMap}, patch: [{op: remove, path: /data}]}"),
        "o/kustomization.yaml: KUS002 a patch needs either 'path' or 'patch', a text",
    ),
    "a patch that looks like JSON": (
        _patched("{target: {kind: ConfigMap}, path: p.yaml}", f"[{ADD_X}]\n"),
        (
            "o/p.yaml: KUS002 kustomize takes a patch that begins with [ for JSON, and this is none\n"
            "  hint: write one operation a line, each after '- '"
        ),
    ),
    "itself": (_o("resources: [.]\n"), "KUS003 kustomization includes itself: o -> o"),
    "a circle": (
        {**_o("resources: [../b]\n"), "b/kustomization.yaml": "resources: [../o]\n"},
        "KUS003 kustomization includes itself: o -> b -> o",
    ),
    "the folder above": (
        {**_o("resources: [b]\n"), "o/b/kustomization.yaml": "resources: [..]\n"},
        "KUS003 kustomization includes itself: o -> o/b -> o",
    ),
    "a folder above the first": (
        {
            **_o("resources: [../b]\n"),
            "b/kustomization.yaml": "resources: [..]\n",
            "kustomization.yaml": "resources: [o]\n",
        },
        "KUS003 kustomization includes itself: o -> b -> .",
    ),
    "a component with itself": (
        {**_o("components: [../c]\n"), "c/kustomization.yaml": COMPONENT + "components: [.]\n"},
        "KUS003 kustomization includes itself: o -> c -> c",
    ),
    "an absolute path": (
        _o("resources: [/etc]\n"),
        "o/kustomization.yaml: KUS004 '/etc' leaves the repository",
    ),
    "a file of another folder": (
        {**_o("resources: [../b/b.yaml]\n"), "b/b.yaml": config_map("b")},
        f"o/kustomization.yaml: KUS004 the file b/b.yaml is not below o\n  hint: {HINT_ABOVE}",
    ),
    "a patch of another folder": (
        {**_patched("{target: {kind: ConfigMap}, path: ../b/p.yaml}"), "b/p.yaml": f"- {ADD_X}\n"},
        f"o/kustomization.yaml: KUS004 the file b/p.yaml is not below o\n  hint: {HINT_ABOVE}",
    ),
    "an object twice": (
        _o("resources: [a.yaml, b.yaml]\n", **{"b.yaml": config_map("a")}),
        "o/kustomization.yaml: KUS005 object 'v1 ConfigMap default a' comes twice",
    ),
    "an object twice in a file": (
        _o("resources: [b.yaml]\n", **{"b.yaml": config_map("a") + "---\n" + config_map("a")}),
        "o/kustomization.yaml: KUS005 object 'v1 ConfigMap default a' comes twice",
    ),
    "an object with and without the default namespace": (
        _o("resources: [a.yaml, b.yaml]\n", **{"b.yaml": config_map("a", namespace="default")}),
        "o/kustomization.yaml: KUS005 object 'v1 ConfigMap default a' comes twice",
    ),
    "a base twice": (
        {**_o("resources: [../b, ../c]\n"), "c/kustomization.yaml": "resources: [../b]\n"}
        | {"b/kustomization.yaml": "resources: [b.yaml]\n", "b/b.yaml": config_map("b")},
        "o/kustomization.yaml: KUS005 object 'v1 ConfigMap default b' comes twice",
    ),
    "a component with the object of the base": (
        {**_o("resources: [a.yaml]\ncomponents: [../c]\n"), "c/a.yaml": config_map("a")}
        | {"c/kustomization.yaml": COMPONENT + "resources: [a.yaml]\n"},
        "c/kustomization.yaml: KUS005 object 'v1 ConfigMap default a' comes twice",
    ),
    "two objects renamed to one name": (
        _o("resources: [a.yaml, b.yaml]\n" + patching("{op: add, path: /metadata/name, value: c}"))
        | {"o/b.yaml": config_map("b")},
        "o/kustomization.yaml: KUS005 object 'v1 ConfigMap default c' comes twice",
    ),
    "a test that fails": (
        _o("resources: [a.yaml]\n" + patching("{op: test, path: /data/a, value: c}")),
        "o/kustomization.yaml: KUS006 test /data/a: found 'b', not 'c'",
    ),
    "no kind": (
        _o("resources: [b.yaml]\n", **{"b.yaml": "metadata: {name: a}\n"}),
        f"o/b.yaml: KUS008 {NO_OBJECT}",
    ),
    "no name": (
        _o("resources: [b.yaml]\n", **{"b.yaml": "kind: A\nmetadata: {}\n"}),
        f"o/b.yaml: KUS008 {NO_OBJECT}",
    ),
    "no metadata": (_o("resources: [b.yaml]\n", **{"b.yaml": "kind: A\n"}), f"o/b.yaml: KUS008 {NO_OBJECT}"),
    "no object": (_o("resources: [b.yaml]\n", **{"b.yaml": "- kind: A\n"}), f"o/b.yaml: KUS008 {NO_OBJECT}"),
    "a name taken away": (
        _o("resources: [a.yaml]\n" + patching("{op: remove, path: /metadata/name}")),
        f"o/kustomization.yaml: KUS008 {NO_OBJECT}",
    ),
    "a syntax error": (
        _o("resources: [a.yaml\n"),
        (
            "o/kustomization.yaml:1:12: YAML001 not valid YAML: while parsing a flow sequence "
            "did not find expected ',' or ']'\n  hint: look for the bracket, brace or comma that is missing"
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_problem(case: str) -> None:
    """Each mistake is one problem, with the file that it is in and what to do about it."""
    tree, expected = REFUSED[case]

    actual = composed(tree)
    assert ((), (), [expected]) == (actual.objects, actual.outside, [p.text() for p in actual.problems])


@pytest.mark.tools
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", REFUSED)
def test_kustomize_refuses_it_too(case: str, version: str, tmp_path: Path) -> None:
    """Neither version of kustomize builds what is a problem here."""
    tree, _ = REFUSED[case]

    assert None is built(version, tree, tmp_path)


@pytest.mark.parametrize("entry", ["../../b", "../../b/b.yaml", "../..", "b/../../../c"])
def test_nothing_outside_of_the_tree_is_read(entry: str) -> None:
    """A path that leads out of the repository is refused, whatever stands there."""
    asked: list[str] = []
    tree = _o(f"resources: [{entry}]\n")

    def read_text(path: str) -> str | None:
        asked.append(path)
        return tree.get(path)

    (problem,) = compose("o", read_text).problems
    assert f"o/kustomization.yaml: KUS004 '{entry}' leaves the repository" == problem.text()
    assert [path for path in asked if path.startswith((".", "/"))] == []


@pytest.mark.slow
def test_components_that_meet_again_on_every_level_come_to_an_end() -> None:
    """Each time that a component is listed it is applied anew: what doubles thirty times is refused soon.

    Kustomize goes through it all, which takes hours.
    """
    tree = {**_o("resources: [a.yaml]\ncomponents: [../c0, ../d0]\n"), **_meeting(30)}

    (problem,) = composed(tree).problems
    expected = (
        "KUS003 kustomizations include each other more than 50,000 times\n"
        "  hint: list a component once: it is applied anew each time"
    )
    assert expected == problem.text()


def test_a_key_given_twice_is_refused() -> None:
    """Of a key that is given twice kustomize takes the last one without a word; here it is a mistake."""
    (problem,) = composed(_o("resources: [a.yaml]\nresources: []\n")).problems

    expected = (
        "o/kustomization.yaml:2:1: YAML002 key 'resources' is given twice\n  hint: delete one of the two"
    )
    assert expected == problem.text()


def test_several_kustomizations_in_a_file_are_refused() -> None:
    """One file holds one kustomization; kustomize would read the first and say nothing."""
    (problem,) = composed(_o("resources: [a.yaml]\n---\nresources: []\n")).problems

    assert problem.text() == "o/kustomization.yaml: KUS002 expected one kustomization"


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

    assert f"o/b.yaml: KUS008 {NO_OBJECT}" == problem.text()


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
    said = "o/kustomization.yaml: KUS003 patches and components are held against objects more than"
    assert (
        f"{said} 1,000,000 times\n  hint: list a component once, or split the kustomization" == problem.text()
    )
