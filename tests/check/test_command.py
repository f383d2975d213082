"""`slicewright validate`: what it looks at, what it says, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, engine, jobset, run, write
from tests.check.test_quick import LINES

from slicewright.workspace import crowd, kustomize, reading, units
from slicewright.workspace.crowd import examine_each
from slicewright.workspace.examine import examine
from slicewright.workspace.kubeconform import BrokenToolError, Kubeconform

ROOT = Path(__file__).resolve().parents[2]
WARNING = (
    "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: a}, spec: {clusterQueue: b}}\n"
)


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
        "skipped": {},
        "withoutObject": ["a/empty.yaml", "a/values.yaml"],
    }
    text = run(tmp_path, "a", "--exclude", "a/*/h.yaml", "--exclude", "e.yml", "--schemas-only").out
    read = "2 objects in 4 files and folders: 0 errors, 0 warnings"
    assert text == f"{read}; 2 files without a Kubernetes object\n"


def test_file_that_is_named_must_hold_an_object(tmp_path: Path) -> None:
    """What was found by walking may be anything; what somebody names is meant."""
    write(tmp_path, {"values.yaml": "image: a\n"})
    assert run(tmp_path, "values.yaml", "-o", "json").ids == ["SCHEMA002"]


@pytest.mark.parametrize("arguments", [["empty"], ["-"], ["a.yaml"]])
def test_nothing_to_check_is_an_error(tmp_path: Path, arguments: list[str]) -> None:
    """A check that looked at nothing must not be green."""
    (tmp_path / "empty").mkdir()
    write(tmp_path, {"a.yaml": "# nothing\n"})
    done = run(tmp_path, *arguments, "-o", "json")
    assert (done.ids, done.code) == (["FILE006"], 1)


def test_kinds_are_skipped_only_when_named(tmp_path: Path) -> None:
    """A kind without a schema is an error, unless it is named; then the summary says so."""
    write(tmp_path, {"a.yaml": "{apiVersion: example.test/v1, kind: Thing, metadata: {name: a}}\n"})
    assert run(tmp_path, "a.yaml", "-o", "json").ids == ["SCHEMA001"]
    done = run(tmp_path, "a.yaml", "--skip-kind", "Thing")
    assert done.out == "1 object in 1 file or folder: 0 errors, 0 warnings; not checked, as asked: 1 Thing\n"
    assert done.code == 0


def test_schemas_of_other_versions_are_added(tmp_path: Path) -> None:
    """--schema looks into a folder first; a file in there that is no JSON is an error."""
    write(tmp_path, {"a.yaml": CONFIG_MAP, "mine/v1/configmap_v1.json": '{"required": ["immutable"]}'})
    assert run(tmp_path, "a.yaml", "--schema", "mine", "-o", "json", "--schemas-only").ids == ["SCHEMA005"]
    write(tmp_path, {"mine/v1/configmap_v1.json": "{"})
    assert run(tmp_path, "a.yaml", "--schema", "mine", "-o", "json", "--schemas-only").ids == ["SCHEMA010"]


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


def test_custom_overlays_of_a_repository_are_checked(tmp_path: Path) -> None:
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
    assert run(tmp_path.parent).code == 2


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


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{above}'] * 9)}]\n"
    for above, name in zip("abcdef", "bcdefg", strict=True)
)


def test_bad_files_are_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    """No YAML, a bomb, 100 MB, no UTF-8, a pipe, a dead link: a clear problem each, in a blink."""
    write(
        tmp_path, {"a.yaml": "a: [", "b.yaml": BOMB, "e.yaml": BAD_CONFIG_MAP, "y.yaml": "a: yes\nkind: 5\n"}
    )
    with (tmp_path / "c.yaml").open("wb") as huge:
        huge.truncate(100_000_000)
    (tmp_path / "d.yaml").write_bytes(b"\xff\xfe")
    os.mkfifo(tmp_path / "f.yaml")
    (tmp_path / "g.yaml").symlink_to("nowhere.yaml")
    done = run(tmp_path, ".", "-o", "json", "--schemas-only")
    assert sorted((problem["file"], problem["id"]) for problem in done.json["problems"]) == [
        ("a.yaml", "YAML001"),
        ("b.yaml", "YAML004"),
        ("c.yaml", "FILE005"),
        ("d.yaml", "FILE002"),
        ("e.yaml", "SCHEMA003"),
        ("f.yaml", "FILE001"),
        ("g.yaml", "FILE001"),
        ("y.yaml", "SCHEMA002"),
        ("y.yaml", "YAML007"),
    ]
    huge_one = next(problem for problem in done.json["problems"] if problem["id"] == "FILE005")
    assert huge_one["message"] == "has 95 MiB; more than 16 MiB are not read"


def test_large_stdin_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is piped in is read up to the limit."""
    monkeypatch.setattr(reading, "LARGEST", 10)
    assert run(tmp_path, "-", "-o", "json", stdin="a" * 11).ids == ["FILE005"]
    assert run(tmp_path, "-", "-o", "json", stdin=b"\xff").ids == ["FILE002"]


