"""Objects, the engine that judges them, and the command that reports it."""

import copy
import os
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from click import Command
from click.testing import CliRunner
from tests import files
from tests.conftest import Done

from slicewright.check.engine import Engine
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.check.suppress import Ignores
from slicewright.cli.validate import validate
from slicewright.kubernetes.problem import Problem
from slicewright.objects import Resource
from slicewright.rendering.io import package_data as package

CONTAINER: dict[str, Any] = {"name": "main", "image": "image:1"}


def jobset(
    *, container: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a valid JobSet with some fields of its container, its pods and its spec changed."""
    pods = {"containers": [{**CONTAINER, **(container or {})}], **(pod or {})}
    job = {"name": "slice", "replicas": 1, "template": {"spec": {"template": {"spec": pods}}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train"},
        "spec": {"replicatedJobs": [job], **spec},
    }


class Alone:
    """Objects with nothing beside them."""

    sites: ClassVar[dict[str, Any]] = {}
    origins = None
    ignores = Ignores((), ())
    catalogue = staticmethod(package.catalogue)
    input_schemas = staticmethod(package.schemas)
    ids = render_problems = objects_before = staticmethod(tuple)


@cache
def engine() -> Engine:
    """Return the engine with the vendored schemas and no rule."""
    return Engine(kind_schemas())


def problems(data: dict[str, Any]) -> list[Problem]:
    """Return what the engine has against one object."""
    item = Resource(copy.deepcopy(data), "file.yaml")
    return list(engine().object_problems(item, engine().verdict(item)))


def found(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return id and path of each problem of one object."""
    return [(problem.id, problem.dotted()) for problem in problems(data)]


def run(folder: Path, *arguments: str, stdin: str | bytes = "", command: Command = validate) -> Done:
    """Run a command in a folder."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(command, list(arguments), input=stdin)
    finally:
        os.chdir(here)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


write = files.write
CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}\n"
BAD_CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}\n"
WARNING = (
    "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: a}, spec: {clusterQueue: b}}\n"
)
