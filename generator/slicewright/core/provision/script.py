"""What the scripts have in common: their first lines, what they are about, and how they run a command.

They keep to what bash 3.2 has, and need `gcloud` (and `kubectl` where Kubernetes objects are deleted).
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from slicewright.core.plan.resolve import region_of
from slicewright.core.run.header import GENERATED, inputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.core.plan.resolve import ResolvedCluster

_USAGE = """\
for option in "$@"; do
  case $option in
{cases}    *)
      echo "usage: bash ${{0##*/}}{words}" >&2
      exit 2
      ;;
  esac
done"""

RUN = """\
# Prints a command that changes something, and runs it unless --dry-run is given.
run() {
  printf '%q' "$1"
  printf ' %q' "${@:2}"
  echo
  [ "$dry_run" = yes ] || "$@"
}"""

ASK = """\
# Runs a command that lists names. With --dry-run nothing is taken to be there where it fails.
ask() {
  "$@" && return
  if [ "$dry_run" = no ]; then
    echo "cannot see what is there: the command above has failed" >&2
    exit 1
  fi
  echo "# cannot see what is there; printed as if nothing were" >&2
}

# Tells whether a list of names, one a line, has a name.
has() { grep -qxF -e "$2" <<<"$1"; }"""


def head(site: ResolvedCluster, *, purpose: str) -> str:
    """Return how a script begins: header, purpose, strictness and the variables."""
    source, spec = site.cluster.source, site.cluster.spec
    comment = "\n".join(f"# {line}" for line in purpose.split("\n"))
    project = spec.get("project", "")
    lines = [
        "#!/usr/bin/env bash",
        GENERATED,
        f"# inputs: {inputs(source.file.path, site.cluster.name)}",
        comment,
        "set -euo pipefail",
        "",
        f"PROJECT={quote(project)}"
        if project
        else "PROJECT=${PROJECT:?is not set: the project of the cluster}",
        f"LOCATION={quote(spec['location'])}",
        f"CLUSTER={quote(site.cluster.name)}",
    ]
    return "\n".join(lines)


def options(*names: str) -> str:
    """Return what reads the options of a script: `--dry-run` makes `dry_run` yes, and so on."""
    variables = [name.strip("-").replace("-", "_") for name in names]
    cases = "".join(
        f"    {name}) {variable}=yes ;;\n" for name, variable in zip(names, variables, strict=True)
    )
    words = "".join(f" [{name}]" for name in names)
    defaults = "".join(f"{variable}=no\n" for variable in variables)
    return defaults + _USAGE.format(cases=cases, words=words)


def region(site: ResolvedCluster) -> str:
    """Return the region that a cluster is in, whether it is regional or zonal."""
    return region_of(site.cluster.spec["location"])


def call(*words: str) -> str:
    """Return a call with each flag on a line of its own; words that begin with `--` are flags."""
    quoted = [quote(word) for word in words]
    first = [text for text, word in zip(quoted, words, strict=True) if not word.startswith("--")]
    rest = [text for text, word in zip(quoted, words, strict=True) if word.startswith("--")]
    return " \\\n  ".join([" ".join(first), *rest])


def written(blocks: Iterable[str]) -> str:
    """Return a script from its parts, an empty line between them."""
    return "\n\n".join(blocks) + "\n"
