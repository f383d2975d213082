"""What is no Kubernetes object is passed by, with one line; what looks like one is checked."""

from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.conftest import Repo

from slicewright.check.passed_by import (
    COMPONENT,
    DEAD_LINK,
    HELM,
    LINK,
    NO_OBJECT,
    PATCH,
    TEMPLATE,
    TEST_DATA,
    UNNAMED_PATCH,
    VENDORED,
    PassedBy,
    counts,
    reason,
)
from slicewright.document.read import read_documents
from slicewright.kubernetes.problem import errors

_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_OBJECT, ""),
        ("", NO_OBJECT),
        ("word\n", NO_OBJECT),
        ("image: {tag: a}\n", NO_OBJECT),
        ("- hosts: all\n  tasks: [{name: '{{ a }}'}]\n", NO_OBJECT),
        ("key: !vault |\n  abc\n", NO_OBJECT),
        ("services: {a: {image: b, ports: [01]}}\n", NO_OBJECT),
        ("apiVersion: v2\nname: a\n", NO_OBJECT),
        ('{"kind": 3, "spec": 4}', NO_OBJECT),
        ('{"apiVersion": 1, "kind": 3, "metadata": 4}', NO_OBJECT),
        ('{"name": "a", "kind": "b"}', NO_OBJECT),
        ('{"name": ', NO_OBJECT),
        ("on: push\njobs:\n  a: {steps: [}\n", NO_OBJECT),
        ("tasks:\n- definition:\n    apiVersion: v1\n    kind: [}\n", NO_OBJECT),
        ("kind: a\n---\napiVersion: 1\n---\n[}\n", NO_OBJECT),
        ("{{- if .a }}\nname: a\n{{- end }}\n", NO_OBJECT),
        ("apiVersion: 1\nkind: 2\nmetadata: {name: a}\n", ""),
        ("apiVersion: v1\nknid: ConfigMap\nmetadata: {name: a}\ndata: {}\n", ""),
        ("kind: Job\nspec: {}\n", ""),
        ('{"apiVersion": "v1", "kind": "Pod", ', ""),
        (_OBJECT + "data: [}\n", ""),
        (_OBJECT + "data: !vault a\n", ""),
        ("- apiVersion: v1\n  kind: Pod\n", ""),
        ("{{- if .a }}\n" + _OBJECT + "{{- end }}\n", TEMPLATE),
        (_OBJECT + "  labels:\n    {{ .Values.labels }}\n", TEMPLATE),
        (_OBJECT + "  namespace: {{ b }}\n", TEMPLATE),
        (_OBJECT + "data:\n  {{ .key }}: a\n", TEMPLATE),
        (_OBJECT + 'data:\n  "a" : {{ `"{{ x }}"` }}\n', TEMPLATE),
        (_OBJECT + "data:\n  a: b\n${MORE}\n", TEMPLATE),
        (_OBJECT + "{% for a in b %}\n  c: {{ a }}\n{% endfor %}\n", TEMPLATE),
        (_OBJECT + "%{ if a }\n  b: c\n%{ endif }\n", TEMPLATE),
        (_OBJECT + "<% if a %>\n  b: c\n<% end %>\n", TEMPLATE),
        (_OBJECT + "data:\n  a: |\n    {% for b in c %}\n", ""),
        (_OBJECT + "  namespace: '{{ b }}'\n---\n" + _OBJECT + "data: [}\n", ""),
        (_OBJECT + "# {{- if a }}\ndata: [}\n", ""),
        (_OBJECT + "data:\n  a: |\n    $patch: delete\n", ""),
        (_OBJECT + "$patch: delete\n---\n" + _OBJECT, ""),
        (_OBJECT + "data:\n  $patch: delete\n", UNNAMED_PATCH),
    ],
)
def test_text_decides(text: str, expected: str) -> None:
    """A file is passed by if nothing in it looks like an object, or if it is a template or a patch."""
    documents, problems = read_documents(text, "a.yaml")

    assert expected == reason(text, [one.data for one in documents], is_broken=bool(errors(problems)))


