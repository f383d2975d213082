"""The schemas of built-in kinds are what the API server of the test bed serves today."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml
from tests.schema_kinds.kit import KINDS, SCHEMAS, rebuild

from slicewright.core.schema.beside import KEY
from slicewright.core.schema.crd import from_crd
from slicewright.core.schema.openapi import from_openapi, trimmed

if TYPE_CHECKING:
    from slicewright.testbed.api import Api

OWN = ("jobset.x-k8s.io", "kueue.x-k8s.io", "pathways-job.pathways.domain", "autoscaling.x-k8s.io")
"""Groups whose CRDs the test bed installs."""


def test_openapi_of_the_server_is_the_committed_source(api: Api) -> None:
    """What the server says of the groups that we carry is, trimmed, the source in the repository."""
    module = rebuild()
    served = trimmed({group: api.request("GET", f"/openapi/v3/{group}") for group in module.GROUPS})
    index = yaml.safe_load((SCHEMAS / "sources" / "index.yaml").read_text(encoding="utf-8"))["sources"]
    (source,) = (entry for entry in index if entry.get("openapi"))

    assert json.loads(module.read_source(source)) == served


def test_schemas_made_from_the_server_are_the_committed_ones(api: Api) -> None:
    """Every kind made from the server's OpenAPI is a file of schemas/kinds, to the byte; none is missing."""
    served = trimmed({group: api.request("GET", f"/openapi/v3/{group}") for group in rebuild().GROUPS})
    made = {schema.of.file: schema.text() for schema in from_openapi(served)}
    recorded = yaml.safe_load((KINDS / "sources.yaml").read_text(encoding="utf-8"))["files"]
    committed = {
        entry["file"]: (KINDS / entry["file"]).read_text(encoding="utf-8")
        for entry in recorded
        if entry["project"] == "kubernetes/kubernetes"
    }

    assert committed.keys() == made.keys()
    assert [] == [file for file, text in made.items() if committed[file] != text]


def test_custom_kinds_of_the_server_have_the_committed_schemas(api: Api) -> None:
    """The CRDs that the server holds, with its own defaults in them, make the schemas that are committed."""
    index = yaml.safe_load((SCHEMAS / "sources" / "index.yaml").read_text(encoding="utf-8"))["sources"]
    (jobset,) = (entry for entry in index if "defaulted" in entry)
    defaulted = {"jobset.x-k8s.io": jobset["defaulted"]}
    crds = api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    held = [crd for crd in crds if crd["spec"]["group"] in OWN]
    made = [
        schema for crd in held for schema in from_crd(crd, defaulted=defaulted.get(crd["spec"]["group"], ()))
    ]

    assert set(OWN) == {crd["spec"]["group"] for crd in held}
    assert [] == [
        schema.of.file for schema in made if _judges(schema.text()) != _judges(_committed(schema.of.file))
    ]


def _committed(file: str) -> str:
    return (KINDS / file).read_text(encoding="utf-8")


def _judges(text: str) -> dict[str, Any]:
    """Return a schema without what stands beside it: we say of v1beta1 what its CRD forgot."""
    return {key: value for key, value in json.loads(text).items() if key != KEY}
