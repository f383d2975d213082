"""What is no Kubernetes object is passed by, with one line; what looks like one is checked."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.properties import share

from slicewright.binaries.find import find
from slicewright.core.check.passed_by import (
    ASSERTION,
    DEAD_LINK,
    HELM,
    LINK,
    NO_OBJECT,
    PATCH,
    SETTINGS,
    TEMPLATE,
    TEST_DATA,
    UNNAMED_PATCH,
    VENDORED,
    PassedBy,
    counts,
    is_template,
    may_be_patch,
    reason,
    without_templates,
)
from slicewright.core.document.read import read_documents
from slicewright.core.problem import Problem

if TYPE_CHECKING:
    from tests.conftest import Repo

_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.yaml", _OBJECT, ""),
        ("a.yaml", "", NO_OBJECT),
        ("a.yaml", "word\n", NO_OBJECT),
        ("values.yaml", "image: {tag: a}\n", NO_OBJECT),
        ("playbook.yml", "- hosts: all\n  tasks: [{name: '{{ a }}'}]\n", NO_OBJECT),
        ("vault.yml", "key: !vault |\n  abc\n", NO_OBJECT),
        ("mkdocs.yml", "site_name: a\nx: !!python/name:a.b\n", NO_OBJECT),
        ("compose.yaml", "services: {a: {image: b, ports: [01]}}\n", NO_OBJECT),
        ("kep.yaml", "title: a\nkep-number: 0123\n", NO_OBJECT),
        (
            "install-config.yaml",
            "apiVersion: v1\nmetadata: {name: a}\nbaseDomain: a.b\ncompute: []\n",
            NO_OBJECT,
        ),
        ("a.yaml", "apiVersion: v1\nknid: ConfigMap\nmetadata: {name: a}\ndata: {}\n", ""),
        ("vocabulary.json", '{"kind": 3, "spec": 4}', NO_OBJECT),
        ("vocab.json", '{"apiVersion": 1, "kind": 3, "metadata": 4}', NO_OBJECT),
        ("a.yaml", "apiVersion: 1\nkind: 2\nmetadata: {name: a}\n", ""),
        (
            "config.yaml",
            "kind: Configuration\napiversion: scorecard.operatorframework.io/v1alpha3\nmetadata: {name: a}\n",
            SETTINGS,
        ),
        ("krew.yaml", _OBJECT + 'data:\n- a: b\n  {{addURIAndSha "c/{{ .TagName }}" .TagName }}\n', TEMPLATE),
        ("package.json", '{"name": "a", "kind": "b"}', NO_OBJECT),
        ("ads.yaml", "kind: job\nname: a\nspec: {infrastructure: {}}\n", NO_OBJECT),
        ("a.yaml", "kind: job\nmetadata: {name: a}\nspec: {}\n", ""),
        ("a.yaml", "kind: Job\nspec: {}\n", ""),
        ("vm.json", '{"kind": "compute#instance", "name": "a", "metadata": {"items": []}}', NO_OBJECT),
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
        ("mustache.yaml", _OBJECT + "data:\n  {{{ p }}}/key: a\n", TEMPLATE),
        ("shell.yaml", _OBJECT + "data:\n  a: b\n${MORE}\n", TEMPLATE),
        ("jinja.yaml", _OBJECT + "{% for a in b %}\n  c: {{ a }}\n{% endfor %}\n", TEMPLATE),
        ("terraform.yaml", _OBJECT + "%{ if a }\n  b: c\n%{ endif }\n", TEMPLATE),
        ("script.yaml", _OBJECT + "spec:\n  a: b\n  env:ENV_LINES\n  c: d\n", TEMPLATE),
        ("chat.yaml", _OBJECT + "data:\n  a: |\n    {% for b in c %}\n", ""),
        ("inline.yaml", _OBJECT + "  namespace: {{ b }}\n", ""),
        ("scalar.yaml", _OBJECT + "data:\n  a: |\n    {{- if b }}\n---\n" + _OBJECT + "data: [}\n", ""),
        ("quoted.yaml", _OBJECT + "data:\n  a: |\n    $patch: delete\n", ""),
        ("one.yaml", _OBJECT + "$patch: delete\n---\n" + _OBJECT, ""),
        ("list.yaml", "- apiVersion: v1\n  kind: Pod\n", ""),
        ("patch.yaml", _OBJECT, ""),
        ("a.yaml", _OBJECT + "data:\n  $patch: delete\n", UNNAMED_PATCH),
        ("00-assert.yaml", _OBJECT, ASSERTION),
        ("a/chainsaw-assert.yaml", _OBJECT, ASSERTION),
        ("e2e/assertions/a/pod.yaml", _OBJECT, ASSERTION),
        ("asserts/pod.yml", _OBJECT, ASSERTION),
        ("assertive/pod.yaml", _OBJECT, ""),
        ("a/my-assert.yaml", _OBJECT, ""),
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


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("patch.yaml", True),
        ("a/patches/b.yaml", True),
        ("webhook_patch_in_jobs.yaml", True),
        ("jsonpatch.yaml", True),
        ("patches/a/b.yaml", False),
        ("dispatch.yaml", False),
        ("dispatches/a.yaml", False),
    ],
)
def test_name_or_folder_says_patch(path: str, expected: bool) -> None:
    """The word counts in the file's name and in that of its folder, and not as a part of another word."""
    assert expected == may_be_patch(path)


