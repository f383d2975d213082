"""The schemas of built-in kinds are what the API server of the test bed serves today."""

from typing import Any

import pytest
import yaml
from tests.schema.kit import KINDS, is_same, load, openapi, rebuild, sources

from openapi import from_openapi, trimmed
from slicewright.cluster.api.client import Api
from slicewright.schema.kind import KEY, from_crd

pytestmark = pytest.mark.workflow  # what is committed is compared with pinned programs

OWN = ("jobset.x-k8s.io", "kueue.x-k8s.io", "pathways-job.pathways.domain", "autoscaling.x-k8s.io")
"""Groups whose CRDs the test bed installs."""


def test_openapi_of_the_server_is_the_committed_source(api: Api) -> None:
    """What the server says of the groups that we carry is, trimmed, the source in the repository."""
    served = trimmed({group: api.request("GET", f"/openapi/v3/{group}") for group in rebuild().GROUPS})

    assert openapi() == served


def test_schemas_made_from_the_server_are_the_committed_ones(api: Api) -> None:
    """Every kind made from the server's OpenAPI means what a file of schemas/kinds means; none is missing."""
    served = trimmed({group: api.request("GET", f"/openapi/v3/{group}") for group in rebuild().GROUPS})
    made = {kind.of.file: kind.schema for kind in from_openapi(served)}
    recorded = yaml.safe_load((KINDS / "sources.yaml").read_text(encoding="utf-8"))["files"]

    assert {entry["file"] for entry in recorded if entry["from"].startswith("/openapi/v3 ")} == made.keys()
    assert [] == [file for file, schema in made.items() if not is_same(schema, load(file))]


def test_custom_kinds_of_the_server_have_the_committed_schemas(api: Api) -> None:
    """The CRDs that the server holds, with its own defaults in them, make the schemas that are committed."""
    (jobset,) = (entry for entry in sources() if "defaulted" in entry)
    defaulted = {"jobset.x-k8s.io": jobset["defaulted"]}
    crds = api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    held = [crd for crd in crds if crd["spec"]["group"] in OWN]
    made = [kind for crd in held for kind in from_crd(crd, defaulted=defaulted.get(crd["spec"]["group"], ()))]

    assert set(OWN) == {crd["spec"]["group"] for crd in held}
    assert [] == [
        kind.of.file for kind in made if not is_same(_judges(kind.schema), _judges(load(kind.of.file)))
    ]


def _judges(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without what stands beside it: we say of v1beta1 what its CRD forgot."""
    return {key: value for key, value in schema.items() if key != KEY}
