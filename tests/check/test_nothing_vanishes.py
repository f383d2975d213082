"""Each document of each file below a path is checked, built, counted or passed by."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.kit import BAD_CONFIG_MAP, run, write
from tests.properties import share

_LIST = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
_PART = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 2}\n"
_DOCUMENTS = {
    "whole": BAD_CONFIG_MAP,
    "unknown": "{apiVersion: example.test/v1, kind: A, metadata: {name: a}}\n",
    "part": _PART.replace("2", "2, x: 1"),
    "merged": f"{_PART}$patch: delete\n",
    "list": _LIST,
    "items": f"{{apiVersion: v1, kind: List, items: [{BAD_CONFIG_MAP.strip()}]}}\n",
    "values": "image: {tag: a}\n",
    "operations": "- {op: add, path: /a, value: b}\n",
    "word": "word\n",
    "template": "{{- if a }}\napiVersion: v1\nkind: Pod\n{{- end }}\n",
    "broken": "apiVersion: v1\nkind: Pod\nmetadata: [}\n",
    "nothing": "# nothing\n",
}
"""Documents of which each is reported where it is checked."""
_NAMES = ("a.yaml", "b.yml", ".d.yaml", "e.yaml.j2")
_FOLDERS = ("", "k/", "k/patches/", "k/l/", "m/", "chart/", "chart/templates/", "patches/", "o/n/")
_trees = st.dictionaries(
    st.tuples(st.sampled_from(_FOLDERS), st.sampled_from(_NAMES)).map("".join),
    st.lists(st.sampled_from(sorted(_DOCUMENTS)), min_size=1, max_size=3),
    min_size=1,
)


@pytest.mark.slow  # each example runs the command on a tree of files, and some run kustomize
@pytest.mark.tools
@settings(derandomize=True, max_examples=share(50), deadline=None)
@given(tree=_trees, data=st.data())
def test_nothing_vanishes(tree: dict[str, list[str]], data: st.DataObject) -> None:
    """Each document of each file below a path is checked, passed by with a reason, or part of a build."""
    texts = {name: "---\n".join(_DOCUMENTS[word] for word in words) for name, words in tree.items()}
    named: dict[str, str] = {}
    for folder in data.draw(st.sets(st.sampled_from(["", "k/", "o/"]))):
        below = sorted(name.removeprefix(folder) for name in tree if name.startswith(folder))
        files = data.draw(st.sets(st.sampled_from(below))) if below else set()
        lists = [sorted(name for name in files if (name in _NAMES) is is_here) for is_here in (True, False)]
        named |= dict.fromkeys((f"{folder}{name}" for name in files), folder)
        texts[f"{folder}kustomization.yaml"] = json.dumps(
            {"resources": lists[0], "patches": [{"path": name} for name in lists[1]]}
        )
    with TemporaryDirectory() as there:
        (Path(there) / "slicewright.yaml").touch()
        write(Path(there, "tree"), {"chart/Chart.yaml": "name: a\n", **texts})
        done = run(Path(there, "tree"), ".", "-o", "json", "--schemas-only", "--require-schemas").json
    passed = {(one["path"], one.get("line", 0)) for one in done["summary"]["passedBy"]}
    reported = {(one["file"], one.get("line", 0)) for one in done["problems"]}

    lost = []
    for name, words in tree.items():
        line = 1
        above = {(name.rsplit("/", count)[0], 0) for count in range(name.count("/") + 1)}
        for word in words:
            lines = {(name, number) for number in range(line, line + _DOCUMENTS[word].count("\n"))}
            line += _DOCUMENTS[word].count("\n") + 1
            if (
                not (above | lines) & passed
                and not lines & reported
                and name not in named
                and word != "nothing"
            ):
                lost.append((name, word))
    assert [] == lost
