"""`python -m tests.rendering.provision.e2e_terraform`: the committed Terraform against its provider.

OpenTofu fetches the provider as its own configuration says (a registry, a mirror, a folder), which is why
this is no part of `make test`. It exits 1 where a folder of provision/ is not valid, 3 without OpenTofu.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from slicewright.kubernetes.problem import Problem
from slicewright.programs.find import find

PROVISION = Path(__file__).parents[3] / "provision"


def main() -> int:
    """Validate every folder that holds Terraform."""
    binary = find("tofu")
    if isinstance(binary, Problem):
        sys.stderr.write(f"{binary.text()}\n")
        return 3
    folders = sorted(path.parent for path in PROVISION.glob("*/versions.tf"))
    return max([_validate(binary, folder) for folder in folders], default=0)


def _validate(tofu: Path, folder: Path) -> int:
    """Return 0 where a copy of a folder is valid with the provider that OpenTofu finds."""
    sys.stdout.write(f"{folder.relative_to(PROVISION.parent)}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(folder, Path(scratch) / folder.name)
        for arguments in (["init", "-backend=false", "-input=false"], ["validate"]):
            if subprocess.run([tofu, *arguments], cwd=copy, check=False).returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
