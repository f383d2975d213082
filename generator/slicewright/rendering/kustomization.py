"""Reads a kustomization and its files; reports problems, and features outside of the supported subset."""

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from slicewright.document.read import read_documents
from slicewright.kubernetes.kinds import COMPONENT_VERSION, KUSTOMIZATION_VERSION
from slicewright.kubernetes.problem import Problem, did_you_mean
from slicewright.kubernetes.regular_expression import whole

FILE_NAME = "kustomization.yaml"
"""The name that slicewright writes."""
OTHER_NAMES = ("kustomization.yml", "Kustomization")
"""Names that kustomize reads as well; it refuses a folder with two of them."""
_API_VERSIONS = {"Kustomization": KUSTOMIZATION_VERSION, "Component": COMPONENT_VERSION}
_KNOWN = frozenset({"apiVersion", "kind", "metadata", "resources", "components", "patches"})
_TARGET = frozenset({"group", "version", "kind", "name", "namespace"})
_REMOTE = re.compile(
    r"([^=]*=\s*)?(https?:|(ssh|git|file)://|git::|s3::|gcs::|oci://|(www\.)?(github|gitlab|bitbucket)\.[a-z]+[:/]"
    r"|[\w.%+-]+@[^/:\s]+[:/])|.*[?&](ref|version)=",
    re.IGNORECASE,
)
"""What kustomize fetches instead of reading it from the tree; generators write KEY=PATH."""
_PATTERN = re.compile(r"(?!.*(?:\(\?|[*+?][*+?]))[A-Za-z0-9_./|*+?^$()\[\]-]*")
"""Regular expressions that Go and our engine read alike."""

OF_KUSTOMIZE = re.compile(r"(?:[a-z]+\.)?config\.(?:kubernetes|k8s)\.io/")
"""Prefix of annotations that kustomize obeys, or that it writes and removes."""

ReadText = Callable[[str], str | None]
"""Returns the text of a file of the tree by its path from the root, or None if there is none."""


class Stopped(Exception):
    """Composition ended early; carries the problem or the feature that is outside of the subset."""

    def __init__(self, problem: Problem | None = None, outside: str = "") -> None:
        super().__init__(problem.message if problem else outside)
        self.problem = problem
        self.outside = outside


class Patch(Struct, frozen=True):
    """One entry of `patches`: what it is applied to, and the operations, or the fields that it merges."""

    target: dict[str, str]
    operations: list[dict[str, Any]]
    fields: dict[str, Any] = field(default_factory=dict)


class Kustomization(Struct, frozen=True):
    """A kustomization in the supported subset: its patches are read, its other files are only named."""

    file: str
    folder: str
    kind: str
    resources: tuple[str, ...]
    components: tuple[str, ...]
    patches: tuple[Patch, ...]


