"""What an unquoted scalar means: the core schema of YAML 1.2, without what readers disagree about."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from tests.properties import share

from slicewright.document.read import read_documents
from slicewright.document.scalar import NotPortableError, is_disputed, read_plain

from .kit import exact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[(text, None) for text in ("", "~", "null", "Null", "NULL")],
        *[(text, True) for text in ("true", "True", "TRUE")],
        *[(text, False) for text in ("false", "False", "FALSE")],
        *[
            (text, text)
            for text in ("y", "yes", "on", "Off", "nULL", "tRUE", "1_000", "0b1", "12:30:45", "=")
        ],
        *[
            (text, text)
            for text in ("2026-01-01", "0o8", "-0o7", "0xg", "-0x1", "1.2.3", ".", "-", "+", "1e", "inf")
        ],
        *[("0", 0), ("-0", 0), ("+1", 1), ("12", 12), ("-7", -7), ("0o17", 15), ("0x1F", 31)],
        *[(str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63))],
        *[("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ("-1.5E-3", -0.0015), ("01.5", 1.5)],
        *[("/bin/sh", "/bin/sh"), ("$(A)", "$(A)"), ("_", "_"), ("é", "é"), ("4x4", "4x4")],
    ],
)
def test_core_schema(text: str, expected: object) -> None:
    """Nulls, booleans, integers and floats are those of YAML 1.2; every other word is a string."""
    assert exact(expected) == exact(read_plain(text))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "0644",
            "0644 is octal to some readers and decimal to others",
            "write 420 if it is octal, or put it in quotes if it is text",
        ),
        (
            "-08",
            "-08 is octal to some readers and decimal to others",
            "write it in quotes if it is text, else without the zero",
        ),
        (".inf", ".inf is not a number that JSON can hold", "write it in quotes if it is text"),
        ("-.INF", "-.INF is not a number that JSON can hold", "write it in quotes if it is text"),
        (".nan", ".nan is not a number that JSON can hold", "write it in quotes if it is text"),
        ("1e400", "1e400 is not a number that JSON can hold", "write it in quotes if it is text"),
        (str(2**63), f"{2**63} does not fit 64 bits", "write it in quotes if it is text"),
        ("0x" + "f" * 17, "0x" + "f" * 17 + " does not fit 64 bits", "write it in quotes if it is text"),
        ("9" * 5000, "9" * 40 + "... does not fit 64 bits", "write it in quotes if it is text"),
    ],
)
def test_numbers_that_are_not_portable(text: str, message: str, hint: str) -> None:
    """A number that readers take for different ones, or that JSON cannot hold, is refused with a way out."""
    with pytest.raises(NotPortableError) as raised:
        read_plain(text)
    assert (message, hint) == (str(raised.value), raised.value.hint)

    _, (problem,) = read_documents(f"mode: {text}\n", "a.yaml")
    assert ("YAML006", message, hint, 1, 7) == (
        problem.id,
        problem.message,
        problem.hint,
        problem.line,
        problem.column,
    )


@pytest.mark.slow
@settings(derandomize=True, max_examples=share(400))
@given(st.text(alphabet="0123456789-+.eExo_:abnuflNy~", max_size=8).filter(lambda text: text[-1:] != ":"))
def test_agrees_with_ruamel(text: str) -> None:
    """Whatever is read is what ruamel.yaml, a reader of YAML 1.2, reads."""
    try:
        expected = YAML(typ="safe", pure=True).load(f"[{text}]")
        actual = [read_plain(text)] if text else []
    except (YAMLError, NotPortableError, ValueError):  # either of them refuses it, each in its own way
        return
    if len(expected) == 1 and (isinstance(expected[0], str) or not is_disputed(text)):
        assert exact(expected) == exact(actual)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "y",
            "Y",
            "yes",
            "NO",
            "n",
            "on",
            "Off",
            "1_000",
            "-1_0",
            "1_0.5",
            "0b11",
            "0x_1",
            "-0x1",
            "-0o7",
            "0o1_7",
        ),
        *(
            "2026-01-01",
            "2001-12-14 21:59:43",
            "2001-1-1T00:00:00Z",
            "9007199254740993",
            "-9007199254740993",
            "1" * 50,
        ),
    ],
)
def test_disputed_scalars(text: str) -> None:
    """What kustomize turns into something else is known, and refused where a tree is composed."""
    assert is_disputed(text)

    assert _ids(f"- {text}\n", undisputed=True) == ((), "YAML007")
    assert (len(read_documents(f'- "{text}"\n', "", undisputed=True)[0]), "") == (1, "")


@pytest.mark.parametrize(
    "text", ["yep", "train", "1", "0.5", "1e3", "0x1f", "0o17", "1.2.3", "10:20", "9007199254740992"]
)
def test_undisputed_scalars(text: str) -> None:
    """Words and numbers that all readers agree on are no matter of dispute."""
    assert not is_disputed(text)


def _ids(text: str, *, undisputed: bool) -> tuple[tuple[object, ...], str]:
    documents, problems = read_documents(text, "", undisputed=undisputed)
    return documents, " ".join(problem.id for problem in problems)


def test_disputes_do_not_matter_elsewhere() -> None:
    """A workload may say `run: 2026-10-01`, because only slicewright reads it."""
    documents, problems = read_documents("run: 2026-10-01\nanswer: on\n", "")

    assert problems == ()
    assert documents[0].data == {"run": "2026-10-01", "answer": "on"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'1'", "1"),
        ('"on"', "on"),
        ("!!str 1", "1"),
        ("! '1'", "1"),
        ('"a\\tb\\u00e9"', "a\tbé"),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">-\n  a\n  b\n", "a b"),
        ("a\n  b", "a b"),
    ],
)
def test_other_styles_are_strings(text: str, expected: str) -> None:
    """Quoted scalars, block scalars and what is tagged as a string are strings."""
    documents, problems = read_documents(f"a: {text}", "")

    assert ((), expected) == (problems, documents[0].data["a"])
