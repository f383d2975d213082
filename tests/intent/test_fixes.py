"""What a schema refuses is mended where one word is near, or only the quotes are wrong."""

from typing import Any

import pytest

from slicewright.document.edit import fix_of_choice, fix_of_key, fix_of_type
from slicewright.kubernetes.problem import Edit, Fix
from slicewright.rendering.io.package_data import schemas

KNOWN = ("replicas", "replicatedJobs", "network", "hostIP", "startupPolicy", "successPolicy", "failurePolicy")


@pytest.mark.parametrize(
    ("key", "holder", "expected"),
    [
        ("replica", {}, ("replicas", True)),
        ("REPLICAS", {}, ("replicas", True)),
        ("relpicas", {}, ("replicas", True)),
        ("startPolicy", {}, ("startupPolicy", True)),
        ("host", {}, ("hostIP", False)),
        ("replicatedJobsList", {}, ("replicatedJobs", False)),
        ("replica", {"replicas": 1}, None),
        ("image", {}, None),
    ],
)
def test_key_gets_the_one_name_that_is_near(
    key: str, holder: dict[str, Any], expected: tuple[str, bool] | None
) -> None:
    """Safe is a name that differs in one or two letters; no key is written twice."""
    fix = fix_of_key(key, holder, KNOWN, ("spec",))

    if expected is None:
        assert fix is None
        return
    name, is_safe = expected
    edit = Edit("move", ("spec", name), source=("spec", key))
    assert Fix(f"Rename '{key}' to '{name}'", (edit,), is_safe) == fix


def test_word_between_two_is_not_chosen() -> None:
    """Where two words are equally near, the person decides."""
    assert fix_of_choice("ab1d", ["abcd", "abed"], ("a",)) is None


@pytest.mark.parametrize(
    ("value", "choices", "expected"), [("never", ["Never", 1], "Never"), (1, ["a"], None), ("x", [], None)]
)
def test_value_is_replaced_by_the_choice_that_is_near(
    value: Any, choices: list[Any], expected: str | None
) -> None:
    """Only words are compared."""
    fix = fix_of_choice(value, choices, ("a",))

    assert (fix.edits if fix else None) == (expected and (Edit("replace", ("a",), expected),))


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        (8080, ["string"], "8080"),
        (True, ["string"], "true"),
        ("4", ["integer"], 4),
        ("true", ["boolean"], True),
        ("04", ["integer"], None),
        ("1" * 5000, ["integer"], None),
        (1.5, ["string"], None),
        ("x", ["boolean"], None),
        ([1], ["string"], None),
    ],
)
def test_quotes_come_and_go(value: Any, types: list[str], expected: Any) -> None:
    """A scalar that is only quoted, or only lacks quotes, gets its type; what has two spellings does not."""
    fix = fix_of_type(value, types, ("a",))

    assert (fix.edits[0].value if fix else None) == expected


def test_fix_that_the_schema_refuses_is_not_safe() -> None:
    """The value behind a misspelt key must suit the field that it would become."""
    workload = {
        "apiVersion": "slicewright.dev/v1alpha1",
        "kind": "TPUWorkload",
        "metadata": {"name": "a"},
        "spec": {"clusters": ["c"], "tpu": "v6e-4", "container": {"image": "x"}},
    }

    def safe(value: Any) -> list[bool]:
        data = {**workload, "spec": {**workload["spec"], "slcies": value}}  # type: ignore[dict-item]
        found = schemas().problems("slicewright/tpuworkload.json", data)
        return [problem.fix.safe for problem in found if problem.fix]

    assert ([True], [False]) == (safe(2), safe("two"))
