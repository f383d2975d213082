"""From a fixture's text to its objects: what the tests of the rules share."""

from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from slicewright.check.rules.every import RULES
from slicewright.check.run import RuleSet
from slicewright.document import json_patch as patch
from slicewright.document.read import read_documents
from slicewright.intent.source import Source, SourceFile
from slicewright.intent.tpucluster import decode_cluster
from slicewright.kubernetes.problem import Problem
from slicewright.objects import ObjectSet, Resource, Rule
from slicewright.rendering.io.package_data import catalogue, hint_of
from slicewright.rendering.plan.resolved_cluster import ResolvedCluster, resolve_cluster

HERE = Path(__file__).parent
FIXTURES = HERE / "fixtures"
OVERLAY = "overlays/west/research/train"


class Fixture(NamedTuple):
    """Objects that break or keep one rule: a file, or an entry of `cases.yaml`, which changes a file."""

    rule: str
    name: str

    def __str__(self) -> str:
        return f"{self.rule}-{self.name}"

    @property
    def text(self) -> str:
        """The objects as YAML; a case is written without comments."""
        if self.name not in _cases(self.rule):
            return (FIXTURES / self.rule / f"{self.name}.yaml").read_text(encoding="utf-8")
        case = _cases(self.rule)[self.name]
        documents, _ = read_documents(Fixture(self.rule, case.get("of", "bad")).text, "fixture.yaml")
        data = patch.apply(case["ops"], [document.data for document in documents])
        return yaml.dump_all(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)

    @property
    def finds(self) -> list[str]:
        """The path of each finding: the leading comment lines of a file, `finds` of a case."""
        if self.name in _cases(self.rule):
            return list(_cases(self.rule)[self.name].get("finds", ()))
        return [line[2:] for line in takewhile(lambda line: line.startswith("# "), self.text.splitlines())]


@cache
def _cases(rule: str) -> dict[str, Any]:
    path = FIXTURES / rule / "cases.yaml"
    if not path.exists():
        return {}
    return dict(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))


def _fixtures(rule: str) -> list[Fixture]:
    names = {path.stem for path in (FIXTURES / rule).iterdir()} - {"cases"} | _cases(rule).keys()
    return [Fixture(rule, name) for name in sorted(names)]


ALL = [fixture for folder in sorted(FIXTURES.iterdir()) for fixture in _fixtures(folder.name)]
BAD = [fixture for fixture in ALL if fixture.name.startswith("bad")]
GOOD = [fixture for fixture in ALL if fixture.name.startswith("good")]


def site_of(data: dict[str, Any], text: str = "", index: int = 0) -> ResolvedCluster:
    """Return the site of a TPUCluster document."""
    documents, _ = read_documents(text, "cluster.yaml") if text else ((), ())
    source = Source(SourceFile("cluster.yaml", text), documents[index]) if documents else None
    cluster = decode_cluster(source if source is not None else _bare(data))
    return resolve_cluster(cluster, catalogue())[0]


@cache
def _empty() -> Source:
    documents, _ = read_documents("a: b", "cluster.yaml")
    return Source(SourceFile("cluster.yaml", "a: b"), documents[0])


def _bare(data: dict[str, Any]) -> Source:
    source = _empty()
    document = type(source.document)(data, 0, 1)
    return Source(source.file, document)


def objects_of(text: str) -> ObjectSet:
    """Return the objects of a text; a TPUCluster is the site, a Kustomization that of the other objects."""
    documents, problems = read_documents(text, "fixture.yaml")
    assert problems == ()
    data = [document.data for document in documents]
    clusters = [entry for entry in data if entry.get("kind") == "TPUCluster"]
    is_overlay = any(entry.get("kind") in ("Kustomization", "Component") for entry in data)
    items = []
    for document in documents:
        source = Source(SourceFile("fixture.yaml", text), document)
        if document.data.get("kind") in ("Kustomization", "Component"):
            items.append(Resource(document.data, f"{OVERLAY}/kustomization.yaml", source))
        else:
            items.append(Resource(document.data, OVERLAY if is_overlay else "fixture.yaml", source))
    site = site_of(clusters[0]) if clusters else None
    return ObjectSet(items, catalogue(), site, is_cluster=site is not None)


def object_set(*objects: dict[str, Any], site: dict[str, Any] | None = None) -> ObjectSet:
    """Return an ObjectSet of plain objects."""
    items = [Resource(data, "objects.yaml") for data in objects]
    return ObjectSet(items, catalogue(), site_of(site) if site else None)


def run(object_set: ObjectSet, rules: Iterable[Rule] = RULES) -> tuple[Problem, ...]:
    """Return what some rules (or all) find in some objects."""
    return RuleSet(rules, hint_of).problems(object_set)


def findings_of(ident: str, text: str) -> tuple[Problem, ...]:
    """Return what one rule finds in a text."""
    return run(objects_of(text), [rule for rule in RULES if rule.id == ident])


def findings(ident: str, *objects: dict[str, Any], site: dict[str, Any] | None = None) -> list[str]:
    """Return the messages of one rule about plain objects."""
    problems = run(object_set(*objects, site=site), [rule for rule in RULES if rule.id == ident])
    return [problem.message for problem in problems]