def test_templates_become_blank_lines() -> None:
    """Only documents with a broken line and a line for a template engine go; all others keep their places."""
    template = "# a\n\n{{- if b }}\nkind: c\n{{- end }}\n"
    other = "--- # {{- if d }}\ne: [}\n"
    text = f"{template}---\nf: g\n---\n{template}{other}"
    blank = "".join("\n" if char == "\n" else " " for char in template)

    assert (f"{blank}---\nf: g\n---\n{blank}{other}", [3, 11]) == without_templates(text, [3, 10, 15])


def test_words_inside_of_json_that_was_read_are_no_object() -> None:
    """A schema that describes objects has their words; what was read of it is no object."""
    text = '{"a": {"apiVersion": 1, "kind": 2}}'

    assert NO_OBJECT == reason("a.json", text, [{"a": {}}], broken=[1])


def test_reasons_are_counted() -> None:
    """The summary has a number for each reason, and that of the files in charts; a few are named."""
    charts = [PassedBy("a", HELM, 12), PassedBy("b", HELM, 1)]
    files = [PassedBy("c", NO_OBJECT), PassedBy("d", TEMPLATE), PassedBy("e", NO_OBJECT)]

    expected = [
        "2 Helm charts (a, b, 13 files)",
        "2 files without Kubernetes objects (c, e)",
        "1 template (d)",
    ]
    assert expected == counts([*charts, *files])
    assert ["1 file that a kustomization merges (c)"] == counts([PassedBy("c", PATCH)])
    assert ["6 links to a folder (-o json lists them)"] == counts(PassedBy(name, LINK) for name in "abcdef")
    patches = [PassedBy("c", UNNAMED_PATCH), PassedBy("d", UNNAMED_PATCH), PassedBy("e", TEMPLATE, line=3)]
    expected = [
        "2 patch files that no kustomization names (c, d)",
        "1 document of files that are checked (e:3)",
    ]
    assert expected == counts(patches)


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
        "; skipped: 1 template (c.yaml.tftpl), 1 Helm chart (charts/a, 5 files)\n"
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


def test_charts_of_a_chart_are_passed_by_as_a_whole(tmp_path: Path) -> None:
    """A chart in a folder that Helm does not read of the one at the path is one of its own."""
    write(tmp_path, _CHART)
    write(tmp_path, {f"apps/a/{name}": text for name, text in _CHART.items()})
    write(tmp_path, {f"charts/b/{name}": text for name, text in _CHART.items()})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["examples/c.yaml"] == [problem["file"] for problem in done["problems"]]
    assert [
        {"path": ".", "reason": HELM, "files": 9},
        {"path": "apps/a", "reason": HELM, "files": 5},
    ] == done["summary"]["passedBy"]


@pytest.mark.parametrize(("value", "expected"), [("'true'", []), ("'false'", ["SCHEMA003"])])
def test_object_that_is_local_is_passed_by(tmp_path: Path, value: str, expected: list[str]) -> None:
    """Kustomize and kpt read the object from its file, and send it to no API server."""
    metadata = f"metadata: {{name: a, annotations: {{config.kubernetes.io/local-config: {value}}}}}"
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP.replace("metadata: {name: a}", metadata), "b.yaml": CONFIG_MAP})

    assert expected == run(tmp_path, ".", "-o", "json", "--schemas-only").ids
    assert ["SCHEMA003"] == run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids


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
    assert {"c/kustomization.yaml", "c/p.yaml"} == {one["path"] for one in done["summary"]["passedBy"]}


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


_LIST = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"


