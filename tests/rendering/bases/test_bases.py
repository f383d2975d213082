"""Bases and components: that they build, say what they are for, and patch what they mean to."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.files import read_text

from slicewright.rendering.compose import compose_with, matching
from slicewright.rendering.plan.plan import MARKER

from .kit import ALONE, OPENAPI, ROOT, VARIANTS, built, canonical, components, write

BASES = tuple(f"bases/{base}" for bases in VARIANTS.values() for base in bases)
FILES = tuple(
    sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "bases").rglob("*.yaml")
        if "controllers" not in path.parts
    )
)
"""What people wrote; controllers are as they were released."""
USES = components()


def overlay(base: str, *used: str) -> dict[str, Any]:
    """Return a kustomization two folders below the root, over a base with components."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"../../{base}"],
        "components": [f"../../{component}" for component in used],
    }


def concern(component: str) -> str:
    """Return what a component is about: the folder above its variant."""
    return component.split("/")[2]


def test_bases_are_those_of_the_variants() -> None:
    """Every folder with a base is known here, so that no base goes untested."""
    found = {
        path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "bases").glob("*/kustomization.yaml")
    }

    assert set(BASES) == found


@pytest.mark.tools
@pytest.mark.parametrize("base", BASES)
def test_base_builds_as_we_compose_it(base: str) -> None:
    """Each base builds on its own, and to what our composition makes of it."""
    assert built(ROOT / base) == canonical(compose_with(base, (), read_text))


@pytest.mark.tools
@pytest.mark.parametrize(("component", "base"), USES)
def test_component_builds_as_we_compose_it(tree: Path, component: str, base: str) -> None:
    """Each component builds over each base that it serves, to what our composition makes of the two."""
    name = "-".join((*component.split("/")[2:], base.removeprefix("bases/")))
    folder = write(tree / "components" / name, {"kustomization.yaml": overlay(base, component)})

    expected = built(folder)

    assert expected == canonical(compose_with(base, (component,), read_text))
    assert expected != canonical(compose_with(base, (), read_text))


@pytest.mark.parametrize(("component", "base"), USES)
def test_patch_of_component_matches_one_object(component: str, base: str) -> None:
    """The target of each patch is one object of the base: kustomize would ignore one that is none."""
    objects = compose_with(base, (), read_text)
    spec = yaml.load(read_text(f"{component}/kustomization.yaml") or "", Loader=yaml.CSafeLoader)

    assert spec["patches"]
    for patch in spec["patches"]:
        assert len(matching(patch["target"], objects)) == 1
        assert {"group", "version", "kind"} == set(patch["target"])


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
def test_components_combine_in_any_order(base: str) -> None:
    """Two components of different concerns, not both ways of provisioning, give the same in either order."""
    fitting = [component for component, used in USES if used == base]
    pairs = [
        (one, other)
        for one, other in itertools.combinations(fitting, 2)
        if concern(one) != concern(other) and not {concern(one), concern(other)} <= ALONE
    ]

    assert pairs
    for one, other in pairs:
        forth, back = (compose_with(base, pair, read_text) for pair in ((one, other), (other, one)))
        assert canonical(forth) == canonical(back), (one, other)


@pytest.mark.parametrize("path", FILES)
def test_file_says_what_it_is_for(path: str) -> None:
    """Each file begins with a comment: what it is for, and which workloads or files use it."""
    text = read_text(path) or ""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    comment = " ".join(line.removeprefix("#").strip() for line in lines)

    assert len(comment) > 80
    assert re.search(r"[Uu]sed (by|on)|[Ff]or workloads|Used by|[Ff]or hand-written|default shape", comment)


@pytest.mark.parametrize(("component", "base"), USES)
def test_component_names_the_bases_that_it_serves(component: str, base: str) -> None:
    """A component's comment has the path of every base that it is used on, and the paths are right."""
    text = read_text(f"{component}/kustomization.yaml") or ""
    named = re.findall(r"\.\./\.\./\.\./[-a-z]+", text)

    assert f"../../../{base.removeprefix('bases/')}" in named
    for path in named:
        assert (ROOT / component / path / "kustomization.yaml").is_file(), path


def test_readme_has_every_base_and_component() -> None:
    """The tables of bases/README.md name each base, and of each component the variants that there are."""
    text = read_text("bases/README.md") or ""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    named = {row[0].strip("`") for row in rows}
    have: dict[str, set[str]] = {}
    for path in sorted((ROOT / "bases/components").glob("*/*/kustomization.yaml")):
        have.setdefault(path.parent.parent.name, set()).add(path.parent.name)

    table = {
        row[0].strip("`"): {
            variant for variant, cell in zip(VARIANTS, row[2:], strict=True) if cell in {"x", "`jobset`"}
        }
        for row in rows
        if row[0].strip("`") in have
    }

    assert {base.removeprefix("bases/") for base in BASES} <= named
    assert "kustomize-openapi" in named
    have["host-maintenance"].remove("pathways-elastic")  # named in the text of its row
    assert {**have, "priority": {*have["priority"], "cpu", "pathways"}} == table


@pytest.mark.parametrize("base", BASES)
def test_base_asks_for_every_name(base: str) -> None:
    """Every object of a base has the marker as its name: that is how the generator knows its own."""
    assert {MARKER} == {item["metadata"]["name"] for item in compose_with(base, (), read_text)}


def test_openapi_component_is_not_used_by_generated_overlays() -> None:
    """Generated overlays need no openapi file: one in the build would replace everybody's."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "overlays").rglob("*.yaml")]

    assert texts
    assert [text for text in texts if OPENAPI in text] == []
