"""A real API server with JobSet and Kueue gives the corpus of tests/check/rules its verdicts."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.rules.verdicts import FILES, ROWS, changed, expected
from tests.schema.kit import rebuild, sources

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.kubernetes.kinds import CRD_VERSION
from slicewright.testbed.waiting import until

pytestmark = pytest.mark.ci  # unit tests hold us to the committed verdicts


OTHERS = ("leaderworkerset-", "kuberay-", "trainer-v2.3", "tpu-slice-")
"""How the sources of the CRDs of other projects begin."""


@pytest.fixture(scope="module")
def with_others(own_api: Api) -> Api:
    """Return a cluster that serves the kinds of other projects, without their controllers."""
    definitions = {
        crd["metadata"]["name"]: crd
        for source in sources()
        if source["file"].startswith(OTHERS) and "fields" not in source  # which are of older releases
        for crd in yaml.load_all(rebuild().read_source(source), yaml.CSafeLoader)
        if crd
    }
    for crd in definitions.values():
        own_api.create(crd)
    until(
        "the definitions of other projects",
        lambda: all(_is_served(own_api, name) for name in definitions) or None,
        seconds=120,
    )
    return own_api


def _is_served(api: Api, name: str) -> bool:
    found = api.get(CRD_VERSION, "CustomResourceDefinition", name)
    conditions = found["status"].get("conditions", [])
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _verdict(api: Api, item: dict[str, Any]) -> tuple[str, str]:
    """Return what the server says to a create that is not carried out, unknown fields refused."""
    try:
        api.create(item, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return "refused", error.message
    return "accepted", ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_server_gives_the_verdict_of_the_corpus(api: Api, path: Path) -> None:
    """The first line of each file is what the server says; tests/check/rules holds us to the same word."""
    verdict, message = _verdict(api, yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))

    assert expected(path) == verdict, message


@pytest.mark.parametrize("of", ROWS)
def test_server_gives_changed_objects_their_verdicts(with_others: Api, of: str) -> None:
    """The server, with the CRDs of other projects, says the same of each object as the table."""
    assert [(row["ops"], row["verdict"]) for row in ROWS[of]] == [
        (row["ops"], _verdict(with_others, changed(row))[0]) for row in ROWS[of]
    ]