@pytest.mark.tools
@pytest.mark.parametrize(("text", "line", "objects"), [(_LIST, 1, 0), (f"{CONFIG_MAP}---\n\n{_LIST}", 4, 1)])
def test_list_of_objects_is_refused_as_kubectl_refuses_it(
    tmp_path: Path, text: str, line: int, objects: int
) -> None:
    """A document that is a list has no kind: nobody applies what is in it, alone or behind an object."""
    write(tmp_path, {"list.yaml": text})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json
    kubectl = find("kubectl")
    assert not isinstance(kubectl, Problem), kubectl.text()
    command: list[str | Path] = [kubectl, "label", "--local", "-f", tmp_path / "list.yaml", "a=b"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)

    assert [("SCHEMA002", "list.yaml", line)] == [
        (problem["id"], problem["file"], problem["line"]) for problem in done["problems"]
    ]
    assert (objects, []) == (done["summary"]["objects"], done["summary"]["passedBy"])
    assert (1, True) == (said.returncode, "cannot unmarshal array" in said.stderr)


_PART = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 2}\n"
_JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {containers: [%s]}}}\n"


def test_whole_object_in_a_place_of_patches_is_checked(tmp_path: Path) -> None:
    """A name does not make a patch: only what lacks a required field or an image is one, and is named."""
    write(tmp_path, {"patches/a.yaml": BAD_CONFIG_MAP, "patches/b.yaml": _PART, "patch-c.yaml": _PART})
    write(tmp_path, {"patch-d.yaml": _JOB % "{name: a}", "patch-e.yaml": _JOB % "{name: a, image: b, x: 1}"})
    write(tmp_path, {"patches/f.yaml": f"{_PART}---\n{BAD_CONFIG_MAP}", "g.yaml": _PART})
    write(tmp_path, {"patches/h.yaml": "apiVersion: example.test/v1\nkind: A\nspec: {}\n"})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["g.yaml", "patch-e.yaml", "patches/a.yaml", "patches/f.yaml"] == sorted(
        {problem["file"] for problem in done["problems"]}
    )
    assert [("patch-c.yaml"), ("patch-d.yaml"), ("patches/b.yaml"), ("patches/h.yaml")] == [
        one["path"] for one in done["summary"]["passedBy"] if one["reason"] == UNNAMED_PATCH
    ]


def test_comment_at_the_top_says_patch(tmp_path: Path) -> None:
    """What is incomplete below it is a patch; a whole object, or a comment further down, makes none."""
    comment = "# the patch that adds an extension\n"
    write(
        tmp_path, {"a.yaml": comment + _PART, "b.yaml": comment + BAD_CONFIG_MAP, "c.yaml": _PART + comment}
    )
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert ["b.yaml", "c.yaml"] == sorted({problem["file"] for problem in done["problems"]})
    assert [("a.yaml", UNNAMED_PATCH)] == [
        (one["path"], one["reason"]) for one in done["summary"]["passedBy"]
    ]


def test_patch_of_an_old_crd_is_no_object_of_a_removed_api(tmp_path: Path) -> None:
    """The tool kubebuilder wrote patches for CRDs of v1beta1; a whole CRD of that version is an error."""
    crd = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"
    crd += "metadata: {name: as.b.c}\n"
    write(
        tmp_path,
        {
            "patches/webhook.yaml": f"{crd}spec: {{conversion: {{strategy: Webhook}}}}\n",
            "patches/whole.yaml": f"{crd}spec: {{group: b.c, names: {{kind: A, plural: as}}}}\n",
        },
    )
    done = run(tmp_path, ".", "-o", "json").json

    assert [("patches/whole.yaml", "SCHEMA020")] == [
        (problem["file"], problem["id"]) for problem in done["problems"]
    ]


@pytest.mark.tools
def test_file_beside_a_kustomization_is_checked_unless_it_is_a_part(tmp_path: Path) -> None:
    """What no kustomization names is read like any other file; labels and namespaces may be added to it."""
    binding = (
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a},"
        " roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a},"
        " subjects: [{kind: ServiceAccount, name: a}]}\n"
    )
    write(tmp_path, {"k/kustomization.yaml": "resources: [a.yaml]\npatches: [{path: b/p.yaml}]\n"})
    write(tmp_path, {"k/a.yaml": CONFIG_MAP, "k/b/p.yaml": CONFIG_MAP, "k/b/whole.yaml": BAD_CONFIG_MAP})
    write(tmp_path, {"k/b/part.yaml": _PART, "k/values.yaml": "a: b\n", "k/binding.yaml": binding})
    write(
        tmp_path, {"c/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n"}
    )
    write(tmp_path, {"k/chart/Chart.yaml": "", "k/a.yaml.j2": ""})
    done = run(tmp_path, ".", "-o", "json").json

    assert ["k/b/whole.yaml"] == [one["file"] for one in done["problems"] if one["severity"] == "error"]
    assert {
        "c/kustomization.yaml": SETTINGS,
        "k/a.yaml.j2": TEMPLATE,
        "k/b/part.yaml": UNNAMED_PATCH,
        "k/chart": HELM,
        "k/values.yaml": NO_OBJECT,
    } == {one["path"]: one["reason"] for one in done["summary"]["passedBy"]}


