"""The CEL rules of a stranger's CRD: evaluated, or a warning."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import run, write

from slicewright.check import cel
from slicewright.cli.schema import schema

HERE = Path(__file__).parent
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
    assert not cel.is_known("self.size >")


def test_a_rule_with_a_comment_is_not_computable() -> None:
    """A comment between a list and its loop hides how much the loop costs."""
    assert not cel.is_known("self.all(a, self.//\nall(b, a <= b))")
    assert cel.is_known("self.startsWith('https://')")


def test_a_function_that_fails_has_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    """A text that is not a quantity is reported by the schema; no library writes to standard error."""
    assert cel.keeps("quantity(self) == quantity('1')", "one") is None
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
        pytest.param("self.a.matches('^b$')", {"a": "b", "c": "é"}, True, id="other letters elsewhere"),
        pytest.param("self.a.matches('^.$')", {"a": "é"}, None, id="pattern on other letters"),
        pytest.param("self.all(a, self.all(b, a <= b))", [1] * 9, True, id="loops in loops"),
        pytest.param("self.all(a, self.all(b, a <= b))", [1] * 1_001, None, id="too many steps"),
        pytest.param("self.all(a, a.l.all(b, b > 0))", [{"l": [1]}] * 1_001, True, id="parts of parts"),
        pytest.param(
            "self.all(a, a.l.all(b, a.l.all(c, b <= c)))", [{"l": [1] * 1_001}], None, id="parts twice"
        ),
        pytest.param(
            "self.all(l, self . l.all(m, m > 0))", [1] * 1_001, None, id="a field named like a loop"
        ),
        pytest.param(
            "size(self.filter(a, a > 0)) > 0", [1] * 1_001, None, id="a list that is copied at each step"
        ),
        pytest.param(
            "self.split('').all(a, self.split('').all(b, true))", "a" * 1_001, None, id="a text that is split"
        ),
        pytest.param("self.all(a, a in self)", [1] * 1_001, None, id="a list that each step searches"),
        pytest.param(
            "[1, 2].all(a, (self + self).all(b, self.all(c, true)))",
            [1] * 99,
            None,
            id="lists that are joined",
        ),
    ],
)
def test_rules_have_the_verdict_of_the_api_server(rule: str, value: object, *, expected: bool | None) -> None:
    """It counts characters, and its classes of characters are ASCII; nothing takes more than a moment."""
    assert expected == cel.keeps(rule, value)


_LISTS = {"a": ["x" * 10] * 3_000, "b": ["y"] * 3_000, "s": "z" * 10_000}


@pytest.mark.parametrize(
    "rule",
    [
        "self.b.all(x, self.a == self.a)",
        "self.b.all(x, self.a != self.b)",
        "self.b.all(x, [self.a][0] == [self.a][0])",
        "[self].all(s, s.b.all(x, s.a == s.a))",
        f"[{'self, ' * 400}self].all(s, s == s)",
        "self.b.all(x, size(self.a) > 0)",
        "self.b.all(x, self.s.matches('z+y'))",
        f"size({'self.a + ' * 360}self.a) > 0",
        f"size({'self.s + ' * 360}self.s) > 0",
        "size(self.a.join(self.s)) > 0",
    ],
)
def test_whole_values_that_a_rule_reads_many_times(rule: str) -> None:
    """A rule that compares or joins long lists at each step has no verdict."""
    assert cel.is_known(rule)
    assert cel.keeps(rule, _LISTS) is None


@pytest.mark.parametrize(
    "rule",
    [
        "self.b.all(x, x == 'y')",
        "self.b.all(x, x == x)",
        "self.a != self.b",
        "size(self.a + self.b) == 6000",
        "size(self.a.join(',')) > 0",
    ],
)
def test_values_that_a_rule_reads_once(rule: str) -> None:
    """A rule that goes over each value of a large object a few times has a verdict."""
    assert cel.keeps(rule, _LISTS)


def test_longest_rule_that_is_evaluated() -> None:
    """A longer one could end the process."""
    assert cel.is_known("1+" * 1_900 + "1 > 0")
    assert not cel.is_known("1+" * 30_000 + "1 > 0")


def test_defaults_need_a_mapping_that_takes_them() -> None:
    """Where an object holds another type, its schema reports it, and the default is left out."""
    entry = {"path": "/spec", "rule": "self.size() == 0"}
    assert [] == list(cel.refused([entry], {"spec": []}, [{"path": "/spec/size", "value": 1}]))
