"""Manifests are read as kubectl reads them; the table is held equal to the real one."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.files import program
from tests.words import places

from slicewright.document.document import same
from slicewright.document.read import read_manifests
from slicewright.document.scalar import NotPortableError, is_disputed, read_kubernetes, read_plain

from .kit import kubectl, spec

SCALARS: dict[str, Any] = {
    # integers of every base, and what looks like one
    "0400": 256,
    "010": 8,
    "08": 8,
    "0800": 800,
    "-0400": -256,
    "00": 0,
    "-0": 0,
    "0_4": 4,
    "09.5": 9.5,
    "0o17": 15,
    "0O17": 15,
    "-0o17": -15,
    "0o8": "0o8",
    "0o_7": 7,
    "0o": "0o",
    "0x1F": 31,
    "0xff_ff": 65535,
    "-0x1f": -31,
    "0x": "0x",
    "0xg": "0xg",
    "0x_1": 1,
    "0b11": 3,
    "+0b11": 3,
    "-0b11": -3,
    "0b1_1": 3,
    "0b2": "0b2",
    "-0b": "-0b",
    "1_000": 1000,
    "1__0": 10,
    "1_": 1,
    "_1": "_1",
    "+_1": 1,
    "+12": 12,
    "--": "--",
    "9223372036854775807": 2**63 - 1,
    "9223372036854775808": 2.0**63,
    "-9223372036854775809": -(2.0**63),
    "0xFFFFFFFFFFFFFFFF": 2.0**64,
    "0x10000000000000000": "0x10000000000000000",
    "9" * 44: 1e44,
    # floats
    ".5": 0.5,
    "-.5": -0.5,
    "+.5e-2": 0.005,
    "5.": 5.0,
    ".": ".",
    "-.": "-.",
    ".5_": ".5_",
    ".1_0": 0.1,
    "1e3": 1000.0,
    "1E+3": 1000.0,
    "1e": "1e",
    "e3": "e3",
    ".e3": ".e3",
    "1_e3": 1000.0,
    "1_0.5": 10.5,
    "1e400": "1e400",
    "1e-400": 0.0,
    "1.2.3": "1.2.3",
    "0x1p-2": "0x1p-2",
    "1.0": 1.0,
    ".1e999": ".1e999",
    # sexagesimal numbers, times and dates
    "1:30": "1:30",
    "12:30:45": "12:30:45",
    "1:30.5": "1:30.5",
    "2001-1-1": "2001-1-1",
    "2001-12-14t21:59:43.10-05:00": "2001-12-14t21:59:43.10-05:00",
    "2001-01-01": "2001-01-01",
    # words
    "yes": True,
    "Yes": True,
    "yEs": "yEs",
    "no": False,
    "NO": False,
    "on": True,
    "off": False,
    "y": True,
    "n": False,
    "N": False,
    "True": True,
    "tRUE": "tRUE",
    "t": "t",
    "false": False,
    "~": None,
    "Null": None,
    "nULL": "nULL",
    "": None,
    "inf": "inf",
    "nan": "nan",
    "=": "=",
    "a\tb": "a\tb",
    "a#b": "a#b",
}
"""What an unquoted scalar is to kubectl."""

BY_KUSTOMIZE = {
    **{word: word for word in ("yes", "Yes", "no", "NO", "on", "off", "y", "n", "N")},
    **dict.fromkeys(("2001-1-1", "2001-01-01"), "2001-01-01T00:00:00Z"),
    "2001-12-14t21:59:43.10-05:00": "2001-12-14T21:59:43.1-05:00",
}
"""What kustomize writes for the scalars that it reads in another way than kubectl: words are text to it."""

CONSTRUCTS: dict[str, Any] = {
    # quotes and tags
    "'yes'": "yes",
    '"0400"': "0400",
    "|-\n    yes": "yes",
    "! 0400": "0400",
    '! "0400"': "0400",
    "!!str 0400": "0400",
    "!!str": "",
    "!!str ~": "~",
    "!!int 0400": 256,
    '!!int "3"': 3,
    "!!int |-\n    3": 3,
    "!!float 3": 3.0,
    '!!float "1.5"': 1.5,
    "!!bool yes": True,
    "!!null": None,
    "!!binary aGVsbG8=": "hello",
    "!!timestamp 2001-01-01": "2001-01-01",
    "!foo 0400": "0400",
    "!foo {a: 1}": {"a": 1},
    "!!map [1]": [1],
    "!!set {a, b}": {"a": None, "b": None},
    "!!omap [a: 1]": [{"a": 1}],
    "!<tag:yaml.org,2002:int> 5": 5,
    # keys
    "{1: a}": {"1": "a"},
    "{0400: a}": {"256": "a"},
    "{yes: a}": {"true": "a"},
    "{1.50: a}": {"1.5": "a"},
    "{1e3: a}": {"1000": "a"},
    "{3.14159265358: a}": {"3.1415927": "a"},
    "{True: a}": {"true": "a"},
    "{1e20: a}": {"1e+20": "a"},
    "{3.3999999950000003e+38: a}": {"3.4e+38": "a"},
    "{3.41234567891234e38: a, -1e39: b}": {".inf": "a", "-.inf": "b"},
    "{2001-01-01: a}": {"2001-01-01": "a"},
    "{a: &x 1, *x : b}": {"a": 1, "1": "b"},
    "{a: 1, a: 1}": {"a": 1},
    # anchors, aliases and merge keys
    "{a: &x 1, b: *x, c: &x 2, d: *x}": {"a": 1, "b": 1, "c": 2, "d": 2},
    "&a": None,
    "&a !!str": "",
    "{a: &x {p: 1, q: 2}, b: {<<: *x, p: 3}}": {"a": {"p": 1, "q": 2}, "b": {"p": 3, "q": 2}},
    "{a: &x {p: 1, q: 2}, b: {p: 3, <<: *x}}": {"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 2}},
    "{<<: [{p: 1}, {p: 2, r: 1}]}": {"p": 1, "r": 1},
    "{<<: {p: 1}, <<: {p: 2}}": {"p": 2},
    '{"<<": 3}': {"<<": 3},
    "{a: &x {p: 1}, b: {!!merge <<: *x, q: 2}}": {"a": {"p": 1}, "b": {"p": 1, "q": 2}},
    # layout
    "{a, b: }": {"a": None, "b": None},
    "[a: 1, b]": [{"a": 1}, "b"],
    '{"a":1}': {"a": 1},
    "\t1": 1,
}
"""What a value is to kubectl that has more than an unquoted scalar; none of these is an error."""

REFUSED: dict[str, tuple[Any, str]] = {
    ".inf": (".inf", "YAML006"),
    "-.INF": ("-.INF", "YAML006"),
    ".nan": (".nan", "YAML006"),
    "!!int abc": ("abc", "YAML005"),
    "!!bool 1": ("1", "YAML005"),
    '!!binary "@@"': ("@@", "YAML005"),
    "{a: *nope}": ({"a": None}, "YAML005"),
    "{a: &x [*x]}": ({"a": [None]}, "YAML005"),
    "{<<: 3, a: 1}": ({"a": 1}, "YAML005"),
    "{~: a, b: 1}": ({"b": 1}, "YAML003"),
    "{[1]: a, b: 1}": ({"b": 1}, "YAML003"),
    "{{ x }}": ({}, "YAML003"),
}
"""What kubectl refuses: what is left of it, and the error."""
ALL = SCALARS | CONSTRUCTS


def equal(expected: Any, actual: Any) -> bool:
    """Tell whether values are equal in JSON, where a large number is as precise as a float."""
    numbers = [value for value in (expected, actual) if type(value) in (int, float)]
    if len(numbers) == 2 and float in map(type, numbers):
        return float(numbers[0]) == float(numbers[1])
    return same(expected, actual)


@pytest.mark.parametrize("text", ALL)
def test_values_as_kubectl_reads_them(text: str) -> None:
    """Each construct has the value that it has for kubectl, and no error."""
    (document,), problems = read_manifests(spec(text), "a.yaml")

    assert same(ALL[text], document.data["spec"]["v"])
    assert [] == [problem for problem in problems if problem.severity == "error"]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_values_leave_the_rest(text: str) -> None:
    """A value that kubectl refuses is an error at its place, and the rest of the document is read."""
    (document,), (problem,) = read_manifests(spec(text), "a.yaml")

    assert REFUSED[text] == (document.data["spec"]["v"], problem.id)
    assert ("error", "a.yaml", 5) == (problem.severity, problem.file, problem.line)


def differing(expected: dict[str, Any], actual: Sequence[Any]) -> dict[str, Any]:
    """Return the texts whose value is another one."""
    assert len(expected) == len(actual)
    pairs = zip(expected.items(), actual, strict=True)
    return {text: value for (text, wanted), value in pairs if not equal(wanted, value)}


@pytest.mark.tools
def test_table_is_true_of_kubectl() -> None:
    """The pinned kubectl reads every line of the table as it says."""
    specs, said = kubectl("---\n".join(map(spec, ALL)))

    assert ({}, "") == (differing(ALL, [one["v"] for one in specs]), said)


@pytest.mark.ci
@pytest.mark.tools
@pytest.mark.slow
def test_refusals_are_true_of_kubectl() -> None:
    """The pinned kubectl refuses each document with a value of the table."""
    assert [] == [text for text in REFUSED if "error" not in kubectl(spec(text))[1]]


@pytest.mark.tools
def test_table_is_true_of_what_kustomize_builds(tmp_path: Path) -> None:
    """A scalar that went through kustomize is what it was before, but for words and dates."""
    objects = [spec(text).replace("name: a}", f"name: a{at}}}") for at, text in enumerate(SCALARS)]
    (tmp_path / "a.yaml").write_text("---\n".join(objects), encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [a.yaml]\nsortOptions: {order: fifo}\n", encoding="utf-8"
    )
    built = subprocess.run([program("kustomize"), "build", tmp_path], capture_output=True, check=True)

    documents, _ = read_manifests(built.stdout.decode(), "")

    assert BY_KUSTOMIZE == differing(SCALARS, [document.data["spec"]["v"] for document in documents])


def is_one_scalar(text: str) -> bool:
    """Tell whether a text is one unquoted scalar in the place of a value."""
    try:
        events = [event for event in yaml.parse(f"v: {text}\n") if isinstance(event, yaml.ScalarEvent)]
    except yaml.YAMLError:
        return False
    return [event.value for event in events] == ["v", text] and not events[1].style


plain = st.one_of(
    st.text(alphabet="0123456789_.+-eExXoObBaAfF", min_size=1, max_size=9),
    st.sampled_from(list(SCALARS)),
    st.from_regex(r"[-+]?0?[xXbBoO]?[0-7_]{1,24}", fullmatch=True),
    st.from_regex(r"[-+]?[0-9_]{0,20}\.[0-9_]{0,20}([eE][-+]?[0-9_]{1,3})?", fullmatch=True),
    st.from_regex(r"[yYnNoOtTfF][a-zA-Z]{0,4}", fullmatch=True),
).filter(lambda text: is_one_scalar(text) and text.lstrip("+-.").lower() not in ("inf", "nan"))


@pytest.mark.ci
@pytest.mark.tools
@pytest.mark.slow
@settings(max_examples=3, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(plain, min_size=300, max_size=400, unique=True))
def test_any_scalar_is_what_kubectl_reads(texts: list[str]) -> None:
    """Drawn scalars, some hundreds a call, are to us what they are to kubectl."""
    specs, said = kubectl("---\n".join(map(spec, texts)))

    assert ({}, "") == (
        differing({text: read_kubernetes(text) for text in texts}, [one["v"] for one in specs]),
        said,
    )


@pytest.mark.slow
@given(plain)
def test_scalars_that_are_not_disputed_have_one_value(text: str) -> None:
    """A scalar is the same to YAML 1.2 and kubectl, or it is known as disputed."""
    if not is_disputed(text):
        assert same(read_plain(text), read_kubernetes(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0400", ["a.yaml:5:6: warning: YAML006"]),
        ("yes", ["a.yaml:5:6: warning: YAML007"]),
        ("[1_000, 1]", ["a.yaml:5:7: warning: YAML007"]),
        ("1e400", ["a.yaml:5:6: warning: YAML006"]),
        ("{1.10: a}", ["a.yaml:5:7: warning: YAML003"]),
        ("{on: a}", ["a.yaml:5:7: warning: YAML007"]),
        ("{a: 1, a: 2}", ["a.yaml:5:13: YAML002"]),
        ("{a: 1, a: 1}", ["a.yaml:5:13: warning: YAML002"]),
        ("{p: 3, <<: {p: 1}}", ["a.yaml:5:13: warning: YAML005"]),
        ("!foo {a: !bar b}", ["a.yaml:5:6: warning: YAML005", "a.yaml:5:15: warning: YAML005"]),
        ("2001-01-01", []),
        ("9007199254740993", []),
        ("{8080: a, <<: {p: 1}, p: 2}", []),
        ("{defaultMode: 0400, items: [{mode: 0644}], uid: 0400}", ["a.yaml:5:54: warning: YAML006"]),
    ],
)
def test_what_readers_dispute_is_a_warning(text: str, expected: list[str]) -> None:
    """What YAML 1.2 or another reader takes for something else is told, and does not fail."""
    assert expected == list(places(read_manifests(spec(text), "a.yaml")[1]))


def test_infinity_has_no_value() -> None:
    """JSON cannot hold it, in any spelling."""
    for text in (".inf", "+.Inf", "-.INF", ".NaN"):
        with pytest.raises(NotPortableError):
            read_kubernetes(text)
