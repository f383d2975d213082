"""What we say of an object of the corpus: accepted or refused, and by which stage."""

import copy
from pathlib import Path
from typing import Any

import yaml
from tests.check.kit import engine
from tests.check.rules.kit import run
from tests.check.test_engines_agree import valid

from slicewright.document import json_patch as patch
from slicewright.document.read import read_documents
from slicewright.objects import ObjectSet, Resource
from slicewright.rendering.io.package_data import catalogue

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(CORPUS.glob("*.yaml"))


def _rows(name: str) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in yaml.load((CORPUS.parent / name).read_text(encoding="utf-8"), yaml.CSafeLoader):
        rows.setdefault(row["of"], []).append(row)
    return rows


ROWS = _rows("corpus.yaml")
"""Objects with one value changed and their verdicts, by the object that is changed."""
CONTROLLED = _rows("controllers.yaml")
"""Objects of controllers/ with a value changed and the verdicts of their controllers, by file."""


def expected(path: Path) -> str:
    """Return the verdict of the API server, the first line of a file of the corpus."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def changed(row: dict[str, Any]) -> dict[str, Any]:
    """Return the object of a row."""
    path = CORPUS / f"{row['of']}.yaml"
    if path.exists():
        base = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    else:
        base = next(data for data in valid() if row["of"] == f"{data['kind']}/{_version(data)}")
    item: dict[str, Any] = patch.apply(copy.deepcopy(row["ops"]), copy.deepcopy(base))
    return item


def controlled(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a row of `CONTROLLED`, in the order in which they are created."""
    text = (CORPUS.parent / "controllers" / f"{row['of']}.yaml").read_text(encoding="utf-8")
    made: list[dict[str, Any]] = patch.apply(
        copy.deepcopy(row["ops"]), list(yaml.load_all(text, yaml.CSafeLoader))
    )
    return made


def _version(data: dict[str, Any]) -> str:
    return str(data["apiVersion"]).rpartition("/")[2]


def errors(path: Path) -> list[str]:
    """Return the ids and messages of the errors that we find in an object."""
    documents, problems = read_documents(path.read_text(encoding="utf-8"), path.name)
    assert problems == ()
    (item,) = (Resource(document.data, path.name) for document in documents)
    return refusals(item)


def refusals(*items: Resource) -> list[str]:
    """Return the ids and messages of the errors in objects that nothing else is beside."""
    problems = [problem for item in items for problem in engine().schema_problems(item)]
    problems += [problem for item in items for problem in engine().key_problems(item)]
    problems += run(ObjectSet(items, catalogue()))
    return sorted({f"{problem.id} {problem.message}" for problem in problems if problem.severity == "error"})
