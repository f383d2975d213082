"""What kustomize cannot carry is refused, and all that is not refused it carries as it is."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.document.write import write_document
from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find

from .kit import ROOT, refused, rendering, run

CONTROL = [chr(number) for number in (*range(0x7F, 0xA0), 0xFFFE, 0xFFFF)]
FINE = [chr(number) for number in (*range(1, 0x7F), 0xA0, 0xAD, 0x2028, 0x2029, 0xFEFF, 0xFDD0)]
TAB = "\tfirst\nsecond\n"
LOST_ANYWHERE: dict[str, tuple[Any, str]] = {
    **{f"U+{ord(sign):04X}": (f"a{sign}b", f"the character U+{ord(sign):04X}") for sign in CONTROL},
    "a merge key": ({"<<": "x"}, "the key '<<' for a merge"),
    "a long key": ({"k" * 1010: "x"}, "a key of 1,012 bytes is too long for kustomize"),
    "a large number": (2**53 + 1, "9007199254740993 is beyond 2^53: kustomize rounds it in a patch"),
    "a small number": (-(2**53) - 1, "-9007199254740993 is beyond 2^53"),
    "a control character in a key": ({"a\x7f": "x"}, "the character U+007F"),
}
LOST_IN_PATCHES: dict[str, tuple[Any, str]] = {
    "a tab first": (TAB, "a text of several lines that begins with a tab")
}
LOST = [
    "a\x7fb",
    "\x85",
    "\x9f",
    "\uffff",
    {"<<": "x"},
    {"\x7f": "x"},
    {'é"' * 350: "x"},
    2**53 + 1,
    -(2**53) - 1,
]
KEPT: dict[str, Any] = {
    **{f"U+{ord(sign):04X}": f"a{sign}b\n{sign}c" for sign in FINE if sign != "\t"},
    "a tab later": "\n\ta\n\tb\n",
    "one line with a tab": "\ta",
    "a number": 2**53,
    "a long text": "x " * 2000,
    "a key of 900": {"k" * 900: "x"},
}


def through(folder: Path, value: Any, *, patched: bool) -> Any:
    """Return what becomes of a value in an object that kustomize builds; None where it refuses it."""
    item = {"apiVersion": "example.com/v1", "kind": "Holder", "metadata": {"name": "a"}, "data": {"x": value}}
    kustomization: dict[str, Any] = {"resources": ["o.yaml"]}
    if patched:
        item["data"] = {"x": "old"}
        patch = [{"op": "replace", "path": "/data/x", "value": value}]
        (folder / "p.yaml").write_text(write_document(patch), encoding="utf-8", newline="")
        kustomization["patches"] = [{"path": "p.yaml", "target": {"kind": "Holder"}}]
    (folder / "o.yaml").write_text(write_document(item), encoding="utf-8", newline="")
    (folder / "kustomization.yaml").write_text(write_document(kustomization), encoding="utf-8")
    program = find("kustomize")
    assert not isinstance(program, Problem), program.text()
    answer = subprocess.run([program, "build", folder], capture_output=True, check=False)
    if answer.returncode:
        return None
    return yaml.load(answer.stdout, Loader=yaml.CSafeLoader)["data"]["x"]


@pytest.mark.tools
@pytest.mark.parametrize("value", LOST, ids=ascii)
def test_kustomize_loses_it(value: Any, tmp_path: Path) -> None:
    """What is refused everywhere is lost in a patch, and most of it in a plain object already."""
    assert value != through(tmp_path, value, patched=True)
    assert isinstance(value, int) or value != through(tmp_path, value, patched=False)


@pytest.mark.tools
@pytest.mark.parametrize("what", LOST_IN_PATCHES)
def test_kustomize_loses_it_in_patches_only(what: str, tmp_path: Path) -> None:
    """What is refused in a Fixed overlay is lost in a patch, and carried in an object."""
    value, _ = LOST_IN_PATCHES[what]

    assert value == through(tmp_path, value, patched=False)
    assert value != through(tmp_path, value, patched=True)


@pytest.mark.tools
@pytest.mark.parametrize("patched", [False, True])
def test_kustomize_carries_the_rest(patched: bool, tmp_path: Path) -> None:
    """Every other value comes through, in an object and in a patch."""
    assert KEPT == through(tmp_path, KEPT, patched=patched)


@pytest.mark.parametrize("what", LOST_ANYWHERE)
@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
def test_lost_value_is_refused_where_it_is_written(what: str, naming: str) -> None:
    """The problem has the place in the workload, and nothing is written."""
    value, said = LOST_ANYWHERE[what]
    ops = [{"op": "add", "path": "/spec/x", "value": value}]
    problems = refused("jobset", naming=naming, patches=[{"target": {"kind": "JobSet"}, "ops": ops}])

    assert [("BUILD002", True)] == [(problem.id, said in problem.message) for problem in problems]
    assert problems[0].path[:5] == ("spec", "patches", 0, "ops", 0)
    assert problems[0].hint


@pytest.mark.parametrize("what", LOST_IN_PATCHES)
def test_value_that_patches_lose_is_refused_in_fixed_overlays(what: str) -> None:
    """A frozen run carries it; a live overlay cannot."""
    value, said = LOST_IN_PATCHES[what]
    ops = [{"op": "add", "path": "/spec/x", "value": value}]
    patches = [{"target": {"kind": "JobSet"}, "ops": ops}]
    (problem,) = refused("jobset", patches=patches)

    assert (problem.id, said in problem.message) == ("BUILD002", True)
    assert run("jobset", naming="Hashed", patches=patches).item["spec"]["x"] == value


@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
def test_values_that_are_carried_are_not_refused(naming: str) -> None:
    """Nothing is refused that kustomize carries."""
    ops = [{"op": "add", "path": "/spec/x", "value": KEPT}]
    made = run("jobset", naming=naming, patches=[{"target": {"kind": "JobSet"}, "ops": ops}])

    assert KEPT == made.item["spec"]["x"]


@pytest.mark.parametrize("naming", ["Fixed", "Hashed"])
def test_script_with_a_control_character_is_refused(naming: str) -> None:
    """The usual place of such a text is a script."""
    (problem,) = refused("jobset", naming=naming, container={"image": "i", "script": "printf '\x7f'"})

    assert (problem.id, problem.path) == ("BUILD002", ("spec", "container", "script"))


def test_number_of_a_run_may_be_large() -> None:
    """`run` goes into no object."""
    assert run("jobset", run=2**60).item["metadata"]["name"] == "w"


def with_base(text: str) -> dict[str, str]:
    """Return the base of a JobSet with some lines more at the end of its failure policy."""
    before = "    restartStrategy: Recreate\n"
    base = (ROOT / "bases/jobset/jobset.yaml").read_text(encoding="utf-8")
    return {"bases/jobset/jobset.yaml": base.replace(before, f"{before}{text}\n", 1)}


def test_lost_value_of_a_base_is_blamed_on_the_base() -> None:
    """No workload is pointed at for what stands in a base."""
    files = with_base('    x: "a\\x7fb"')

    (problem,) = rendering("jobset", {}, files=files).problems

    assert (problem.id, problem.file) == ("BUILD002", "bases/jobset/jobset.yaml")
    assert problem.message == "kustomize cannot write the character U+007F: spec.failurePolicy.x"


def test_value_of_a_base_that_comes_into_a_patch_is_refused() -> None:
    """A base may hold what a patch may not, as long as it comes into none."""
    lines = "  x:\n  - " + json.dumps(TAB) + "\n  - name: b"
    files = with_base(lines)
    patch = {"target": {"kind": "JobSet"}, "ops": [{"op": "remove", "path": "/spec/x/1"}]}

    assert rendering("jobset", {}, files=files).writes
    (problem,) = rendering("jobset", {"patches": [patch]}, files=files).problems
    assert (problem.id, problem.path) == ("BUILD002", ("spec",))
    assert "begins with a tab" in problem.message
