"""`slicewright validate`: what it reads, what it reports, and how it ends."""

import importlib
import shutil
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, WARNING, run, write
from tests.conftest import Repo

from slicewright.objects import Finding, rule

command = importlib.import_module("slicewright.cli.validate")

ROOT = Path(__file__).resolve().parents[2]
IGNORED = ("JS101", "SCHEMA004", "JS1O1")


@pytest.mark.tools
def test_this_repository_is_valid() -> None:
    """Without a path the whole repository is checked, and ours has no error."""
    done = run(ROOT, "-o", "json")
    assert [problem for problem in done.json["problems"] if problem["severity"] == "error"] == []
    assert done.json["summary"]["objects"] >= 20
    assert done.code == 0


def test_file_is_reported_with_place_and_hint(tmp_path: Path) -> None:
    """file:line:column, id, message, hint, and a summary; exit 1."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP})
    done = run(tmp_path, "a.yaml", "--schemas-only")
    assert done.out == (
        "a.yaml:1:66: SCHEMA003 'a' must be a string, not an integer (1)\n"
        "  hint: write it in quotes\n"
        "1 object in 1 file or folder: 1 error, 0 warnings\n"
    )
    assert done.code == 1


def test_stdin_is_a_file(tmp_path: Path) -> None:
    """`-` reads what is piped in."""
    assert run(tmp_path, "-", stdin=CONFIG_MAP).code == 0
    done = run(tmp_path, "-", "-o", "json", stdin=BAD_CONFIG_MAP)
    assert [(p["id"], p["file"], p["line"]) for p in done.json["problems"]] == [("SCHEMA003", "stdin", 1)]


def test_warnings_count_when_strict(tmp_path: Path) -> None:
    """A warning exits 0, and 1 with --strict."""
    write(tmp_path, {"a.yaml": WARNING})
    assert [run(tmp_path, "a.yaml", "--schemas-only", *more).code for more in ([], ["--strict"])] == [0, 1]


def test_notes_do_not_count_when_strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note is printed and never fails, not even with --strict."""
    noted = rule("ACME-101", severity="note", hint="look")(lambda *_: [Finding(("data",), "said")])
    monkeypatch.setattr(command, "semantic_rules", lambda: (noted,))
    write(tmp_path, {"a.yaml": CONFIG_MAP})
    done = run(tmp_path, "a.yaml", "--strict")
    assert ["a.yaml:1:62: note: ACME-101 said", "0 errors, 0 warnings, 1 note"] == [
        done.out.splitlines()[0],
        done.out.splitlines()[-1].partition(": ")[2],
    ]
    assert 0 == done.code


def test_folder_is_walked(tmp_path: Path) -> None:
    """YAML and JSON files below a folder are read; hidden folders and what is excluded are not."""
    write(
        tmp_path,
        {
            "a/b/c.yaml": CONFIG_MAP,
            "a/d.json": '{"apiVersion": "v1",\n\t"kind": "ConfigMap", "metadata": {"name": "b"}}',
            "a/e.yml": BAD_CONFIG_MAP,
            "a/values.yaml": "image: {tag: a}\n",
            "a/.git/f.yaml": BAD_CONFIG_MAP,
            "a/g.txt": BAD_CONFIG_MAP,
            "a/empty.yaml": "",
            "a/crds/h.yaml": BAD_CONFIG_MAP,
        },
    )
    done = run(tmp_path, "a", "-o", "json", "--exclude", "crds", "--schemas-only")
    assert [(problem["id"], problem["file"]) for problem in done.json["problems"]] == [
        ("SCHEMA003", "a/e.yml")
    ]
    assert done.json["summary"] == {
        "objects": 3,
        "read": 5,
        "errors": 1,
        "warnings": 0,
        "notes": 0,
        "unchanged": 0,
        "skipped": {},
        "withoutObject": ["a/empty.yaml", "a/values.yaml"],
        "passedBy": [
            {"path": path, "reason": "file without Kubernetes objects", "files": 1}
            for path in ("a/empty.yaml", "a/values.yaml")
        ],
    }
    text = run(tmp_path, "a", "--exclude", "a/*/h.yaml", "--exclude", "e.yml", "--schemas-only").out
    read = "2 objects in 2 files and folders: 0 errors, 0 warnings"
    assert text == f"{read}\npassed by: 2 files without Kubernetes objects (a/empty.yaml, a/values.yaml)\n"


