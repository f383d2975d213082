"""A real API server refuses of a stranger's kind what our CEL library refuses."""

import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api

STRANGER = yaml.safe_load((Path(__file__).parents[1] / "check/stranger.yaml").read_text(encoding="utf-8"))
MESSAGES = {
    rule["message"]
    for version in STRANGER["crd"]["spec"]["versions"]
    for rule in version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"]
}


@pytest.fixture(scope="module")
def served(api: Api) -> Api:
    """Return the API server when it serves the stranger's kind."""
    api.create(STRANGER["crd"])
    for _ in range(100):
        if refusal(api, "first", {}) != "not served":
            return api
        time.sleep(0.2)
    raise AssertionError("the API server does not serve the kind after 20 s")


def refusal(api: Api, name: str, spec: dict[str, Any]) -> str:
    """Return what the server says against an object that it does not keep."""
    item = {
        "apiVersion": "example.test/v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    try:
        api.create(item, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return "not served" if error.code == HTTPStatus.NOT_FOUND else error.message
    return ""


@pytest.mark.parametrize("row", STRANGER["objects"], ids=lambda row: str(row["spec"]))
def test_server_refuses_what_the_library_refuses(served: Api, row: dict[str, Any]) -> None:
    """tests/check holds the library to the same messages."""
    said = refusal(served, "thing", row["spec"])

    assert row["refused"] == [message for message in MESSAGES if message in said]
