"""A real API server with JobSet and Kueue gives the corpus of tests/rules the verdict that its files say."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
import yaml
from tests.rules.verdicts import FILES, expected

from slicewright.testbed.errors import ApiError

if TYPE_CHECKING:
    from pathlib import Path

    from slicewright.testbed.api import Api

pytestmark = pytest.mark.ci  # unit tests hold us to the committed verdicts


def _verdict(api: Api, path: Path) -> tuple[str, str]:
    """Return what the server says to a create that is not carried out, unknown fields refused."""
    item = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    try:
        api.create(item, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return "refused", error.message
    return "accepted", ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_server_gives_the_verdict_of_the_corpus(api: Api, path: Path) -> None:
    """The first line of each file is what the server says; tests/rules holds us to the same word."""
    verdict, message = _verdict(api, path)

    assert expected(path) == verdict, message
