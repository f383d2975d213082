"""The forms of a report: what machines read parses, and says what the text says."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, run, write
from tests.conftest import Done

from slicewright.check.examine import Report
from slicewright.cli.report import FORMS, writer
from slicewright.kubernetes.problem import Problem, by_sweep


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with a good object, a bad one, a warning and an overlay."""
    deprecated = "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: q}}\n"
    write(
        tmp_path,
        {
            "a.yaml": CONFIG_MAP + "---\n" + BAD_CONFIG_MAP.replace("name: a", "name: 'b'"),
            "b.yaml": deprecated,
            "c.yaml": "kind: A\napiVersion: [",
            "over/kustomization.yaml": "resources: [cm.yaml]\n",
            "over/cm.yaml": BAD_CONFIG_MAP,
        },
    )
    return tmp_path


def report(folder: Path, form: str) -> Done:
    """Return a report in a form."""
    done = run(folder, ".", "--schemas-only", "-o", form)
    assert done.code == 1
    return done


def test_json_holds_the_records_and_the_numbers(tree: Path) -> None:
    """Every problem is the record of all commands; the summary counts."""
    found = report(tree, "json").json
    assert found["problems"][0] == {
        "id": "SCHEMA003",
        "severity": "error",
        "file": "a.yaml",
        "line": 3,
        "column": 68,
        "object": "ConfigMap b",
        "path": "data.a",
        "message": "'a' must be a string, not an integer (1)",
        "hint": "write it in quotes",
        "fixes": [
            {
                "title": "Put it in quotes",
                "safe": True,
                "document": 1,
                "edits": [{"op": "replace", "path": "/data/a", "value": "1"}],
            }
        ],
    }
    assert (found["summary"]["errors"], found["summary"]["warnings"], found["summary"]["objects"]) == (
        3,
        1,
        4,
    )


def test_junit_has_a_case_for_each_object(tree: Path) -> None:
    """A suite a file, a case an object; errors are failures, warnings are output."""
    root = ET.fromstring(report(tree, "junit").out)  # noqa: S314 - our own
    cases = {
        (suite.get("name"), case.get("name")): [child.tag for child in case]
        for suite in root
        for case in suite
    }
    assert {
        ("a.yaml", "ConfigMap a"): [],
        ("a.yaml", "ConfigMap b"): ["failure"],
        ("b.yaml", "LocalQueue q"): ["system-out"],
        ("c.yaml", "c.yaml"): ["failure"],
        ("over", "ConfigMap a"): ["failure"],
    } == cases
    assert ("5", "3") == (root.get("tests"), root.get("failures"))


