"""Why files of people are not edited by ruamel.yaml's round trip (docs/decisions/0026-yaml-libraries.md)."""

import io

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from slicewright.document.edit_file import mended
from slicewright.kubernetes.problem import Edit, Fix

KEPT = {
    "four blanks": "spec:\n    run: 1\n    c:\n        d: e\n",
    "an indented list": "spec:\n  run: 1\n  args:\n    - x\n",
    "blanks after a dash": "spec:\n  run: 1\n  args:\n  -   a: b\n      c: d\n",
    "braces over lines": "spec: {\n  run: 1,\n  b: c\n}\n",
    "blanks in brackets": "spec:\n  run: 1\n  args: [ a,b ]\n",
    "aligned values": "spec:\n  run:  1\n  b:    2\n",
    "a first ---": "---\nspec:\n  run: 1\n",
    "a comment before ---": "# head\n---\nspec:\n  run: 1\n",
    "CRLF": "spec:\r\n  run: 1\r\n",
    "a byte order mark": "\ufeffspec:\n  run: 1\n",
    "text over lines": "spec:\n  run: 1\n  text: a\n    b\n",
    "an anchor without an alias": "spec:\n  run: 1\n  b: &x {c: d}\n",
    "spellings": "spec:\n  run: 1\n  b: True\n  c: ~\n",
    "escapes": 'spec:\n  run: 1\n  b: "\\x41"\n',
    "no newline at the end": "spec:\n  run: 1",
    "a tab": "spec:\n  run:\t1\n",
}


def by_ruamel(text: str) -> str:
    """Return a text with another spec.run, as ruamel.yaml writes it; empty where it cannot read the text."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10**9
    try:
        data = yaml.load(text)
    except YAMLError:
        return ""
    data["spec"]["run"] = 2
    written = io.StringIO()
    yaml.dump(data, written)
    return written.getvalue()


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_edit_keeps_what_a_round_trip_changes(text: str) -> None:
    """Our edit changes one character of each file, and ruamel.yaml others as well."""
    expected = text.replace("1", "2", 1)

    assert expected == mended(text, [Fix("", (Edit("replace", ("spec", "run"), 2),))])[0]
    assert expected != by_ruamel(text)
