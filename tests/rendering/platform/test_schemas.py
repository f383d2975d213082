"""What is rendered, in every case of the tests, is what the API of that release accepts."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from slicewright.check.engine import Engine
from slicewright.check.io.schema_folders import kind_schemas
from slicewright.objects import Resource
from slicewright.rendering.platform.platform_files import objects

from .kit import site

CASES = yaml.load((Path(__file__).parent / "rendered.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
ENGINE = Engine(kind_schemas())
NO_SCHEMA = {("kueue.x-k8s.io/v1alpha1", "Topology")}
"""What only releases have of which no CRD is vendored."""


@pytest.mark.parametrize("case", CASES, ids=[f"{case['file']}: {case['when']}" for case in CASES])
def test_objects_are_accepted(case: dict[str, Any]) -> None:
    """Schemas without unknown fields, keys of lists and CEL rules of the vendored CRDs find nothing."""
    for data in objects(site(case["spec"])):
        item = Resource(data, "file.yaml")
        verdict = ENGINE.verdict(item)
        problems = ENGINE.object_problems(item, verdict)
        said = [problem.text() for problem in problems if problem.severity == "error"]
        if (data["apiVersion"], data["kind"]) in NO_SCHEMA:
            assert verdict == "unknown"
        else:
            assert (verdict, said) == ("accepted", []), data