@pytest.mark.parametrize(
    ("arguments", "code"), [(["-"], 1), (["a.yaml"], 1), (["empty", "a.yaml"], 1), (["empty"], 0), (["."], 0)]
)
def test_nothing_to_check_is_an_error_unless_folders_are_checked(
    tmp_path: Path, arguments: list[str], code: int
) -> None:
    """What somebody names or pipes has an object; a repository may have none, and --strict refuses that."""
    (tmp_path / "empty").mkdir()
    write(tmp_path, {"a.yaml": "# nothing\n"})
    done = run(tmp_path, *arguments, "-o", "json")

    assert (["FILE006"], code) == (done.ids, done.code)
    assert 1 == run(tmp_path, *arguments, "--strict").code


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
def test_text_with_a_byte_order_mark_is_read_as_kubectl_reads_it(tmp_path: Path, encoding: str) -> None:
    """PowerShell writes what is piped into a file in UTF-16; kubectl and kustomize read it."""
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    text = f"{mark}{BAD_CONFIG_MAP}\n---\n{CONFIG_MAP}"
    (tmp_path / "a.yaml").write_bytes(text.encode(encoding))
    (problem,) = run(tmp_path, ".", "-o", "json", "--schemas-only").json["problems"]

    assert ("SCHEMA003", 1, 66) == (problem["id"], problem["line"], problem["column"])


def test_name_of_an_event_is_what_the_server_wrote(tmp_path: Path) -> None:
    """An event is named after its object, which may have no name; the API server takes any part of a path."""
    event = "apiVersion: v1\nkind: Event\nmetadata: {name: %s}\ninvolvedObject: {kind: Pod}\n"
    write(tmp_path, {"a.yaml": event % ".16b30fb6cc73badd", "b.yaml": event % "a/b"})

    assert [("b.yaml", "SCHEMA007")] == [
        (one["file"], one["id"]) for one in run(tmp_path, ".", "-o", "json").json["problems"]
    ]


def test_kinds_are_skipped_only_when_named(tmp_path: Path) -> None:
    """A kind without a schema is reported, unless it is named; then the summary says so."""
    write(tmp_path, {"a.yaml": "{apiVersion: example.test/v1, kind: Thing, metadata: {name: a}}\n"})
    assert run(tmp_path, "a.yaml", "-o", "json").ids == ["SCHEMA001"]
    done = run(tmp_path, "a.yaml", "--skip-kind", "Thing")
    assert done.out == "1 object in 1 file or folder: 0 errors, 0 warnings\npassed by: 1 object (1 Thing)\n"
    assert done.code == 0


def test_skipped_kind_that_nothing_is_of_is_reported(tmp_path: Path) -> None:
    """A misspelt --skip-kind lets nothing pass, and says so with the nearest kind that is there."""
    write(tmp_path, {"a.yaml": CONFIG_MAP})

    done = run(tmp_path, "a.yaml", "--skip-kind", "ConfigMaps", "--skip-kind", "ConfigMap", "-o", "json")

    (problem,) = done.json["problems"]
    assert (problem["id"], problem["severity"]) == ("IGN104", "warning")
    assert problem["message"] == "--skip-kind ConfigMaps: no object has this kind"
    assert problem["hint"] == "did you mean 'ConfigMap'?"
    assert done.code == 0


def test_annotation_with_an_unknown_id_is_reported(tmp_path: Path) -> None:
    """Also of a single file, of which nothing is said where a known rule finds nothing."""
    named = "metadata: {name: a, annotations: {slicewright.dev/ignore-%s: r}}"
    files = {f"{ident}.yaml": CONFIG_MAP.replace("metadata: {name: a}", named % ident) for ident in IGNORED}
    write(tmp_path, files)

    found = [run(tmp_path, file, "-o", "json").ids for file in files]

    assert found == [[], [], ["IGN103"]]


