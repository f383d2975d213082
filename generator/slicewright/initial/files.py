"""The files of a new repository, by path."""

from __future__ import annotations

from pathlib import Path

from slicewright.initial import vendored

_TEMPLATE = Path(__file__).with_name("template")
_PLACES = {
    "slicewright.yaml": "slicewright.yaml",
    "clusters/sample.yaml": "cluster.yaml",
    "workloads/hello.yaml": "workload.yaml",
    "requirements.txt": "requirements.txt",
    "Makefile": "Makefile",
    "README.md": "readme.md",
    "CODEOWNERS": "codeowners",
    ".gitattributes": "gitattributes",
    ".gitignore": "gitignore",
    ".github/workflows/slicewright.yaml": "github.yaml",
    ".gitlab-ci.yml": "gitlab.yaml",
    ".pre-commit-config.yaml": "pre-commit.yaml",
    ".vscode/settings.json": "vscode.json",
}
"""Files that a team then owns: an upgrade does not look at them."""


def specifier(version: str) -> str:
    """Return the versions that render a repository alike: `~=0.1.0` for 0.1.7, and `~=1.2` for 1.2.3.

    Before 1.0 the second number is the one that says what breaks.
    """
    major, minor = version.split(".")[:2]
    return f"~=0.{minor}.0" if major == "0" else f"~={major}.{minor}"


def files(version: str, requirement: str = "") -> dict[str, str]:
    """Return the text of every file of a new repository.

    `requirement` is what pip installs slicewright from; by default the versions that may render it.
    """
    wanted = {
        "@SPECIFIER@": specifier(version),
        "@REQUIREMENT@": requirement or f"slicewright{specifier(version)}",
    }
    made = {path: _filled(name, wanted) for path, name in _PLACES.items()}
    shipped = vendored.shipped()
    return made | shipped | vendored.records(shipped, version)


def _filled(name: str, wanted: dict[str, str]) -> str:
    text = (_TEMPLATE / name).read_text(encoding="utf-8")
    for mark, value in wanted.items():
        text = text.replace(mark, value)
    return text