def second(folder: str, others: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each further kustomization in a folder where slicewright writes one."""
    for name in others:
        message = f"kustomize refuses the folder: {FILE_NAME}, which slicewright writes, also exists"
        yield Problem("TREE002", message, "delete this file", file=f"{folder}/{name}")


def read_kustomization(folder: str, read_text: ReadText) -> Kustomization:
    """Return the kustomization in a folder. Raises Stopped."""
    file, text = _find(folder, read_text)
    documents = _documents(text, file)
    spec = documents[0] if documents else {}
    if len(documents) > 1 or not isinstance(spec, dict):
        raise Stopped(
            Problem("KUS002", "the file must contain exactly one kustomization", "split the file", file=file)
        )
    if all(value is None or key in ("apiVersion", "kind") for key, value in spec.items()):
        hint = "kustomize refuses it; write resources: [] for no resources"
        raise Stopped(Problem("KUS002", "the kustomization is empty", hint, file=file))
    for feature in sorted(set(spec) - _KNOWN):
        raise Stopped(outside=f"{file}: {feature}")
    return Kustomization(
        file,
        folder,
        _kind(spec, file),
        _paths(spec, "resources", file),
        _paths(spec, "components", file),
        tuple(_patch(entry, folder, read_text, file) for entry in _list(spec, "patches", file)),
    )


def read_file(file: str, read_text: ReadText) -> list[Any] | None:
    """Return the documents of a file, None if there is no such file. Raises Stopped."""
    text = read_text(file)
    return None if text is None else _documents(text, file)


def is_remote(entry: str) -> bool:
    """Tell whether an entry of a kustomization is a URL or a git address, not a path or inline text."""
    return "\n" not in entry and bool(_REMOTE.match(entry.lstrip()))


def inside(folder: str, entry: str, file: str) -> str:
    """Return an entry's path from the root of the tree; a path that leaves the tree is refused."""
    if "//" in entry or "?" in entry or is_remote(entry):
        raise Stopped(outside=f"{file}: remote {entry}")
    joined = posixpath.normpath(posixpath.join(folder, entry))
    if posixpath.isabs(joined) or joined == ".." or joined.startswith("../"):
        raise Stopped(Problem("KUS004", f"'{entry}' is outside of the repository", file=file))
    return joined


def below(folder: str, path: str) -> bool:
    """Tell whether a path is in a folder or below it."""
    return folder in {".", path} or path.startswith(f"{folder}/")


def refuse_above(folder: str, path: str, file: str) -> None:
    """Refuse a file that is not below the folder of the kustomization that names it, as kustomize does."""
    if not below(folder, path):
        hint = "name a folder with a kustomization.yaml instead, or move the file"
        raise Stopped(
            Problem("KUS004", f"the file {path} is outside of the folder {folder}", hint, file=file)
        )


def _find(folder: str, read_text: ReadText) -> tuple[str, str]:
    paths = [posixpath.normpath(posixpath.join(folder, name)) for name in (FILE_NAME, *OTHER_NAMES)]
    files = [(file, text) for file in paths if (text := read_text(file)) is not None]
    if not files:
        hint = f"check the path; if it is a folder, it needs a {FILE_NAME}"
        raise Stopped(Problem("KUS001", f"file {paths[0]} is missing", hint, file=paths[0]))
    if len(files) > 1:
        names = " and ".join(posixpath.basename(file) for file, _ in files)
        raise Stopped(Problem("KUS002", f"{names} are in the same folder", "keep one", file=files[0][0]))
    return files[0]


def _documents(text: str, file: str) -> list[Any]:
    documents, problems = read_documents(text, file, undisputed=True)
    for problem in problems:
        if problem.id == "YAML007":
            raise Stopped(outside=f"{file}:{problem.line}: {problem.message}")
        raise Stopped(problem)
    return [document.data for document in documents]


def _kind(spec: dict[str, Any], file: str) -> str:
    kind = spec.get("kind", "Kustomization")
    if not isinstance(kind, str) or kind not in _API_VERSIONS:
        hint = did_you_mean(str(kind), _API_VERSIONS)
        raise Stopped(Problem("KUS002", f"kind '{kind}' is not a kustomization", hint, file=file))
    version = spec.get("apiVersion", _API_VERSIONS[kind])
    if version != _API_VERSIONS[kind]:
        message = f"the apiVersion of a {kind} cannot be '{version}'"
        raise Stopped(Problem("KUS002", message, f"write {_API_VERSIONS[kind]}", file=file))
    return kind


def _list(spec: dict[str, Any], field: str, file: str) -> list[Any]:
    entries = spec.get(field) or []
    if not isinstance(entries, list):
        raise Stopped(Problem("KUS002", f"'{field}' must be a list", "write a list", file=file))
    return entries


def _paths(spec: dict[str, Any], field: str, file: str) -> tuple[str, ...]:
    entries = _list(spec, field, file)
    if not all(isinstance(entry, str) and entry for entry in entries):
        raise Stopped(Problem("KUS002", f"'{field}' must contain paths", "write a list of paths", file=file))
    return tuple(entries)


def _patch(entry: Any, folder: str, read_text: ReadText, file: str) -> Patch:
    if not isinstance(entry, dict):
        hint = "write a list of {target: ..., path: FILE}"
        raise Stopped(Problem("KUS002", "'patches' must contain mappings", hint, file=file))
    if set(entry) - {"target", "patch", "path"}:
        raise Stopped(outside=f"{file}: a patch with options")
    target = entry.get("target")
    if not isinstance(target, dict) or not _is_target(target):
        raise Stopped(outside=f"{file}: a patch without a target, or with a selector")
    text = entry.get("patch")
    if ("path" in entry) == ("patch" in entry) or not isinstance(entry.get("path", text), str):
        message, hint = "a patch needs either 'path' or 'patch', with a string", "write one of the two"
        raise Stopped(Problem("KUS002", message, hint, file=file))
    if text is None:
        path = inside(folder, entry["path"], file)
        refuse_above(folder, path, file)
        text, file = read_text(path), path
    if text is None:
        raise Stopped(Problem("KUS001", f"file {file} is missing", "check the path of the patch", file=file))
    return Patch(target, *_content(text, file))


def _is_target(target: dict[str, Any]) -> bool:
    return not set(target) - _TARGET and all(
        isinstance(pattern, str) and _PATTERN.fullmatch(pattern) and whole(pattern)
        for pattern in target.values()
    )


def _content(text: str, file: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the operations of a patch, and the fields that it merges: one of the two is empty."""
    documents = _documents(text, file)
    content = documents[0] if len(documents) == 1 else None
    if isinstance(content, dict) and is_object(content) and merges_alike(content):
        return [], _without_identity(content)
    if not isinstance(content, list) or not content:
        raise Stopped(outside=f"{file}: a strategic-merge patch")
    if text.lstrip().startswith("[") and not is_json(text):
        message = "kustomize reads a patch that begins with [ as JSON, but this one is not valid JSON"
        raise Stopped(Problem("KUS002", message, "write one operation on each line, after '- '", file=file))
    return content, {}


def merges_alike(value: Any) -> bool:
    """Tell whether a strategic merge needs no schema of a kind: the patch has no list, null or directive."""
    if isinstance(value, dict):
        named = (key for key in map(str, value) if key.startswith("$") or OF_KUSTOMIZE.match(key))
        return not any(named) and all(map(merges_alike, value.values()))
    return value is not None and not isinstance(value, list)


def keeps_quotes(fields: Any, value: Any) -> bool:
    """Tell whether a merge puts a number or a boolean into a text: kustomize keeps its quotes."""
    if isinstance(fields, dict) and isinstance(value, dict):
        return any(key in value and keeps_quotes(fields[key], value[key]) for key in fields)
    return isinstance(value, str) and isinstance(fields, int | float)


def _without_identity(item: dict[str, Any]) -> dict[str, Any]:
    """Return the operations or fields of a patch with a target, which cannot change names or kinds."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in ("name", "namespace")}
    fields = {key: value for key, value in item.items() if key not in ("apiVersion", "kind")}
    return {**fields, "metadata": metadata}


def is_object(data: Any) -> bool:
    """Tell whether some data has the identity of a Kubernetes object, all of it strings."""
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(metadata, dict):
        return False
    optional = (data.get("apiVersion", ""), metadata.get("namespace", ""))
    needed = (data.get("kind"), metadata.get("name"))
    return all(isinstance(text, str) for text in (*optional, *needed)) and all(needed)


def is_json(text: str) -> bool:
    """Tell whether a text is JSON, which kustomize expects of a patch that begins with a bracket."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