def test_schemas_of_other_versions_are_added(tmp_path: Path) -> None:
    """--schema looks into a folder first; a file in there that is no JSON is an error."""
    write(tmp_path, {"a.yaml": CONFIG_MAP, "mine/v1/configmap_v1.json": '{"required": ["immutable"]}'})
    assert run(tmp_path, "a.yaml", "--schema", "mine", "-o", "json", "--schemas-only").ids == ["SCHEMA005"]
    write(tmp_path, {"mine/v1/configmap_v1.json": "{"})
    assert run(tmp_path, "a.yaml", "--schema", "mine", "-o", "json", "--schemas-only").ids == ["SCHEMA010"]


@pytest.mark.parametrize(
    ("definitions", "ids"),
    [
        ('{"definitions": {"Data": {"maxProperties": 0}}}', ["SCHEMA007"]),
        ('{"definitions": {"Other": {}}}', ["SCHEMA010"]),
        ("[]", ["SCHEMA010"]),
        ("{", ["SCHEMA010"]),
        (None, ["SCHEMA010"]),
    ],
)
def test_added_schemas_may_share_definitions(tmp_path: Path, definitions: str | None, ids: list[str]) -> None:
    """A folder may have a definitions.json, as our own has; one that is not right is an error."""
    refers = '{"properties": {"data": {"$ref": "../definitions.json#/definitions/Data"}}}'
    write(tmp_path, {"a.yaml": CONFIG_MAP, "mine/v1/configmap_v1.json": refers})
    if definitions is not None:
        write(tmp_path, {"mine/definitions.json": definitions})

    assert ids == run(tmp_path, "a.yaml", "--schema", "mine", "-o", "json", "--schemas-only").ids


def test_our_own_formats_are_checked(tmp_path: Path) -> None:
    """A TPUWorkload is checked as render does; another kind of ours is unknown."""
    ours = "apiVersion: slicewright.dev/v1alpha1"
    write(
        tmp_path,
        {
            "a.yaml": f"{{{ours}, kind: TPUWorkload, metadata: {{name: a}}, spec: {{tup: v6e-8}}}}",
            "b.yaml": f"{{{ours}, kind: Other, metadata: {{name: a}}}}",
        },
    )
    ids = run(tmp_path, "a.yaml", "-o", "json").ids
    assert "IN002" in ids
    assert set(ids) <= {"IN002", "IN003"}
    assert run(tmp_path, "b.yaml", "-o", "json").ids == ["IN007"]


def test_misspelt_name_of_what_is_on_the_cluster(empty: Repo) -> None:
    """The hint names what `existing` lists under nearly the name."""
    needs = "volumes: [{name: t, secret: {secretName: hf-tokn}}]"
    image = "container: {image: python:3.12}"
    empty.workload("a", f"clusters: [c1]\ntpu: v5litepod-8\n{image}\npodTemplate: {{spec: {{{needs}}}}}")
    listed = (
        "[{kind: Secret, namespace: default, name: hf-token}, {kind: Secret, namespace: x, name: hf-tok}]"
    )
    empty.cluster(spec=f"pools: [{{name: tpus, tpu: v5litepod-8}}]\nexisting: {listed}")
    empty.run("render")

    (hint,) = (
        one["hint"] for one in empty.run("validate", "-o", "json").json["problems"] if one["id"] == "REF122"
    )
    assert hint.startswith("did you mean 'hf-token'? Otherwise add it to the tree")


def test_flavor_of_a_pool_that_changed_since_asks_for_a_render(empty: Repo) -> None:
    """Where the object is one that render writes, nobody can mend it by hand."""
    text = (
        "apiVersion: slicewright.dev/v1alpha1\nkind: TPUCluster\nmetadata: {name: c1}\nspec:\n"
        "  project: p\n  location: us-east5-a\n  pools: [{name: tpus, tpu: v5litepod-8}]\n"
        "  clusterQueues: [{name: q, quota: [{pool: tpus}], localQueues: [{name: l}]}]\n"
    )
    empty.write("clusters/c1.yaml", text)
    empty.run("render")
    empty.write("clusters/c1.yaml", text.replace("v5litepod-8", "v6e-8"))

    problems = empty.run("validate", "-o", "json", code=1).json["problems"]
    assert ["run slicewright render"] == [one["hint"] for one in problems if one["id"] == "REF109"]