def test_text_of_kyverno_for_helm_is_a_template(tmp_path: Path) -> None:
    """Helm writes a raw text as it is: braces of Kyverno in it are no YAML before that."""
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
    write(tmp_path, {"a.yaml": f"{head}  b: {{{{ `{{{{ request.name }}}}` }}}}\n"})
    write(tmp_path, {"b.yaml": f'{head}  b: {{{{- `"{{{{ x }}}}"` }}}}\n', "c.yaml": f"{head}  b: `c`\n"})
    done = run(tmp_path, ".", "-o", "json").json

    assert ["a.yaml", "b.yaml"] == [one["path"] for one in done["summary"]["passedBy"]]
    assert [("c.yaml", "YAML001")] == [(one["file"], one["id"]) for one in done["problems"]]


def test_only_templates_of_a_file_are_passed_by(tmp_path: Path) -> None:
    """Whole objects beside a template are checked, also with placeholders; the report has its line."""
    template = "{{- if a }}\napiVersion: v1\nkind: Pod\n{{- end }}\n"
    named = BAD_CONFIG_MAP.replace("name: a", "name: {{ .b }}")
    write(tmp_path, {"a.yaml": f"{template}---\n{BAD_CONFIG_MAP}---\n# c\n{template}", "b.yaml": template})
    write(tmp_path, {"c.yaml": f"{template}---\n{named}---\nkey: word\n"})
    done = run(tmp_path, ".", "-o", "json", "--schemas-only").json

    assert [("a.yaml", 6, "SCHEMA003"), ("c.yaml", 6, "FILE030"), ("c.yaml", 6, "SCHEMA003")] == sorted(
        (problem["file"], problem["line"], problem["id"]) for problem in done["problems"]
    )
    assert [
        {"path": "a.yaml", "reason": TEMPLATE, "files": 1, "line": 1},
        {"path": "a.yaml", "reason": TEMPLATE, "files": 1, "line": 9},
        {"path": "b.yaml", "reason": TEMPLATE, "files": 1},
        {"path": "c.yaml", "reason": TEMPLATE, "files": 1, "line": 1},
        {"path": "c.yaml", "reason": NO_OBJECT, "files": 1, "line": 8},
    ] == done["summary"]["passedBy"]
    assert (2, []) == (done["summary"]["objects"], done["summary"]["withoutObject"])
    assert run(tmp_path, ".", "--schemas-only").out.endswith(
        "; skipped: 1 template (b.yaml), "
        "4 documents of files that are checked (a.yaml:1, a.yaml:9, c.yaml:1, c.yaml:8)\n"
    )


def test_link_to_a_folder_outside_is_named(tmp_path: Path) -> None:
    """Links to folders are not followed; what they lead to is checked where it is, or not at all."""
    write(tmp_path, {"a/b/c.yaml": CONFIG_MAP, "d/e.yaml": CONFIG_MAP})
    (tmp_path / "a/within").symlink_to("b")
    (tmp_path / "a/outside").symlink_to("../d")

    assert [{"path": "a/outside", "reason": LINK, "files": 1}] == run(tmp_path, "a", "-o", "json").json[
        "summary"
    ]["passedBy"]


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
    "settings": "apiVersion: skaffold/v4beta6\nkind: Config\n",
}
"""Documents of which each is reported where it is checked."""
_NAMES = ("a.yaml", "b.yml", "patch-c.yaml", "01-assert.yaml", ".d.yaml", "e.yaml.j2")
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
        write(Path(there), {"chart/Chart.yaml": "name: a\n", **texts})
        done = run(Path(there), ".", "-o", "json", "--schemas-only", "--require-schemas").json
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


def test_bases_of_a_repository_of_ours_are_passed_by(repo: Repo) -> None:
    """Runs fill in their fields, so what is built of them is judged; who names the folder has it read."""
    repo.workload("a")
    repo.run("render")
    done = repo.run("validate", str(repo.root), "-o", "json")

    passed = [(Path(one["path"]).name, one["reason"]) for one in done.json["summary"]["passedBy"]]
    assert ("bases", "folder of bases of slicewright") in passed
    assert [] == [one["id"] for one in done.json["problems"] if one["severity"] == "error"]
    assert repo.run("validate", str(repo.root / "bases"), code=1).out
