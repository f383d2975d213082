"""Write schemas/kinds anew from schemas/sources: the same bytes on every machine, and no network.

python schemas/rebuild.py                          write the files
python schemas/rebuild.py --check                  write nothing; exit 1 unless they are current
python schemas/rebuild.py --openapi URL TOKEN      fetch the OpenAPI of a running API server first
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from openapi import from_openapi, trimmed
from slicewright.check.cel import is_known
from slicewright.schema.from_crd import DEFINITIONS_FILE, DRAFT, dumps, shared, shared_by_all
from slicewright.schema.kind import CRD, KEY, Kind, KindSchema, from_configuration, from_crd, from_structural

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = Path(__file__).parent
SOURCES = SCHEMAS / "sources"
KINDS = SCHEMAS / "kinds"
GROUPS = (
    *("api/v1", "apis/admissionregistration.k8s.io/v1", "apis/apiextensions.k8s.io/v1"),
    *("apis/apiregistration.k8s.io/v1", "apis/apps/v1", "apis/autoscaling/v1", "apis/autoscaling/v2"),
    *("apis/batch/v1", "apis/coordination.k8s.io/v1", "apis/networking.k8s.io/v1"),
    *("apis/node.k8s.io/v1", "apis/policy/v1", "apis/rbac.authorization.k8s.io/v1"),
    *("apis/resource.k8s.io/v1", "apis/scheduling.k8s.io/v1", "apis/storage.k8s.io/v1"),
)
HEAD = """\
# Written by schemas/rebuild.py; DO NOT EDIT. Where each schema of this folder comes from: `from_sha256` is
# that of the source (schemas/sources/index.yaml says where it stands), `sha256` that of the file here.
# definitions.json holds what several of them need.
"""


def main() -> int:
    """Rebuild, or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--openapi", nargs=2, metavar=("URL", "TOKEN"))
    options = parser.parse_args()
    if options.openapi:
        fetch_openapi(*options.openapi)
    wanted = build()
    present = {
        path.relative_to(KINDS).as_posix(): path.read_bytes() for path in KINDS.rglob("*") if path.is_file()
    }
    changed = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    if options.check:
        sys.stdout.writelines(f"schemas/kinds/{name} is not what its source makes\n" for name in changed)
        return 1 if changed else 0
    for name in changed:
        path = KINDS / name
        if name not in wanted:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wanted[name])
    sys.stdout.write(f"{len(wanted) - 2} schemas, {len(changed)} files changed\n")
    return 0


def build() -> dict[str, bytes]:
    """Return every file of schemas/kinds by its path in there."""
    made = kinds()
    for _, kind in made:
        if kind.notes:
            raise SystemExit(f"{kind.of}: {'; '.join(kind.notes)}")
    objects = {kind.of.file: kind.schema for source, kind in made if "configuration" not in source}
    schemas, definitions = shared_by_all(objects)
    # `render` reads these each time, and is faster without a second file.
    schemas |= {kind.of.file: shared(kind.schema) for source, kind in made if "configuration" in source}
    schemas[DEFINITIONS_FILE] = {
        "$schema": DRAFT,
        "title": "what several kinds need",
        "definitions": definitions,
    }
    files = {file: dumps(schema).encode() for file, schema in schemas.items()}
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in files.items()}
    origins = [
        {
            "file": kind.of.file,
            **{key: source[key] for key in ("project", "version", "from", "licence")},
            "from_sha256": source["sha256"],
            "sha256": digests[kind.of.file],
        }
        for source, kind in sorted(made, key=lambda entry: entry[1].of.file)
    ]
    record = {
        "definitions": {"file": DEFINITIONS_FILE, "sha256": digests[DEFINITIONS_FILE]},
        "files": origins,
    }
    files["sources.yaml"] = (HEAD + yaml.safe_dump(record, sort_keys=False, width=1000)).encode()
    return files


def kinds() -> list[tuple[dict[str, Any], KindSchema]]:
    """Return every kind with its source."""
    index = yaml.safe_load((SOURCES / "index.yaml").read_text(encoding="utf-8"))["sources"]
    made: dict[Kind, tuple[dict[str, Any], KindSchema]] = {}
    for source in index:
        for kind in _schemas(source):
            if "fields" in source:
                _add_fields(made[kind.of][1].schema, kind.schema, source["fields"])
            elif made.setdefault(kind.of, (source, kind))[1] is not kind:
                raise SystemExit(f"{kind.of} is in two sources")
    return list(made.values())