def test_sarif_has_rules_and_places(tree: Path) -> None:
    """Each result names a rule of the run, a file that exists, and a line where there is one."""
    log = json.loads(report(tree, "sarif").out)
    assert log["version"] == "2.1.0"
    (run_of_it,) = log["runs"]
    rules = run_of_it["tool"]["driver"]["rules"]
    places = []
    for result in run_of_it["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        physical = result["locations"][0]["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert (tree / uri).is_file()
        places.append((result["ruleId"], result["level"], uri, physical.get("region", {}).get("startLine")))
    assert [
        ("SCHEMA003", "error", "a.yaml", 3),
        ("SCHEMA009", "warning", "b.yaml", 1),
        ("YAML001", "error", "c.yaml", 3),
        ("SCHEMA003", "error", "over/kustomization.yaml", None),
    ] == places
    assert "https://slicewright.dev/docs/reference/rules/SCHEMA003/" == rules[0]["helpUri"]


def test_github_annotates_lines(tree: Path) -> None:
    """A workflow command a problem; text is escaped as the runner asks for."""
    lines = report(tree, "github").out.splitlines()
    assert lines[0] == (
        "::error file=a.yaml,line=3,col=68,title=SCHEMA003 ConfigMap b::"
        "'a' must be a string, not an integer (1)%0Ahint: write it in quotes"
    )
    assert lines[1].startswith("::warning file=b.yaml,line=1,col=14,title=SCHEMA009 LocalQueue q::")
    assert lines[3].startswith("::error file=over/kustomization.yaml,title=SCHEMA003 ConfigMap a::data.a: ")
    assert lines[-1].endswith("3 errors, 1 warning")


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_takes_any_text(form: str) -> None:
    """Characters that a form cannot hold do not break it, nor does a problem without a place."""
    odd = "50% of <a> & \"b\": 'c', d\r\n\x00\x1b\ud800"
    problems = (
        Problem("A001", odd, odd, file="a,b:c%.yaml", line=1, column=0, object=odd, path=(odd, 1)),
        Problem("A002", odd),
    )
    text = writer(form)(Report(problems, (), 0, {}, ()))
    text.encode("utf-8", "surrogatepass")
    if form == "junit":
        assert len(ET.fromstring(text)) == 2  # noqa: S314 - our own
    elif form in ("json", "sarif"):
        json.loads(text)
    elif form == "github":
        assert text.count("\n") == 3
        assert "file=a%2Cb%3Ac%25.yaml" in text


def test_note_is_below_a_warning_in_every_form() -> None:
    """A note is a notice of GitHub, a note of SARIF, output of JUnit, and counted where there is one."""
    note = Problem("A001", "no", severity="note", file="a.yaml", line=1)
    written = {form: writer(form)(Report((note,), (), 1, {}, ())) for form in FORMS}

    summary = "0 objects in 1 file or folder: 0 errors, 0 warnings, 1 note"
    assert f"a.yaml:1: note: A001 no\n{summary}\n" == written["text"]
    assert written["github"].startswith("::notice file=a.yaml,line=1,title=A001::no\n")
    assert "note" == json.loads(written["sarif"])["runs"][0]["results"][0]["level"]
    assert 1 == json.loads(written["json"])["summary"]["notes"]
    root = ET.fromstring(written["junit"])  # noqa: S314 - our own
    assert ("0", ["system-out"]) == (root.get("failures"), [child.tag for child in root[0][0]])


@pytest.mark.parametrize(
    ("ident", "where"),
    [
        ("FILE030", "object of this file"),
        ("SCHEMA009", "object of this file"),
        ("GIT111", "build of this object"),
    ],
)
def test_text_says_a_repeat_once(ident: str, where: str) -> None:
    """Text counts what many objects of a file, or many builds of an object, have alike; JSON lists each."""
    one = Problem(ident, "m", severity="note", file="a.yaml", line=1, column=1, object="Pod a")
    again = replace(one, line=9, object="Pod b") if ident != "GIT111" else replace(one, file="b.yaml")
    other = replace(one, file="c.yaml", object="Pod c")
    report = Report((one, again, other), (), 0, {}, ())

    lines = writer("text")(report).splitlines()

    assert [f"a.yaml:1:1: note: {ident} m; also 1 more {where}", f"c.yaml:1:1: note: {ident} m"] == lines[:2]
    assert "3 notes" in lines[2]
    assert 3 == len(json.loads(writer("json")(report))["problems"])


def test_a_problem_of_many_entries_of_a_sweep_is_one_problem_in_every_form() -> None:
    """Words may name the entry; another place, cluster or message is another problem."""
    entries = [
        Problem(
            "A001",
            f"run n/lr-{at}-12ab waits for lr-{at}",
            file="w.yaml",
            line=4,
            object=f"JobSet n/lr-{at}-12ab",
            folder=f"overlays/{cluster}/n/lr-{at}",
            sweep="n/lr",
        )
        for cluster in ("c1", "c2")
        for at in range(256)
    ]
    others = (
        replace(entries[0], line=5),
        replace(entries[1], message="other"),
        replace(entries[2], sweep="", line=6),
        replace(entries[3], sweep="", line=6),
    )
    report = Report(by_sweep((*entries, *others)), (), 1, {}, ())
    written = {form: writer(form)(report) for form in FORMS}

    message = "run n/lr-0-12ab waits for lr-0 (and 255 more entries of the sweep n/lr)"
    lines = written["text"].splitlines()
    assert lines[0] == f"w.yaml:4: A001  in cluster c1, JobSet n/lr-0-12ab: {message}"
    assert lines[-1] == "0 objects in 1 file or folder: 6 errors, 0 warnings"
    assert written["github"].count("::error") == 6
    assert f"in cluster c1: {message}" in written["github"]
    found = json.loads(written["json"])["problems"]
    assert [len(problem.get("objects", ())) for problem in found] == [256, 256, 0, 0, 0, 0]
    assert found[0]["objects"][255] == "JobSet n/lr-255-12ab"
    first = json.loads(written["sarif"])["runs"][0]["results"][0]
    assert len(first["locations"][0]["logicalLocations"]) == 256
    assert ET.fromstring(written["junit"]).get("failures") == "512"  # noqa: S314 - our own
    assert by_sweep(report.problems) == report.problems
