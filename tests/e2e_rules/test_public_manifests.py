"""Manifests that nobody here wrote: what validate says of them is true, and what the API server says."""

from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.check.kit import engine, run
from tests.check.rules.verdicts import refusals
from tests.e2e_rules.modules import folder

from slicewright.check.io.discovery import Discovery
from slicewright.check.io.load import load
from slicewright.check.unpack import unpack
from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.client import Api
from slicewright.objects import Resource

pytestmark = pytest.mark.workflow  # hundreds of manifests

MODULES = yaml.safe_load((Path(__file__).parent / "public.yaml").read_text(encoding="utf-8"))


def _name(entry: dict[str, Any]) -> str:
    return str(entry["tool"])


@cache
def _report(tool: str, module: str, left_out: tuple[str, ...]) -> Any:
    options = [option for pattern in left_out for option in ("--exclude", pattern)]
    return run(folder(tool, module), ".", "--gitops", "-o", "json", *options).json


def report(entry: dict[str, Any]) -> Any:
    """Return what validate says of a module."""
    return _report(entry["tool"], entry["module"], tuple(entry["left_out"]))


def problems(entry: dict[str, Any], severity: str) -> list[dict[str, Any]]:
    """Return the problems of a severity in a module."""
    return [problem for problem in report(entry)["problems"] if problem["severity"] == severity]


@pytest.mark.parametrize("entry", MODULES, ids=_name)
def test_errors_are_those_that_are_true(entry: dict[str, Any]) -> None:
    """Every error is declared with the reason why it is right, and every kind without a schema."""
    errors, notes = problems(entry, "error"), problems(entry, "note")
    kinds = {
        problem["message"].rpartition(" for ")[2].partition(":")[0]
        for problem in notes
        if problem["id"] == "SCHEMA001"
    }
    others = {problem["file"]: problem["id"] for problem in errors}

    assert entry["kinds"] == sorted(kinds)
    assert {file: said.partition(" ")[0] for file, said in entry["errors"].items()} == others
    assert entry["objects"] == report(entry)["summary"]["objects"]


@pytest.mark.parametrize("entry", MODULES, ids=_name)
def test_warnings_are_those_that_were_looked_at(entry: dict[str, Any]) -> None:
    """A rule that begins to warn about public manifests is looked at before it is believed."""
    assert entry["warnings"] == sorted({problem["id"] for problem in problems(entry, "warning")})


def objects(entry: dict[str, Any]) -> Iterator[Resource]:
    """Yield the objects of a module, those of kustomizations as they are built."""
    home = folder(entry["tool"], entry["module"])
    for unit in Discovery(base=home, exclude=tuple(entry["left_out"])).find([str(home)]).units:
        for document in load(unit).documents:
            if isinstance(document.data, dict) and {"apiVersion", "kind"} <= document.data.keys():
                yield from (
                    found for found in unpack(document.data, unit.name) if isinstance(found, Resource)
                )


def verdict(api: Api, item: Resource) -> str:
    """Return what the server says; empty where it cannot judge: no such kind, or the object is there."""
    try:
        api.create(item.data, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        if error.code in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            return ""
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        # The admission plugin of service accounts looks for the account, which comes with other objects.
        return "" if error.reason == "Forbidden" and "service account" in error.message else "refused"
    return "accepted"


@pytest.mark.parametrize("entry", MODULES, ids=_name)
def test_server_says_the_same(api: Api, entry: dict[str, Any]) -> None:
    """An object gets the verdict of the API server and its webhooks, but for declared differences."""
    compared = 0
    differing = set()
    everything = list(objects(entry))
    for namespace in sorted({item.namespace for item in everything} - {""}):
        if api.find("v1", "Namespace", namespace) is None:
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for item in everything:
        if engine().verdict(item) == "unknown":
            continue  # a kind without a schema is not judged
        said = verdict(api, item)
        compared += bool(said)
        if said and said != ("refused" if refusals(item) else "accepted"):
            differing.add(f"{item.file}: {item.subject}")

    assert (set(entry["differences"]), entry["compared"]) == (differing, compared)
