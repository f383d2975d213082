"""Which Go modules are linked into a program, and under which licences."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from slicewright.programs.build import go_environ
from slicewright.programs.find import platform_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slicewright.programs.build import Workshop
    from slicewright.programs.pins import Tool

HERE = Path(__file__).parent

_PACKAGE = "{{with .Module}}{{with or .Replace .}}{{.Path}}\t{{.Version}}{{end}}\t{{.Dir}}\t{{$.Dir}}{{end}}"
"""The template of `go list` for a package: its module, version, the module's folder, its own folder."""

_LICENSE_FILE = re.compile(
    r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|PATENTS)([-.](?!go$|docs$).*)?", re.IGNORECASE
)

_PATENTS = "GooglePatentsFile"
"""What licensecheck calls the grant of patents beside Google's licences: SPDX has no identifier for it."""


@dataclass(frozen=True, slots=True, order=True)
class Module:
    """A Go module of a version. The licence files are those above its packages that are linked."""

    path: str
    version: str
    files: dict[str, Path] = field(default_factory=dict, compare=False, hash=False)
    """Licence files by their path in the module."""


def linked(tool: Tool, workshop: Workshop) -> list[Module]:
    """Return the modules of which a program has packages, and `std`, the standard library of Go."""
    folder, root = str(workshop.folder / tool.folder), Path(_go(workshop, "env", "GOROOT").strip())
    modules = {"std": Module("std", _go(workshop, "env", "GOVERSION").strip().removeprefix("go"))}
    _add_licenses(modules["std"], root, root)
    for line in _go(
        workshop, "-C", folder, "list", "-mod=readonly", "-deps", "-f", _PACKAGE, tool.package
    ).splitlines():
        path, version, module_folder, package_folder = line.split("\t")
        module = modules.setdefault(path, Module(path, version))
        _add_licenses(module, Path(module_folder), Path(package_folder))
    return sorted(modules.values())


def _add_licenses(module: Module, top: Path, folder: Path) -> None:
    """Add the licence files of a folder and of those above it, up to the module's own."""
    for above in (folder, *folder.parents):
        files = (file for file in above.iterdir() if _LICENSE_FILE.fullmatch(file.name) and file.is_file())
        module.files.update({file.relative_to(top).as_posix(): file for file in files})
        if above == top:
            return


def licenses(modules: Iterable[Module], workshop: Workshop) -> dict[Module, str]:
    """Return the licences of modules as SPDX expressions. Raises ValueError where one has none."""
    modules, here = list(modules), replace(workshop, target=platform_name())
    names = "\n".join(str(file) for module in modules for file in module.files.values())
    known = json.loads(_go(here, "-C", str(HERE / "licenses"), "run", "-mod=readonly", ".", given=names))
    found = {
        module: sorted({name for file in module.files.values() for name in known[str(file)]} - {_PATENTS})
        for module in modules
    }
    if without := [module.path for module in modules if not found[module]]:
        raise ValueError(f"no known licence: {', '.join(without)}")
    return {module: " AND ".join(names) for module, names in found.items()}


def _go(workshop: Workshop, *arguments: str, given: str | None = None) -> str:
    return subprocess.run(
        [workshop.go, *arguments],
        env=go_environ(workshop),
        input=given,
        stdout=subprocess.PIPE,
        check=True,
        encoding="utf-8",
    ).stdout
