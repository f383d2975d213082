"""A mistake is reported once, in the words of the rule, and never less than once."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import run, write
from tests.check.rules.kit import ALL
from tests.check.rules.verdicts import FILES, ROWS, changed

from slicewright.check.rules.every import RULES
from slicewright.check.run import RuleSet
from slicewright.kubernetes.problem import Path as Way
from slicewright.kubernetes.problem import Problem

SAID_BY_JS117 = "StartupPolicy and DependsOn APIs are mutually exclusive"
ROOT = Path(__file__).resolve().parents[2]
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [google.com/tpu]
    flavors:
    - name: v5e
      resources: [{name: google.com/tpu, nominalQuota: 8, borrowingLimit: 4}]
"""


def error(ident: str, *path: str | int, message: str = "", object_: str = "JobSet a") -> Problem:
    """Return an error about one object."""
    way: Way = path
    return Problem(ident, message, file="a.yaml", object=object_, path=way)


def test_rule_speaks_for_a_cel_rule(tmp_path: Path) -> None:
    """What a CEL rule refuses is reported by the rule that names the field, and no second time."""
    write(tmp_path, {"a.yaml": QUEUE})

    assert run(tmp_path, "a.yaml", "-o", "json").ids == ["KQ103"]
    assert run(tmp_path, "a.yaml", "-o", "json", "--schemas-only").ids == ["CEL001"]


def test_schema_speaks_of_a_binding_without_a_role(tmp_path: Path) -> None:
    """A field that is missing with all that is in it is one mistake."""
    head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
    write(tmp_path, {"a.yaml": f"{head}subjects: [{{kind: ServiceAccount, name: a, namespace: b}}]\n"})

    assert ["SCHEMA005"] == run(tmp_path, "a.yaml", "-o", "json").ids


def test_silenced_rule_does_not_silence_the_schema(tmp_path: Path) -> None:
    """Where the rule is silenced, the API server's own reason is reported: it still refuses the object."""
    silenced = 'metadata: {name: a, annotations: {slicewright.dev/ignore-KQ103: "the cohort comes later"}}'
    write(tmp_path, {"a.yaml": QUEUE.replace("metadata: {name: a}", silenced)})

    assert run(tmp_path, "a.yaml", "-o", "json").ids == ["CEL001"]


@pytest.mark.parametrize(
    ("findings", "left"),
    [
        ((error("SCHEMA006", "spec", "a"), error("KQ152", "spec", "a")), ["KQ152"]),
        ((error("SCHEMA006", "spec", "a"), error("KQ152", "spec", "b")), ["SCHEMA006", "KQ152"]),
        (
            (error("SCHEMA006", "spec", "a"), error("KQ152", "spec", "a", object_="JobSet b")),
            ["SCHEMA006", "KQ152"],
        ),
        ((error("SCHEMA005", "spec"), error("TPU103", "spec")), ["SCHEMA005", "TPU103"]),
        ((error("SCHEMA003", "spec"), error("TPU103", "spec")), ["SCHEMA003", "TPU103"]),
        ((error("SCHEMA006", "spec"), error("SCHEMA007", "spec")), ["SCHEMA006", "SCHEMA007"]),
        (
            (error("CEL001", "spec", message="of another CRD"), error("JS117", "spec", "x")),
            ["CEL001", "JS117"],
        ),
        ((error("CEL001", "spec", message=SAID_BY_JS117), error("JS118", "spec", "x")), ["CEL001", "JS118"]),
        ((error("CEL001", "spec", message=SAID_BY_JS117), error("JS117", "spec", "x")), ["JS117"]),
        (
            (error("CEL001", "spec", "y", message=SAID_BY_JS117), error("JS117", "spec", "x")),
            ["CEL001", "JS117"],
        ),
    ],
)
def test_only_the_same_mistake_is_left_to_the_rule(findings: tuple[Problem, ...], left: list[str]) -> None:
    """Same object and value, or a CEL rule whose words a rule has; anything else is reported beside it."""
    assert left == [problem.id for problem in RuleSet(RULES).without_repeats(findings)]


def test_warning_does_not_take_the_place_of_an_error() -> None:
    """An object that the API server refuses keeps an error."""
    trap = Problem("KQ132", "", "", "warning", "a.yaml", object="JobSet a", path=("spec", "a"))

    assert ["SCHEMA004", "KQ132"] == [
        problem.id for problem in RuleSet(RULES).without_repeats((error("SCHEMA004", "spec", "a"), trap))
    ]


@pytest.mark.slow
def test_rules_name_messages_that_exist() -> None:
    """Each message is that of a vendored CEL rule, and each rule that names one reports errors."""
    schemas = [json.loads(path.read_bytes()) for path in (ROOT / "schemas" / "kinds").rglob("*_*.json")]
    messages = {
        entry.get("message") for schema in schemas for entry in schema["x-slicewright"].get("cel", [])
    }
    says = [rule for rule in RULES if rule.says]

    assert set() == {message for rule in says for message in rule.says} - messages
    assert {"error"} == {rule.severity for rule in says}


def reports(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the errors of every fixture and every object of the corpus, each judged by itself."""
    found: dict[str, list[dict[str, Any]]] = {}
    texts = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
    texts |= {str(row["ops"]): yaml.dump(changed(row)) for rows in ROWS.values() for row in rows}
    texts |= {str(fixture): fixture.text for fixture in ALL}
    for name, text in texts.items():
        (folder / "a.yaml").write_text(text, encoding="utf-8")
        problems = run(folder, "a.yaml", "-o", "json").json["problems"]
        found[name] = [one for one in problems if one["severity"] == "error"]
    return found


@pytest.mark.workflow
@pytest.mark.untraced  # a thousand checks: tracing makes them twice as slow
def test_no_value_is_reported_by_a_schema_and_by_a_rule(tmp_path: Path) -> None:
    """In all fixtures and the whole corpus no error of a schema or of CEL stands where a rule's stands."""
    doubled = [
        (name, problem["id"], problem["path"])
        for name, problems in reports(tmp_path).items()
        for problem in problems
        for other in problems
        if problem["id"] in ("SCHEMA004", "SCHEMA006", "SCHEMA007", "CEL001")
        and not other["id"].startswith(("SCHEMA", "CEL"))
        and problem["object"] == other["object"]
        and (problem["path"] == other["path"] or other["path"].startswith(f"{problem['path']}."))
    ]

    assert [] == doubled


def test_value_that_is_refused_is_reported_once(tmp_path: Path) -> None:
    """Where the API server refuses what kubectl reads, other readers do not matter."""
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: %s}}\n"
    write(tmp_path, {"a.yaml": text % ("9" * 23), "b.yaml": text % "yes"})

    assert run(tmp_path, ".", "-o", "json").ids == ["SCHEMA003", "SCHEMA003"]
