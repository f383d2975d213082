"""Files of several documents are split as kubectl splits them, and each place is that of the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.words import places

from slicewright.document.read import read_documents, read_manifests, read_places

from .kit import HEAD, kubectl


def other(name: str) -> str:
    """Return another object."""
    return HEAD.replace("name: a", f"name: {name}")


JSON = '{"apiVersion": "v1", "kind": "Holder", "metadata": {"name": "%s"}}'
FILES: dict[str, tuple[str, list[str], list[str]]] = {
    "a broken document": (f"{HEAD}---\na: [\n---\n{other('b')}", ["a", "b"], ["f:6:1: YAML001"]),
    "a broken first document": (f"a: 'x\n---\n{HEAD}", ["a"], ["f:1:4: YAML001"]),
    "two broken documents": (f"a: [\n---\n{HEAD}---\n\tb: 1\n", ["a"], ["f:2:1: YAML001", "f:7:1: YAML001"]),
    "a character": (f"{HEAD}---\na: \x01\n---\n{other('b')}", ["a", "b"], ["f:5:4: YAML001"]),
    "too deep": (f"{HEAD}---\n{'[' * 65}{']' * 65}\n", ["a"], ["f:5:65: YAML004"]),
    "an anchor of another document": (f"x: &x 1\n---\n{HEAD}spec: *x\n", ["", "a"], ["f:6:7: YAML005"]),
    "a directive": (f"%YAML 1.1\n---\n{HEAD}---\n{other('b')}", ["a", "b"], ["f:1:1: YAML020"]),
    "text after ---": (f"{HEAD}--- {{a: 1}}\n---\n{other('b')}", ["a", "", "b"], ["f:4:1: YAML020"]),
    "a document after ...": (f"{HEAD}...\n{other('b')}", ["a"], ["f:5:1: YAML001"]),
    "an end of a document": (f"{HEAD}...\n---\n{other('b')}...\n", ["a", "b"], []),
    "comments after ---": (f"--- # a\n{HEAD}---   \n{other('b')}--- # c\n---\n", ["a", "b"], []),
    "a byte order mark": (f"\ufeff{HEAD}spec: yes\n", ["a"], ["f:4:7: warning: YAML007"]),
    "line ends of Windows": (f"{HEAD}spec: yes\n---\na: [\n".replace("\n", "\r\n"), ["a"], WINDOWS := []),
    "JSON": (JSON % "\\ud83d\\ude00", ["😀"], []),
    "JSON with tabs": ((JSON % "a").replace(" ", "\n\t"), ["a"], []),
    "JSON twice": (JSON % "a" + JSON % "b" + "\n  " + JSON % "c", ["a", "b", "c"], []),
    "JSON and YAML": (f"{JSON % 'a'}\n---\n{other('b')}", ["a", "b"], []),
    "JSON and a key twice": ('{"a": 1}\n  {"a": 1, "a": 2}', ["", ""], ["f:2:12: YAML002"]),
    "JSON and a mistake": (f'{JSON % "a"}\n{{"a": 1]', ["a"], ["f:2:1: YAML001"]),
    "YAML in braces": ("{metadata: {name: a}, spec: 0400}", ["a"], ["f:1:29: warning: YAML006"]),
}
WINDOWS += ["f:4:7: warning: YAML007", "f:7:1: YAML001"]


@pytest.mark.parametrize("case", FILES)
def test_files_as_kubectl_splits_them(case: str) -> None:
    """The documents before and after a mistake are read, and what kubectl does not read is told."""
    text, names, expected = FILES[case]

    documents, problems = read_manifests(text, "f")

    assert names == [document.data.get("metadata", {}).get("name", "") for document in documents]
    assert expected == list(places(problems))


@pytest.mark.ci
@pytest.mark.tools
@pytest.mark.slow
def test_splitting_is_true_of_kubectl() -> None:
    """Kubectl refuses the files with an error, and reads as many objects of the others."""
    for case, (text, names, expected) in FILES.items():
        found, said = kubectl(text)
        errors = [line for line in expected if "warning" not in line and "YAML002" not in line]
        if case not in ("too deep", "a document after ...", "YAML in braces", "JSON and a key twice"):
            assert (bool(errors), len(names)) == (bool(said), len(found) if not errors else len(names)), case


def test_places_after_a_mistake() -> None:
    """A value has its place behind a broken document, in a second object, below a key of YAML 1.1."""
    broken = f"a: [\n---\n{HEAD}"
    assert (3, 13) == read_places(broken, 1).of(("apiVersion",))

    assert (2, 13) == read_places('{"a": {"b": 1}}\n{"a": {"b": 1}}', 1).of(("a", "b"))

    of_words = read_places("a:\n  y: 1\n", 0)
    assert ((2, 6), (2, 6)) == (of_words.of(("a", "y")), of_words.of(("a", "true")))


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(["a: 1", "- b", "---", "--- c", "...", "  d: yes", "# e", "", "{f: g}"]), max_size=8
    )
)
def test_indexes_and_lines_are_those_of_the_whole_file(lines: list[str]) -> None:
    """Splitting a file changes neither the number nor the line of a document."""
    text = "\n".join(lines)
    strict, refused = read_documents(text, "")
    documents, problems = read_manifests(text, "")
    if not refused and not any(problem.id == "YAML001" for problem in problems):
        expected = [(document.index, document.line) for document in strict]
        assert expected == [(document.index, document.line) for document in documents]
