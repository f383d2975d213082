"""`python -m tests.e2e_argocd`: what `make e2e-argocd` runs.

Argo CD's controller listens on all addresses, and no option keeps it from that. So the tests and all that
they start run in a network namespace of their own with a loopback address only; no root is needed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.e2e_argocd.loopback import INSIDE

_WAYS = (("--user", "--map-root-user", "--net"), ("--net",))
"""How a network namespace is made: by anybody; by root, where a kernel lets nobody else."""

_NEEDED = {
    "git": "git: Argo CD clones with it",
    "redis-server": "redis-server: Argo CD's programs share a cache (the package of Debian has this name)",
    "unshare": "unshare of util-linux: the programs run in a network namespace of their own, on Linux",
}


def main() -> None:
    """Replace this process by pytest in a network namespace, or say what is missing."""
    missing = [f"make e2e-argocd needs {why}" for name, why in _NEEDED.items() if shutil.which(name) is None]
    if missing:
        sys.exit("\n".join(missing))
    refusals = []
    for way in _WAYS:
        tried = subprocess.run(["unshare", *way, "true"], capture_output=True, check=False, text=True)
        if tried.returncode == 0:
            tests = str(Path(__file__).parent)
            command = ["unshare", *way, "--", sys.executable, "-m", "pytest", tests, *sys.argv[1:]]
            os.execvpe("unshare", command, {**os.environ, INSIDE: "1"})  # noqa: S606 - no shell is meant
        refusals.append(f"  unshare {' '.join(way)}: {tried.stderr.strip()}")
    sys.exit(
        "\n".join(
            (
                "make e2e-argocd cannot make a network namespace:",
                *refusals,
                "allow it with sysctl user.max_net_namespaces, or run it as root; on Ubuntu",
                "also sysctl kernel.apparmor_restrict_unprivileged_userns=0",
            )
        )
    )


if __name__ == "__main__":
    main()
