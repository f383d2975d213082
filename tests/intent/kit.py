"""The schemas of the package and the examples that are held against them."""

from pathlib import Path
from typing import Any

import yaml

from slicewright.document.read import read_documents
from slicewright.rendering.io.package_data import package

SCHEMAS = package().schemas
EXAMPLES = Path(__file__).parents[1] / "schema" / "input"
_KINDS = {
    "TPUWorkload": "slicewright/tpuworkload.json",
    "TPUCluster": "slicewright/tpucluster.json",
    "TPUDefaults": "slicewright/tpudefaults.json",
}
SETTINGS = "slicewright/settings.json"
_FILES = {"settings": SETTINGS, "prices": "slicewright/prices.json"}
WORKLOAD = """\
apiVersion: slicewright.dev/v1alpha1
kind: TPUWorkload
metadata: {name: train}
spec:
  tpu: v6e-4
  clusters: [c]
  container: {image: 'i:1'}
"""


def examples(folder: str) -> list[tuple[Path, str, Any]]:
    """Return each document of a folder of examples with its file and the name of its schema."""
    found = []
    for path in sorted((EXAMPLES / folder).glob("*.yaml")):
        documents, problems = read_documents(path.read_text(encoding="utf-8"), path.name)
        assert problems == ()
        for document in documents:
            name = _FILES.get(path.stem.partition("-")[0]) or _KINDS[document.data["kind"]]
            found.append((path, name, document.data))
    return found


def workload(change: str = "", *, without: str = "") -> Any:
    """Return a small workload with some lines below its spec, and without one of its lines."""
    lines = [line for line in WORKLOAD.splitlines() if not without or not line.strip().startswith(without)]
    return yaml.safe_load("\n".join([*lines, *(f"  {line}" for line in change.splitlines())]))