def test_paths_that_cannot_be_read_are_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that does not exist, a folder without permission: said, and the rest is checked."""
    write(tmp_path, {"a.yaml": BAD_CONFIG_MAP, "locked/b.yaml": CONFIG_MAP})
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    done = run(tmp_path, "nowhere", ".", "-o", "json")
    assert [(problem["file"], problem["id"], problem["message"]) for problem in done.json["problems"]] == [
        ("a.yaml", "SCHEMA003", "'a' must be a string, not an integer (1)"),
        ("locked", "FILE001", "cannot be read: Permission denied"),
        ("nowhere", "FILE001", "there is no such file or folder"),
    ]


def test_path_through_a_file_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that the system refuses to look at is reported as it says."""
    monkeypatch.setattr(
        Path, "is_dir", lambda _: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    found = units.Discovery(base=tmp_path).find([str(tmp_path / "a")])
    assert [(problem.id, problem.file) for problem in found.problems] == [("FILE001", "a")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.text(), LINES.map("\n".join), st.binary()))
def test_never_a_traceback(tmp_path: Path, content: str | bytes) -> None:
    """Whatever stands in a file, the command ends with a report and 0 or 1."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    (tmp_path / "a.yaml").write_bytes(data)
    done = run(tmp_path, "a.yaml", "-o", "json")
    assert done.code in (0, 1)
    assert set(done.json) == {"problems", "summary"}


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3)),
    lambda below: st.one_of(
        st.lists(below, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "name", "labels", "replicatedJobs", "template", "containers", "a"]
            ),
            below,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["JobSet", "List", "Pod", "ClusterQueue", "PathwaysJob"]), JSON, JSON)
def test_never_a_traceback_on_arbitrary_objects(
    tmp_path: Path, kind: str, spec: object, metadata: object
) -> None:
    """Whatever an object holds, schemas and all rules end with a report."""
    versions = {
        "JobSet": "jobset.x-k8s.io/v1alpha2",
        "ClusterQueue": "kueue.x-k8s.io/v1beta2",
        "PathwaysJob": "pathways-job.pathways.domain/v1",
    }
    data = {
        "apiVersion": versions.get(kind, "v1"),
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
        "items": [spec],
    }
    (tmp_path / "a.yaml").write_text(json.dumps(data), encoding="utf-8")
    assert run(tmp_path, "a.yaml").code in (0, 1)


def test_kubeconform_gives_the_same_report(tmp_path: Path) -> None:
    """The second engine judges the same objects, and the report is the same to the letter."""
    broken = jobset(container={"env": [{"name": "A", "value": 1}]}, failurePolicy={"maxRestarts": 2**31})
    write(
        tmp_path,
        {
            "a.yaml": BAD_CONFIG_MAP + "---\n" + CONFIG_MAP + "---\n" + WARNING,
            "b.json": json.dumps(broken),
            "c.yaml": "{apiVersion: example.test/v1, kind: Thing, metadata: {name: a}}\n---\n[]\n",
            "d.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: []}\n",
        },
    )
    one, other = (
        run(tmp_path, ".", "-o", "json", "--schemas-only", "--engine", name)
        for name in ("internal", "kubeconform")
    )
    assert len(one.ids) == 6
    assert one == other


def test_kubeconform_decides_where_the_engines_differ(tmp_path: Path) -> None:
    """Its verdict is reported: in its words where ours has none, and nothing where it is content."""
    said = "failed with 'x' - at '/data/a': got a, want b - at '': 'allOf' failed - at '/list/0/c~1d': last"
    refused = {"filename": "0.json", "status": "statusInvalid", "msg": said}
    report = {"resources": [refused], "summary": {"valid": 1, "invalid": 1, "errors": 0, "skipped": 0}}
    (tmp_path / "kubeconform").write_text(
        f"#!/bin/sh\ncat <<'X'\n{json.dumps(report)}\nX\n", encoding="utf-8"
    )
    (tmp_path / "kubeconform").chmod(0o755)
    tool = Kubeconform(tmp_path / "kubeconform", ())
    write(tmp_path, {"a.yaml": CONFIG_MAP, "b.yaml": BAD_CONFIG_MAP})
    found = units.Discovery(base=tmp_path).find([str(tmp_path)])

    judged = examine(examine_each(found.units, engine()), engine(), kubeconform=tool, complete=False)
    assert [(problem.file, problem.message, problem.path) for problem in judged.problems] == [
        ("a.yaml", "kubeconform: last", ("list", "0", "c/d")),
        ("a.yaml", "kubeconform: got a, want b", ("data", "a")),
    ]
    assert tool.ask([]) == []


def answer(*resources: dict[str, str], **numbers: int) -> str:
    """Return a report of kubeconform."""
    summary = {"valid": 0, "invalid": 0, "errors": 0, "skipped": 0, **numbers}
    return json.dumps({"resources": resources, "summary": summary})


MISSING = {"filename": "0.json", "status": "statusError", "msg": "could not find schema for A"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (answer(skipped=1), "skipped 1 objects"),
        (answer(), "was sent 1 objects"),
        (answer(invalid=1), "names fewer objects"),
        (answer(MISSING, errors=1), "could not find schema"),
        ("[]", "gave no report"),
        ("{}", "gave no report"),
        ("text", "gave no report"),
    ],
)
def test_kubeconform_that_does_not_add_up_is_a_broken_tool(tmp_path: Path, text: str, message: str) -> None:
    """Skipped objects, missing objects, schemas that do not compile, no report: never a green check."""
    (tmp_path / "tool").write_text(f"#!/bin/sh\ncat <<'X'\n{text}\nX\n", encoding="utf-8")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(BrokenToolError, match=message):
        Kubeconform(tmp_path / "tool", ()).ask([{}])


def test_missing_or_broken_kubeconform_exits_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that is missing or broke is neither a problem of the objects nor a success."""
    write(tmp_path, {"a.yaml": CONFIG_MAP})
    monkeypatch.setattr(
        Kubeconform,
        "_run",
        lambda *_: {"resources": [], "summary": {"valid": 0, "invalid": 0, "errors": 0, "skipped": 1}},
    )
    assert run(tmp_path, "a.yaml", "--engine", "kubeconform").code == 3
    monkeypatch.setenv("SLICEWRIGHT_KUBECONFORM", str(tmp_path / "nowhere"))
    done = run(tmp_path, "a.yaml", "--engine", "kubeconform")
    assert done.code == 3
    assert "TOOL002" in done.err