def test_what_custom_holds_is_in_the_tree_of_each_cluster(empty: Repo) -> None:
    """What nothing holds is warned of once, at the first of its users; `existing` says that it is there."""
    needs = "volumes: [{name: t, secret: {secretName: token}}]"
    for name in ("a", "b"):
        image = "container: {image: python:3.12}"
        empty.workload(name, f"clusters: [c1]\ntpu: v5litepod-8\n{image}\npodTemplate: {{spec: {{{needs}}}}}")
    pools = "pools: [{name: tpus, tpu: v5litepod-8, slices: 2}]"
    empty.cluster(spec=pools)
    empty.run("render")

    def told() -> list[tuple[str, str]]:
        found = empty.run("validate", "-o", "json").json["problems"]
        return [(one["id"], one["message"]) for one in found if one["id"].startswith("REF")]

    assert [
        ("REF122", "2 objects need Secret 'token' of namespace 'default', but it is not in the tree")
    ] == told()
    held = "{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: default}}\n"
    empty.write("custom/token.yaml", held)
    assert [] == told()
    empty.write("custom/token.yaml", held.replace("token", "taken"))
    assert 1 == len(told())
    empty.write("custom/token.yaml", held.replace("}}", "}, data: {other: Yg==}}"))
    keyed = "[{name: t, secret: {secretName: token, items: [{key: a, path: a}]}}]"
    image = "container: {image: python:3.12}"
    empty.workload(
        "c", f"clusters: [c1]\ntpu: v5litepod-8\n{image}\npodTemplate: {{spec: {{volumes: {keyed}}}}}"
    )
    empty.run("render")
    assert [("REF160", "Secret 'token' of namespace 'default' has no key 'a'")] == told()
    (empty.root / "custom" / "token.yaml").unlink()
    empty.cluster(spec=f'{pools}\nexisting: [{{kind: Secret, namespace: default, name: "tok*"}}]')
    assert [] == told()


def test_custom_overlays_of_a_repository_are_checked(tmp_path: Path, elsewhere: Path) -> None:
    """custom/ is read beside overlays/; problems of the input are reported with the rest."""
    write(
        tmp_path,
        {
            "slicewright.yaml": "limits: {endRuns: 1}\n",
            "workloads/a.yaml": "kind: Other\n",
            "custom/one/kustomization.yaml": "resources: [a.yaml]\n",
            "custom/one/a.yaml": BAD_CONFIG_MAP,
            "overlays/c/_platform/kustomization.yaml": "resources: [a.yaml, deep]\n",
            "overlays/c/_platform/a.yaml": BAD_CONFIG_MAP,
            "overlays/c/_platform/deep/kustomization.yaml": "resources: [b.yaml]\n",
            "overlays/c/_platform/deep/b.yaml": CONFIG_MAP.replace("name: a", "name: b"),
            "overlays/c/team/run/kustomization.yaml": "resources: [a.yaml]\n",
            "overlays/c/team/run/a.yaml": BAD_CONFIG_MAP,
            "overlays/c/team/kustomization.yaml": "resources: [run]\n",
        },
    )
    shutil.copytree(ROOT / "bases", tmp_path / "bases")
    done = run(tmp_path, "-o", "json", "--schemas-only")
    assert [(problem["id"], problem["file"]) for problem in done.json["problems"]] == [
        ("SCHEMA003", "custom/one"),
        ("SCHEMA003", "overlays/c/_platform"),
        ("SCHEMA003", "overlays/c/team/run"),
        ("IN007", "workloads/a.yaml"),
    ]
    assert run(tmp_path / "custom", "-C", "..", "-o", "json", "--schemas-only").json == done.json
    assert run(elsewhere).code == 2


def test_reasons_silence_what_they_name(tmp_path: Path) -> None:
    """An entry of the ignore file silences a problem; one for something else is not complained about here."""
    write(
        tmp_path,
        {
            "a.yaml": BAD_CONFIG_MAP,
            ".slicewright-ignore.yaml": "ignore:\n"
            "- {rule: SCHEMA003, object: ConfigMap a, reason: a test}\n"
            "- {rule: SCHEMA004, object: ConfigMap b, reason: not here}\n",
        },
    )
    done = run(tmp_path, "a.yaml", "-o", "json")
    assert (done.ids, done.code) == ([], 0)
    (tmp_path / ".slicewright-ignore.yaml").write_bytes(b"\xff")
    assert run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids == ["FILE002", "SCHEMA003"]
