"""The examples of the Python interface run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tools

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    # The test bed is tried by its own tests: here a cluster starts for the few lines of an example.
    pytest.param(page.name, code, marks=[pytest.mark.workflow] if page.name == "testbed.md" else [])
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.name != "extend-slicewright.md"  # its example is a package, which test_extend.py installs
    for code in _BLOCK.findall(page.read_text(encoding="utf-8"))
    if "import slicewright" in code or "from slicewright" in code  # others run on TPUs
]


@pytest.mark.parametrize(("page", "code"), EXAMPLES)
def test_examples_run_in_this_repository(page: str, code: str) -> None:
    """Every example of the Python interface in the docs runs as it stands, and prints something."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True)

    assert (page, 0, "") == (page, done.returncode, done.stderr)
    assert done.stdout
