"""The sources of the configuration schemas are what the Go types of the pinned modules say."""

import json
import subprocess
from typing import Any

import pytest
import yaml
from tests.e2e_rules.modules import ROOT, go
from tests.schema.kit import SCHEMAS, rebuild, sources

pytestmark = pytest.mark.workflow  # what is committed is compared with pinned sources

CONFIGURATIONS = [entry for entry in sources() if "configuration" in entry]
VERSIONS = yaml.safe_load((ROOT / "generator" / "slicewright" / "versions.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", CONFIGURATIONS, ids=lambda entry: entry["project"])
def test_source_is_what_the_go_type_says(entry: dict[str, Any]) -> None:
    """Reading the type again gives the committed source, of the version that the project pins."""
    package = entry["configuration"]["package"]
    done = subprocess.run(
        [go(), "run", ".", package, "Configuration"],
        cwd=SCHEMAS / "sources" / "go-types",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(rebuild().read_source(entry)) == json.loads(done.stdout)
    assert VERSIONS[entry["project"].rpartition("/")[2]] == entry["version"]


def test_both_controllers_have_one() -> None:
    """JobSet's and Kueue's configuration are read so."""
    assert ["kubernetes-sigs/jobset", "kubernetes-sigs/kueue"] == [
        entry["project"] for entry in CONFIGURATIONS
    ]
