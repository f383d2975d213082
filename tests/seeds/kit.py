"""What the tutorials show, what this repository has, and which differences are declared."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import slicewright
from slicewright.catalogue.resolve import TpuRequest, resolve
from slicewright.catalogue.shape import Shape

from .tree import ABSENT, Difference, Tree, at, differences, tree

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def read(path: Path) -> Any:
    """Return the data of a YAML file."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


@cache
def expected() -> tuple[dict[str, Any], ...]:
    """Return what each tutorial shows."""
    return tuple(read(path) for path in sorted((HERE / "expected").glob("*.yaml")))


@cache
def composed(*, fixed: bool = True) -> dict[str, Tree]:
    """Return the objects of the live overlays, or of the frozen ones, by `Kind cluster/namespace/name`."""
    checkout = slicewright.load(ROOT)
    made: dict[str, Tree] = {}
    for plan in slicewright.plan(checkout).plans:
        if fixed != bool(plan.run):
            overlay = slicewright.compose(checkout, plan.folder)
            assert (overlay.problems, overlay.outside) == ((), ())
            for item in overlay.objects:
                name = f"{plan.cluster}/{item['metadata']['namespace']}/{item['metadata']['name']}"
                made[f"{item['kind']} {name}"] = tree(item)
    return made


@cache
def platforms() -> dict[str, Tree]:
    """Return the objects of the platforms, by `Kind cluster/namespace/name`; most have no namespace."""
    checkout = slicewright.load(ROOT)
    made: dict[str, Tree] = {}
    for folder in sorted((ROOT / "overlays").glob("*/_platform")):
        overlay = slicewright.compose(checkout, folder.relative_to(ROOT).as_posix())
        assert (overlay.problems, overlay.outside) == ((), ())
        for item in overlay.objects:
            metadata = item["metadata"]
            place = [folder.parent.name, metadata.get("namespace", ""), metadata["name"]]
            made[f"{item['kind']} {'/'.join(part for part in place if part)}"] = tree(item)
    return made


@cache
def objects() -> dict[str, Tree]:
    """Return all that tutorials speak of: composed objects, platforms, TPUClusters and TPU types."""
    repository = slicewright.load(ROOT).repository
    clusters = {
        f"TPUCluster {name}": tree(site.cluster.source.data) for name, site in repository.sites.items()
    }
    types: dict[str, Tree] = {}
    for spoken in expected():
        named = [row["name"] for row in spoken.get("types", [])]
        named += [
            name.removeprefix("TPU type ")
            for statement in spoken.get("statements", [])
            for name in _names(statement["objects"])
            if name.startswith("TPU type ")
        ]
        for name in named:
            shape = resolve(repository.package.catalogue, TpuRequest(name))
            assert isinstance(shape, Shape)
            types[f"TPU type {name}"] = tree(shape.record())
    return {**composed(), **platforms(), **clusters, **types}


def _names(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def matching(patterns: str | list[str]) -> list[str]:
    """Return the names of the objects that some patterns mean; each must mean at least one."""
    matches: dict[str, None] = {}
    for pattern in _names(patterns):
        names = [name for name in objects() if fnmatchcase(name, pattern)]
        assert names, f"nothing is called '{pattern}'"
        matches.update(dict.fromkeys(names))
    return list(matches)


def found() -> Iterator[Difference]:
    """Yield every place at which a tutorial and this repository are not the same."""
    for spoken in expected():
        for manifest in spoken.get("manifests", []):
            for name in matching(manifest["object"]):
                yield from differences(name, tree(manifest["shows"]), objects()[name])
        for fragment in spoken.get("fragments", []):
            path = fragment["at"]
            for name in matching(fragment["objects"]):
                shown = tree(fragment["shows"], "." + path)
                yield from differences(name, shown, at(objects()[name], path), "." + path)
        for statement in spoken.get("statements", []):
            yield from _stated(statement["objects"], statement["path"], statement["value"])
        for row in spoken.get("types", []):
            for field in ("accelerator", "topology", "machineType", "hosts", "chipsPerHost"):
                yield from _stated(f"TPU type {row['name']}", field, row[field])


def _stated(patterns: str | list[str], path: str, value: Any) -> Iterator[Difference]:
    for name in matching(patterns):
        stated, ours = tree(value, path), at(objects()[name], path)
        if stated != ours:
            yield Difference(name, path, stated, ours)


@dataclass(frozen=True, slots=True)
class Declared:
    """A row of differences.yaml: a difference that is meant, at some places in some objects."""

    tutorial: str
    """The tutorial's title."""
    objects: tuple[str, ...]
    paths: tuple[str, ...]
    row: dict[str, Any]

    def each(self) -> Iterator[Difference]:
        """Yield the difference for every object and path that the row names."""
        for name in matching(list(self.objects)):
            for path in self.paths:
                yield Difference(
                    name, path, self._side("tutorial", name, path), self._side("ours", name, path)
                )

    def _side(self, side: str, name: str, path: str) -> Tree:
        if side not in self.row:
            return ABSENT
        return _filled(tree(self.row[side], path), name.rpartition("/")[2])


def _filled(value: Tree, name: str) -> Tree:
    """Put the name of the object where a row says NAME."""
    if isinstance(value, dict):
        return {key: _filled(item, name) for key, item in value.items()}
    return name if value == "NAME" else value


@cache
def declared() -> tuple[Declared, ...]:
    """Return the rows of differences.yaml."""
    return tuple(
        Declared(title, tuple(_names(row["objects"])), tuple(_names(row["path"])), row)
        for title, rows in read(HERE / "differences.yaml").items()
        for row in rows
    )