def test_words_inside_of_json_that_was_read_are_no_object() -> None:
    """A schema that describes objects has their words; what was read of it is no object."""
    text = '{"a": {"apiVersion": 1, "kind": 2}}'

    assert NO_OBJECT == reason(text, [{"a": {}}], is_broken=True)


def test_reasons_are_counted() -> None:
    """The summary has a number for each reason, and that of the files in charts; a few are named."""
    charts = [PassedBy("a", HELM, 12), PassedBy("b", HELM, 1)]
    files = [PassedBy("c", NO_OBJECT), PassedBy("d", TEMPLATE), PassedBy("e", NO_OBJECT)]

    expected = [
        "2 Helm charts (a, b, 13 files)",
        "2 files without Kubernetes objects (c, e)",
        "1 template (d)",
    ]
    assert expected == counts([*charts, *files], {})
    assert ["1 file that a kustomization merges (c)"] == counts([PassedBy("c", PATCH)], {})
    assert ["6 links to a folder (-o json lists them)"] == counts(
        (PassedBy(name, LINK) for name in "abcdef"), {}
    )
    kinds = {kind: number for number, kind in enumerate("abcdef", 1)}
    assert ["21 objects (6 f, 5 e, 4 d, 3 c, 2 b, ...)"] == counts((), kinds)
    patches = [PassedBy("c", UNNAMED_PATCH), PassedBy("d", UNNAMED_PATCH), PassedBy("e", TEMPLATE, line=3)]
    expected = [
        "2 patch files that no kustomization names (c, d)",
        "1 document of files that are checked (e:3)",
    ]
    assert expected == counts(patches, {})


def test_file_that_a_component_alone_merges_is_passed_by(tmp_path: Path) -> None:
    """A kustomization elsewhere may include the component; what the component adds is checked."""
    head = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    write(tmp_path, {"c/kustomization.yaml": f"{head}resources: [r.yaml]\npatches: [{{path: p.yaml}}]\n"})
    write(
        tmp_path,
        {"c/p.yaml": "kind: ConfigMap\nmetadata: {name: a}\ndata: {b: c}\n", "c/r.yaml": BAD_CONFIG_MAP},
    )
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["c/r.yaml"] == [problem["file"] for problem in done["problems"]]
    assert [("c/kustomization.yaml", COMPONENT), ("c/p.yaml", PATCH)] == [
        (one["path"], one["reason"]) for one in done["summary"]["passedBy"]
    ]


def test_file_that_a_kustomization_merges_is_passed_by(tmp_path: Path) -> None:
    """Patches and configurations hold parts of objects; what is a resource elsewhere is checked."""
    text = "resources: [../c.yaml]\npatches: [{path: ../b/x.yaml}]\nconfigurations: [../b/y.yaml]\n"
    write(tmp_path, {"a/kustomization.yaml": text, "c.yaml": CONFIG_MAP})
    write(tmp_path, {"b/x.yaml": BAD_CONFIG_MAP, "b/y.yaml": BAD_CONFIG_MAP, "b/z.yaml": BAD_CONFIG_MAP})
    found = run(tmp_path, "b", "a", "-o", "json", "--schemas-only").json

    assert ["b/x.yaml", "b/y.yaml"] == [one["path"] for one in found["summary"]["passedBy"]]
    assert "b/z.yaml" in {problem["file"] for problem in found["problems"]}


def test_named_file_is_never_passed_by(tmp_path: Path) -> None:
    """Whoever names a file wants it checked, whatever it is."""
    write(tmp_path, {"values.yaml": "a: [}\n", "patch.yaml": BAD_CONFIG_MAP})

    assert ["SCHEMA003", "YAML001"] == run(
        tmp_path, "values.yaml", "patch.yaml", "-o", "json", "--schemas-only"
    ).ids