def _add_fields(newer: dict[str, Any], older: dict[str, Any], fields: list[str]) -> None:
    """Add those fields of an older release that a kind no longer has, or not as wide: both are in use."""
    for field in fields:
        *way, name = (part for part in field.split("/") if part)
        into, of = newer, older
        for part in way:
            into, of = (_part(holder, part) for holder in (into, of))
        if name not in of.get("properties", {}):
            continue
        into.setdefault("properties", {})[name] = of["properties"][name]
        for key in ("listMaps", "cel", "defaults"):
            entries = [entry for entry in older[KEY].get(key, []) if entry["path"].startswith(field)]
            if entries:
                newer[KEY].setdefault(key, []).extend(entries)


def _part(node: dict[str, Any], key: str) -> dict[str, Any]:
    part: dict[str, Any] = node.get("items", {}) if key == "*" else node.get("properties", {}).get(key, {})
    return part


def _schemas(source: dict[str, Any]) -> Iterator[KindSchema]:
    content = read_source(source)
    if source.get("openapi"):
        yield from from_openapi(json.loads(content))
    elif "configuration" in source:
        of = source["configuration"]
        kind = Kind(of["group"], of["version"], of["kind"])
        yield from_configuration(kind, json.loads(content), source.get("checked"))
    elif "kind" in source:
        of = source["kind"]
        schema = from_structural(
            Kind(of["group"], of["version"], of["kind"]),
            json.loads(content),
            {"scope": of["scope"], **_deprecation(source, of)},
        )
        yield _with_evaluated_rules(schema, source)
    else:
        for document in yaml.load_all(content, Loader=yaml.CSafeLoader):
            if document and document.get("kind") == CRD:
                _amend(document, source.get("deprecated", {}))
                for schema in from_crd(document, source.get("defaulted", ())):
                    yield _with_evaluated_rules(schema, source)


def _with_evaluated_rules(schema: KindSchema, source: dict[str, Any]) -> KindSchema:
    """Leave out the CEL rules that slicewright does not evaluate, where the index allows it."""
    if source.get("optional_cel"):
        rules = schema.schema[KEY]["cel"]
        schema.schema[KEY]["cel"] = [entry for entry in rules if is_known(entry["rule"])]
    return schema


def _deprecation(source: dict[str, Any], of: dict[str, str]) -> dict[str, str]:
    warning = source.get("deprecated", {}).get(f"{of['group']}/{of['version']}")
    return {"deprecated": warning} if warning else {}


def _amend(crd: dict[str, Any], deprecated: dict[str, str]) -> None:
    """Say what a CRD forgot to say of its versions."""
    for version in crd["spec"]["versions"]:
        warning = deprecated.get(f"{crd['spec']['group']}/{version['name']}")
        if warning and not version.get("deprecated"):
            version |= {"deprecated": True, "deprecationWarning": warning}


def read_source(source: dict[str, Any]) -> bytes:
    """Return the content of a source; exit where it is not what the index says."""
    content: bytes = (SOURCES / source["file"]).read_bytes()
    for ending, decompress in ((".gz", gzip.decompress), (".xz", lzma.decompress)):
        content = decompress(content) if source["file"].endswith(ending) else content
    found = hashlib.sha256(content).hexdigest()
    if found != source["sha256"]:
        raise SystemExit(f"{source['file']}: sha256 is {found}, not {source['sha256']}")
    return content


def fetch_openapi(url: str, token: str) -> None:
    """Read the OpenAPI documents of an API server on this machine, and keep what the schemas need of them."""
    context = ssl._create_unverified_context()  # noqa: S323, SLF001 - a test server with a certificate of its own
    documents = {}
    for group in GROUPS:
        request = urllib.request.Request(  # noqa: S310 - the caller names the server
            f"{url}/openapi/v3/{group}",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
        )
        with urllib.request.urlopen(request, context=context) as answer:  # noqa: S310
            documents[group] = json.load(answer)
    content = (json.dumps(trimmed(documents), indent=1, sort_keys=True) + "\n").encode()
    path = SOURCES / "kubernetes-v1.36.2.openapi.json.gz"
    path.write_bytes(gzip.compress(content, 9, mtime=0))
    sys.stdout.write(f"{path.name}: sha256 {hashlib.sha256(content).hexdigest()}\n")


if __name__ == "__main__":
    sys.exit(main())
