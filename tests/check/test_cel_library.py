"""The CEL rules of a stranger's CRD: evaluated where `slicewright[cel]` is installed, else a warning."""

from __future__ import annotations

import copy
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import run, write
from tests.check.test_cel import BROKEN, base
from tests.check.test_engines_agree import valid
from tests.schema_kinds.kit import FILES, load

from slicewright.cli.schema import schema
from slicewright.core.check import cel
from slicewright.core.check.cel import library
from slicewright.core.check.cel.value import values_at
from slicewright.core.compose import patch
from slicewright.core.schema.crd import from_crd

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STRANGER = yaml.safe_load((HERE / "stranger.yaml").read_text(encoding="utf-8"))


def converted(folder: Path, objects: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return what validate says of objects of the stranger's kind: name, id, message."""
    write(folder, {"crd.yaml": json.dumps(STRANGER["crd"]), "all.yaml": yaml.safe_dump_all(objects)})
    run(folder, "crd.yaml", "--output-dir", "mine", command=schema)
    done = run(folder, "all.yaml", "--schema", "mine", "-o", "json", "--schemas-only")
    return [(one["object"].split()[-1], one["id"], one["message"]) for one in done.json["problems"]]


def thing(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return an object of the stranger's kind."""
    return {"apiVersion": "example.test/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def test_rules_of_a_stranger_are_evaluated(tmp_path: Path) -> None:
    """With defaults, quantities and optional fields, as the API server evaluates them."""
    objects = [thing(f"thing-{index}", row["spec"]) for index, row in enumerate(STRANGER["objects"])]
    expected = [
        (f"thing-{index}", message)
        for index, row in enumerate(STRANGER["objects"])
        for message in row["refused"]
    ]

    found = converted(tmp_path, objects)

    assert sorted(expected) == sorted((name, message) for name, ident, message in found if ident == "CEL001")


def test_what_the_library_cannot_compute_is_a_warning(tmp_path: Path) -> None:
    """A function of Kubernetes that nobody has here, and numbers of two types, have no verdict."""
    found = converted(tmp_path, [thing("a", {"ratio": 2})])

    assert [
        ("a", "SCHEMA012", "CEL rules of Thing are not evaluated: '!has(self.url) || isURL(self.url)'"),
        (
            "a",
            "SCHEMA012",
            "a CEL rule of Thing has no result here: '!has(self.ratio) || self.ratio * 2.0 < 9.0'",
        ),
    ] == sorted(one for one in found if one[1] == "SCHEMA012")


def test_rules_that_do_not_compile_are_not_computable() -> None:
    """A text that is not CEL has no verdict."""
    assert not library.is_computable("self.size >")


def test_a_function_that_fails_has_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    """A text that is not a quantity is reported by the schema; no library writes to standard error."""
    assert library.keeps("quantity(self) == quantity('1')", "one") is None
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("cel").handlers)
    assert [record.name for record in caplog.records] == ["cel"]


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        pytest.param("size(self) <= 3", "日本語", True, id="size"),
        pytest.param("self.size() == 1", "é", True, id="size as a member"),
        pytest.param("size (self) == 1", "é", True, id="size before a space"),
        pytest.param("size(self) == 2", [1, 2], True, id="size of a list"),
        pytest.param("self.lowerAscii() == 'é'", "é", True, id="lower case of ASCII letters alone"),
        pytest.param("self.upperAscii() == 'Aé'", "aé", True, id="upper case of ASCII letters alone"),
        pytest.param("self.a.matches('^[a-z]+$')", {"a": "b", "c": [1]}, True, id="pattern"),
        pytest.param("self.a.matches('^.$')", {"a": "é"}, None, id="pattern on other letters"),
        pytest.param("self.all(a, self.all(b, a <= b))", [1] * 9, True, id="loops in loops"),
        pytest.param("self.all(a, self.all(b, a <= b))", [1] * 1_001, None, id="too many steps"),
    ],
)
def test_rules_have_the_verdict_of_the_api_server(rule: str, value: object, *, expected: bool | None) -> None:
    """It counts characters, and its classes of characters are ASCII; nothing takes more than a moment."""
    assert expected == library.keeps(rule, value)


def test_longest_rule_that_is_evaluated() -> None:
    """A longer one could end the process."""
    assert library.is_computable("1+" * 1_900 + "1 > 0")
    assert not library.is_computable("1+" * 30_000 + "1 > 0")


def test_defaults_need_a_mapping_that_takes_them() -> None:
    """Where an object holds another type, its schema reports it, and the default is left out."""
    assert library.completed({"spec": []}, [{"path": "/spec/size", "value": 1}]) == {"spec": []}


@pytest.mark.usefixtures("without_library")
def test_without_the_library_nothing_is_evaluated() -> None:
    """A rule that the table does not have refuses nothing."""
    assert [] == list(cel.refused([{"path": "", "rule": "self.unknown"}], {}))


@pytest.mark.usefixtures("without_library")
def test_without_the_library_the_warning_names_it(tmp_path: Path) -> None:
    """Nothing is evaluated, nothing is refused, and the hint says what to install."""
    write(tmp_path, {"crd.yaml": json.dumps(STRANGER["crd"]), "a.yaml": json.dumps(thing("a", {"size": 1}))})
    run(tmp_path, "crd.yaml", "--output-dir", "mine", command=schema)

    done = run(tmp_path, "a.yaml", "--schema", "mine", "-o", "json", "--schemas-only")

    assert ["SCHEMA012"] == done.ids
    assert "common-expression-language" in done.json["problems"][0]["hint"]


def rules() -> dict[str, tuple[list[dict[str, str]], list[dict[str, Any]]]]:
    """Return the CEL rules of each vendored kind, and its defaults where its CRD is here."""
    defaults = {
        f"{made.of.api_version} {made.of.kind}": made.schema["x-slicewright"].get("defaults", [])
        for path in sorted((ROOT / "bases/controllers").glob("*/manifests.yaml"))
        for crd in yaml.load_all(path.read_bytes(), yaml.CSafeLoader)
        if crd and crd["kind"] == "CustomResourceDefinition"
        for made in from_crd(crd, reads_defaults=lambda _: True)
    }
    found = {}
    for file in FILES:
        data = load(file)
        if "optionalCel" in data["x-slicewright"]:
            continue  # the table does not have them
        name = data["title"]
        found[name] = (data["x-slicewright"]["cel"], defaults.get(name, []))
    return found


@pytest.mark.slow
def test_library_and_table_agree() -> None:
    """Every rule of a vendored CRD has the same verdict from both, on objects that keep and that break it."""
    everything = rules()
    objects = [*valid(), *(patch.apply(copy.deepcopy(row["ops"]), base(row["of"])) for row in BROKEN)]
    compared = 0
    for data in objects:
        entries, defaults = everything.get(f"{data['apiVersion']} {data['kind']}", ([], []))
        for entry in entries:
            if cel.is_transition(entry["rule"]):
                continue
            compared += 1
            told = {refused.path for refused in cel.refused([entry], data)}
            whole = library.completed(data, defaults)
            keys = patch.parse_pointer(entry["path"])
            other = {
                path for path, value in values_at(whole, keys) if not library.keeps(entry["rule"], value)
            }
            assert told == other, (data, entry)
    assert compared > 100