def test_packages_of_others_are_passed_by(tmp_path: Path) -> None:
    """A package manager writes these folders; a person who vendors manifests has no such file beside them."""
    paths = ["node_modules/a/a.yaml", "go/vendor/a.yaml", "venv/lib/site-packages/a.yaml", "vendor/a.yaml"]
    write(tmp_path, {**dict.fromkeys(paths, BAD_CONFIG_MAP), "go/go.mod": ""})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only")

    assert ["vendor/a.yaml"] == [one["file"] for one in done.json["problems"]]
    assert [(path, VENDORED) for path in ("node_modules", "go/vendor", "venv/lib/site-packages")] == [
        (one["path"], one["reason"]) for one in done.json["summary"]["passedBy"]
    ]


@pytest.mark.parametrize("folder", ["pkg/testdata", "test_data", "test-data", "tests/expected"])
def test_test_data_is_passed_by_unless_it_is_named(tmp_path: Path, folder: str) -> None:
    """What is broken in it is meant to be, and whoever names the folder wants it checked."""
    write(tmp_path, {f"{folder}/a.yaml": BAD_CONFIG_MAP})
    inside, named = (run(tmp_path, path, "-o", "json").json for path in (".", folder))

    assert [(folder, TEST_DATA)] == [(one["path"], one["reason"]) for one in inside["summary"]["passedBy"]]
    assert (["FILE006"], ["SCHEMA003"]) == tuple(
        [one["id"] for one in done["problems"]] for done in (inside, named)
    )


@pytest.mark.parametrize(
    ("content", "passes"),
    [
        (b"caf\xe9", True),
        (b"\xff\xfea", True),
        ((_OBJECT + "# café\n").encode("latin-1"), False),
        (_OBJECT.encode("utf-16") + b"a", False),
    ],
)
def test_file_that_is_not_utf_8_is_passed_by_unless_it_holds_an_object(
    tmp_path: Path, content: bytes, passes: bool
) -> None:
    """Kubectl refuses the object; other programs read other files as they like. A named file is meant."""
    (tmp_path / "a.json").write_bytes(content)
    (tmp_path / "._a.yaml").write_bytes(content)  # macOS writes such files beside others

    found = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ["FILE006" if passes else "FILE002"] == [one["id"] for one in found]
    assert ["FILE002"] == run(tmp_path, "a.json", "-o", "json").ids


def test_dead_link_is_passed_by(tmp_path: Path) -> None:
    """A link of a repository may lead to what a build makes; one that is named must lead somewhere."""
    (tmp_path / "a.yaml").symlink_to("nowhere.yaml")

    assert [DEAD_LINK] == [
        one["reason"] for one in run(tmp_path, ".", "-o", "json").json["summary"]["passedBy"]
    ]
    assert ["FILE001"] == run(tmp_path, "a.yaml", "-o", "json").ids


def test_link_to_a_folder_outside_is_named(tmp_path: Path) -> None:
    """Links to folders are not followed; what they lead to is checked where it is, or not at all."""
    write(tmp_path, {"a/b/c.yaml": CONFIG_MAP, "d/e.yaml": CONFIG_MAP})
    (tmp_path / "a/within").symlink_to("b")
    (tmp_path / "a/outside").symlink_to("../d")

    assert [{"path": "a/outside", "reason": LINK, "files": 1}] == run(tmp_path, "a", "-o", "json").json[
        "summary"
    ]["passedBy"]


def test_bases_of_a_repository_of_ours_are_passed_by(repo: Repo) -> None:
    """Runs fill in their fields, so what is built of them is judged; who names the folder has it read."""
    repo.workload("a")
    repo.run("render")
    done = repo.run("validate", str(repo.root), "-o", "json")

    passed = [(Path(one["path"]).name, one["reason"]) for one in done.json["summary"]["passedBy"]]
    assert ("bases", "folder of bases of slicewright") in passed
    assert [] == [one["id"] for one in done.json["problems"] if one["severity"] == "error"]
    named = repo.run("validate", str(repo.root / "bases"), "-o", "json").json["problems"]
    assert {"FILE030"} == {one["id"] for one in named}