def test_progress_is_shown_on_a_terminal_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar appears on stderr when it takes more than a second, and only on a terminal."""
    write(tmp_path, {f"{number}.yaml": CONFIG_MAP for number in range(3)})
    module = sys.modules["slicewright.cli.validate"]
    assert "checking" not in run(tmp_path, ".").err
    monkeypatch.setattr(module, "_PATIENCE", -1)
    assert "checking" not in run(tmp_path, ".").err
    monkeypatch.setattr(module, "_is_terminal", lambda: True)
    assert "checking" in run(tmp_path, ".").err


def test_many_files_are_spread_over_processes(tmp_path: Path) -> None:
    """With two processes the report is that of one, in the same order."""
    write(
        tmp_path,
        {f"{number}.yaml": CONFIG_MAP.replace("name: a", f"name: a{number}") for number in range(120)},
    )
    write(tmp_path, {"7.yaml": BAD_CONFIG_MAP, "90.yaml": "a: ["})
    code = (
        "import os, sys; from slicewright.workspace import crowd; "
        "count = int(sys.argv.pop(1)); crowd._processes = lambda: count; "
        "from slicewright.cli.validate import validate; validate()"
    )
    reports = [
        subprocess.run(
            [sys.executable, "-c", code, count, ".", "-o", "json"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for count in ("1", "2")
    ]
    assert [problem["id"] for problem in json.loads(reports[0])["problems"]] == ["SCHEMA003", "YAML001"]
    assert reports[0] == reports[1]


def test_work_is_spread_where_processes_can_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Linux there are as many processes as cores; elsewhere one, for forking is not safe there."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert crowd._processes() == 1
    monkeypatch.setattr(sys, "platform", "linux")
    assert crowd._processes() >= 1
    assert list(crowd.spread(lambda number: number * 2, 3)) == [0, 2, 4]


def test_kustomize_has_no_network() -> None:
    """Proxies lead nowhere, git is not found, and nothing of the caller's settings opens a way."""
    environment = kustomize._offline()
    assert environment["PATH"] == ""
    assert environment["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert "NO_PROXY" not in environment
