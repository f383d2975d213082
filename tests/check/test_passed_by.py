"""What is no Kubernetes object is passed by, with one line; what looks like one is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write

from slicewright.core.check.passed_by import (
    ASSERTION,
    DEAD_LINK,
    HELM,
    NO_OBJECT,
    PATCH,
    SETTINGS,
    TEMPLATE,
    PassedBy,
    counts,
    is_template,
    reason,
)
from slicewright.core.document.read import read_documents

if TYPE_CHECKING:
    from pathlib import Path

_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.yaml", _OBJECT, ""),
        ("a.yaml", "", NO_OBJECT),
        ("values.yaml", "image: {tag: a}\n", NO_OBJECT),
        ("playbook.yml", "- hosts: all\n  tasks: [{name: '{{ a }}'}]\n", NO_OBJECT),
        ("vault.yml", "key: !vault |\n  abc\n", NO_OBJECT),
        ("mkdocs.yml", "site_name: a\nx: !!python/name:a.b\n", NO_OBJECT),
        ("compose.yaml", "services: {a: {image: b, ports: [01]}}\n", NO_OBJECT),
        ("kep.yaml", "title: a\nkep-number: 0123\n", NO_OBJECT),
        ("vocabulary.json", '{"kind": 3, "spec": 4}', NO_OBJECT),
        ("krew.yaml", _OBJECT + 'data:\n- a: b\n  {{addURIAndSha "c/{{ .TagName }}" .TagName }}\n', TEMPLATE),
        ("package.json", '{"name": "a", "kind": "b"}', NO_OBJECT),
        ("broken.json", '{"name": ', NO_OBJECT),
        ("broken.json", '{"apiVersion": "v1", "kind": "Pod", ', ""),
        ("workflow.yaml", "on: push\njobs:\n  a: {steps: [}\n", NO_OBJECT),
        ("embedded.yaml", "tasks:\n- definition:\n    apiVersion: v1\n    kind: [}\n", NO_OBJECT),
        ("apart.yaml", "kind: a\n---\napiVersion: 1\n---\n[}\n", NO_OBJECT),
        ("broken.yaml", _OBJECT + "data: [}\n", ""),
        ("tag.yaml", _OBJECT + "data: !vault a\n", ""),
        ("go.yaml", "{{- if .a }}\n" + _OBJECT + "{{- end }}\n", TEMPLATE),
        ("go.yaml", _OBJECT + "  labels:\n    {{ .Values.labels }}\n", TEMPLATE),
        ("go.yaml", _OBJECT + "data:\n  {{ .key }}: a\n", TEMPLATE),
        ("go.yaml", _OBJECT + "data:\n- {{ if a }}b{{ end }}\n", TEMPLATE),
        ("jinja.yaml", _OBJECT + "{% for a in b %}\n  c: {{ a }}\n{% endfor %}\n", TEMPLATE),
        ("terraform.yaml", _OBJECT + "%{ if a }\n  b: c\n%{ endif }\n", TEMPLATE),
        ("chat.yaml", _OBJECT + "data:\n  a: |\n    {% for b in c %}\n", ""),
        ("inline.yaml", _OBJECT + "  namespace: {{ b }}\n", ""),
        ("scalar.yaml", _OBJECT + "data:\n  a: |\n    {{- if b }}\n---\n" + _OBJECT + "data: [}\n", ""),
        ("quoted.yaml", _OBJECT + "data:\n  a: |\n    $patch: delete\n", ""),
        ("one.yaml", _OBJECT + "$patch: delete\n---\n" + _OBJECT, ""),
        ("dispatches/a.yaml", _OBJECT, ""),
        ("list.yaml", "- apiVersion: v1\n  kind: Pod\n", ""),
        ("patch.yaml", _OBJECT, PATCH),
        ("a/patches/b.yaml", _OBJECT, PATCH),
        ("webhook_patch_in_jobs.yaml", _OBJECT, PATCH),
        ("a.yaml", _OBJECT + "data:\n  $patch: delete\n", PATCH),
        ("dispatch.yaml", _OBJECT, ""),
        ("00-assert.yaml", _OBJECT, ASSERTION),
        ("a/chainsaw-assert.yaml", _OBJECT, ASSERTION),
        ("skaffold.yaml", "apiVersion: skaffold/v4beta6\nkind: Config\n", SETTINGS),
        ("kind.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n", SETTINGS),
        ("config", "apiVersion: v1\nkind: Config\nclusters: []\n", SETTINGS),
        ("both.yaml", f"apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n---\n{_OBJECT}", ""),
    ],
)
def test_path_and_text_decide(path: str, text: str, expected: str) -> None:
    """A file is passed by where nothing in it looks like an object, or an object of no API server."""
    documents, problems = read_documents(text, path)

    assert expected == reason(
        path, text, [one.data for one in documents], broken=[one.line for one in problems]
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.yaml.tftpl", True),
        ("a.yml.j2", True),
        ("a.json.tmpl", True),
        ("a.sh.tmpl", False),
        ("a.yaml", False),
    ],
)
def test_name_of_a_template_ends_in_its_engine(name: str, expected: bool) -> None:
    """A template of YAML or JSON is known by two suffixes, and is not read."""
    assert expected == is_template(name)


def test_words_inside_of_json_that_was_read_are_no_object() -> None:
    """A schema that describes objects has their words; what was read of it is no object."""
    text = '{"a": {"apiVersion": 1, "kind": 2}}'

    assert NO_OBJECT == reason("a.json", text, [{"a": {}}], broken=[1])


def test_reasons_are_counted() -> None:
    """The summary has a number for each reason, and that of the files in charts."""
    charts = [PassedBy("a", HELM, 12), PassedBy("b", HELM, 1)]
    files = [PassedBy("c", NO_OBJECT), PassedBy("d", TEMPLATE), PassedBy("e", NO_OBJECT)]

    expected = ["2 Helm charts (13 files)", "2 files without Kubernetes objects", "1 template"]
    assert expected == counts([*charts, *files])
    assert ["1 file that a kustomization merges"] == counts([PassedBy("c", PATCH)])


_CHART = {
    "Chart.yaml": "apiVersion: v2\nname: a\n",
    "values.yaml": "a: [}\n",
    "templates/a.yaml": "{{- if .b }}\n",
    "crds/b.yaml": BAD_CONFIG_MAP,
    "examples/c.yaml": BAD_CONFIG_MAP,
}


def test_chart_is_passed_by_as_a_whole(tmp_path: Path) -> None:
    """A folder with a Chart.yaml is one entry, with the number of its files; what is beside it is checked."""
    write(tmp_path, {f"charts/a/{name}": text for name, text in _CHART.items()})
    write(tmp_path, {"charts/b.yaml": CONFIG_MAP, "c.yaml.tftpl": "${a}"})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert [
        {"path": "c.yaml.tftpl", "reason": TEMPLATE, "files": 1},
        {"path": "charts/a", "reason": HELM, "files": 5},
    ] == done["summary"]["passedBy"]
    assert ([], 1) == (done["problems"], done["summary"]["objects"])
    assert run(tmp_path, ".", "--schemas-only").out.endswith(
        "; passed by: 1 template, 1 Helm chart (5 files)\n"
    )


def test_only_charts_are_nothing_to_check(tmp_path: Path) -> None:
    """A check that looked at nothing does not pass, and says how to check charts."""
    write(tmp_path, {"a/Chart.yaml": _CHART["Chart.yaml"]})
    (problem,) = run(tmp_path, ".", "-o", "json").json["problems"]

    assert ("FILE006", "render its Helm charts: --helm") == (problem["id"], problem["hint"])


def test_repository_may_be_a_chart_and_hold_more(tmp_path: Path) -> None:
    """Of a chart at the path itself only what Helm reads is passed by."""
    write(tmp_path, _CHART)
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["examples/c.yaml"] == [problem["file"] for problem in done["problems"]]
    assert [{"path": ".", "reason": HELM, "files": 4}] == done["summary"]["passedBy"]


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


def test_dead_link_is_passed_by(tmp_path: Path) -> None:
    """A link of a repository may lead to what a build makes; one that is named must lead somewhere."""
    (tmp_path / "a.yaml").symlink_to("nowhere.yaml")

    assert [DEAD_LINK] == [
        one["reason"] for one in run(tmp_path, ".", "-o", "json").json["summary"]["passedBy"]
    ]
    assert ["FILE001"] == run(tmp_path, "a.yaml", "-o", "json").ids
