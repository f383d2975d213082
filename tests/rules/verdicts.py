"""What we say of an object of the corpus: accepted or refused, and by which stage."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.rules.kit import run

from slicewright.core.check.engine import Engine
from slicewright.core.check.model import ObjectSet, Resource
from slicewright.core.document.read import read_documents
from slicewright.workspace.kinds import kind_schemas
from slicewright.workspace.package import catalogue

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(CORPUS.glob("*.yaml"))


@cache
def _engine() -> Engine:
    return Engine(kind_schemas())


def expected(path: Path) -> str:
    """Return the verdict of the API server, the first line of a file of the corpus."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def errors(path: Path) -> list[str]:
    """Return the ids and messages of the errors that we find in an object."""
    documents, problems = read_documents(path.read_text(encoding="utf-8"), path.name)
    assert problems == ()
    (item,) = (Resource(document.data, path.name) for document in documents)
    return refusals(item)


def refusals(item: Resource) -> list[str]:
    """Return the ids and messages of the errors in one object by itself."""
    engine = _engine()
    found = [
        *engine.schema_problems(item),
        *engine.key_problems(item),
        *run(ObjectSet([item], catalogue())),
    ]
    return sorted({f"{problem.id} {problem.message}" for problem in found if problem.severity == "error"})
