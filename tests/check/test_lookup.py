"""`slicewright rule` and `slicewright schema`."""

import json
from pathlib import Path

import pytest
import yaml
from tests.check.kit import CONFIG_MAP, run, write
from tests.schema.kit import is_same, load
from tests.schema.test_crd import crd

from slicewright.check.io.meaning import all_rules
from slicewright.cli.rule import rule
from slicewright.cli.schema import schema

MANIFESTS = Path(__file__).resolve().parents[2] / "bases/controllers"


def test_rule_says_what_it_means(tmp_path: Path) -> None:
    """Id, severity, title, why and hint; an id may be written in lower case."""
    text = run(tmp_path, "map001", command=rule).out
    assert text.startswith("MAP001 (error): Two elements of a list have the same key\n\nwhy: ")
    assert "\nhint: remove one of the two" in text
    assert run(tmp_path, "MAP001", "-o", "json", command=rule).json["severity"] == "error"


def test_rules_are_listed(tmp_path: Path) -> None:
    """Every finding that can be looked up, each id once."""
    lines = run(tmp_path, command=rule).out.splitlines()
    ids = [one.id for one in all_rules()]
    assert ids == [line.partition(" ")[0] for line in lines[1:]]
    assert sorted(set(ids)) == ids
    assert ids == [one["id"] for one in run(tmp_path, "-o", "json", command=rule).json]


@pytest.mark.parametrize(
    ("ident", "hint"), [("MAP01", "did you mean 'MAP001'?"), ("x", "there is no rule 'x'")]
)
def test_unknown_rule_is_a_usage_error(tmp_path: Path, ident: str, hint: str) -> None:
    """The nearest id is named."""
    done = run(tmp_path, ident, command=rule)
    assert done.code == 2
    assert hint in done.err


@pytest.mark.slow
def test_crd_is_converted_to_stdout(tmp_path: Path) -> None:
    """A manifest with one CRD among other objects is printed as a schema that needs no other file.

    It means what the vendored one means.
    """
    done = run(tmp_path, str(MANIFESTS / "pathways-job-v0.1.4/manifests.yaml"), command=schema)
    assert is_same(done.json, load("pathways-job.pathways.domain/pathwaysjob_v1.json"))
    assert "definitions.json" not in done.out
    assert done.code == 0


def test_crds_are_written_where_validate_looks(tmp_path: Path) -> None:
    """Several kinds go into a folder, and validate reads it."""
    write(
        tmp_path,
        {"crd.yaml": yaml.safe_dump(crd({"type": "object", "properties": {"a": {"type": "string"}}}))},
    )
    write(
        tmp_path,
        {"thing.yaml": "{apiVersion: example.test/v1, kind: Thing, metadata: {name: a}, spec: {b: 1}}\n"},
    )
    done = run(tmp_path, "crd.yaml", "--output-dir", "mine", command=schema)
    assert (done.out, done.code) == ("mine/example.test/thing_v1.json\n", 0)
    assert run(tmp_path, "thing.yaml", "--schema", "mine", "-o", "json", "--schemas-only").ids == [
        "SCHEMA004"
    ]
    assert run(tmp_path, "-", "--output-dir", "mine", command=schema, stdin=json.dumps(crd())).code == 0


def test_what_cannot_be_carried_over_is_said(tmp_path: Path) -> None:
    """Patterns that only Go knows and CEL rules that are not evaluated are named on stderr."""
    node = {"type": "string", "pattern": "\\z", "x-kubernetes-validations": [{"rule": "self.isURL()"}]}
    write(tmp_path, {"crd.yaml": yaml.safe_dump(crd(node))})
    done = run(tmp_path, "crd.yaml", command=schema)
    assert done.code == 0
    assert done.err == (
        "example.test/v1 Thing: pattern \\z is left out: only Go can evaluate it\n"
        "example.test/v1 Thing: this CEL rule is not evaluated offline: self.isURL()\n"
    )


def test_what_is_no_crd_is_a_problem(tmp_path: Path) -> None:
    """A file without a CRD, a CRD without its parts, a file that is not there."""
    write(tmp_path, {"a.yaml": CONFIG_MAP, "b.yaml": "kind: CustomResourceDefinition\n"})
    done = run(tmp_path, "a.yaml", "b.yaml", "nowhere.yaml", command=schema)
    assert done.code == 1
    assert ["a.yaml: SCHEMA011", "b.yaml: SCHEMA011", "nowhere.yaml: FILE001"] == [
        " ".join(line.split()[:2]) for line in done.err.splitlines() if ".yaml: " in line
    ]


@pytest.mark.slow
def test_several_kinds_need_a_folder(tmp_path: Path) -> None:
    """Many schemas are not printed one after the other; a folder that cannot be written is named."""
    done = run(tmp_path, str(MANIFESTS / "kueue-v0.19.2/manifests.yaml"), command=schema)
    assert done.code == 2
    assert "these are 22 kinds and versions" in done.err
    write(tmp_path, {"file": ""})
    done = run(
        tmp_path, str(MANIFESTS / "kueue-v0.19.2/manifests.yaml"), "--output-dir", "file/x", command=schema
    )
    assert done.code == 1
    assert "cannot be written" in done.err


def test_cel_rules_that_are_not_evaluated_are_a_warning(tmp_path: Path) -> None:
    """Once a kind, at its first object, with the rules by name; a rule about changes needs none."""
    rules = [{"rule": "isURL(self.a)"}, {"rule": "self.a == oldSelf.a"}, {"rule": "ip(self.b)"}]
    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    spec = {"type": "object", "properties": numbers, "x-kubernetes-validations": rules}
    things = "".join(
        f"---\napiVersion: example.test/v1\nkind: Thing\nmetadata: {{name: {name}}}\nspec: {{a: 2, b: 1}}\n"
        for name in ("one", "two")
    )
    write(tmp_path, {"crd.yaml": json.dumps(crd(spec)), "things.yaml": things, "map.yaml": CONFIG_MAP})
    run(tmp_path, "crd.yaml", "--output-dir", "mine", command=schema)

    done = run(tmp_path, "things.yaml", "map.yaml", "--schema", "mine", "-o", "json", "--schemas-only")

    assert [
        (
            "SCHEMA012",
            "warning",
            "things.yaml",
            3,
            "Thing one",
            "CEL rules of Thing are not evaluated: 'isURL(self.a)'; 'ip(self.b)'",
        )
    ] == [
        tuple(one[key] for key in ("id", "severity", "file", "line", "object", "message"))
        for one in done.json["problems"]
    ]
    assert 1 == run(tmp_path, "things.yaml", "--schema", "mine", "--strict").code
    assert 0 == run(tmp_path, "things.yaml", "--schema", "mine", "--skip-kind", "Thing", "--strict").code
