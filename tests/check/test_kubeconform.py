"""The second engine: the same report, and no green check where it breaks."""

import json
from pathlib import Path

import pytest
from tests.check.kit import BAD_CONFIG_MAP, CONFIG_MAP, WARNING, Alone, engine, jobset, run, write

from slicewright.check.examine import Judges, examine
from slicewright.check.io import discovery
from slicewright.check.io.examine_units import examine_units
from slicewright.check.io.kubeconform import BrokenToolError, Kubeconform
from slicewright.check.run import RuleSet


@pytest.mark.tools
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
    found = discovery.Discovery(base=tmp_path).find([str(tmp_path)])

    reading = examine_units(found.units, engine())
    judged = examine(reading, Judges(engine(), RuleSet(), tool), Alone(), whole=())
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
