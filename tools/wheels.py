"""`python -m tools.wheels`, which is `make wheels`: pack the wheels of the test bed as `wheels.yaml` says."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import sys
import tempfile
import tomllib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from hatchling.builders.utils import get_reproducible_timestamp
from hatchling.builders.wheel import WheelBuilder
from packageurl import PackageURL
from tools.linked import Module, licenses, linked

from slicewright.kubernetes.problem import Problem
from slicewright.programs import find
from slicewright.programs.build import Workshop, build_all, workshop
from slicewright.programs.pins import Tool, tools

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent
TABLE: dict[str, Any] = yaml.safe_load((HERE / "wheels.yaml").read_text(encoding="utf-8"))
PLATFORMS: dict[str, str] = TABLE["platforms"]
"""The tag of each platform, which is called as Go calls it."""

LIMIT = 100_000_000
"""The bytes of a file that PyPI takes from everybody."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A row of the table."""

    name: str
    summary: str
    version: str
    programs: tuple[Tool, ...]


def wheels() -> list[Wheel]:
    """Return the table with the pinned programs and versions."""
    return [
        Wheel(
            row["name"],
            row["summary"],
            tools()[row["version"]].version.removeprefix("v")
            + (f".post{row['post']}" if "post" in row else ""),
            tuple(tools()[name] for name in row["programs"]),
        )
        for row in TABLE["wheels"]
    ]


@click.command()
@click.argument("platforms", nargs=-1, type=click.Choice(list(PLATFORMS)))
@click.option("--out", type=click.Path(path_type=Path), default=HERE.parent / "dist", help="Where wheels go.")
def main(platforms: tuple[str, ...], out: Path) -> None:
    """Build the programs of all wheels for some platforms, by default for this machine, and pack them."""
    wanted = [tool for wheel in wheels() for tool in wheel.programs]
    for platform in platforms or (find.platform_name(),):
        problems = build_all(wanted, sys.stderr, target=platform)
        place = workshop(wanted, find.tools_folder(), os.environ, platform)
        if isinstance(place, Problem):
            problems = (*problems, place)
        if problems or isinstance(place, Problem):
            sys.exit("\n".join(problem.text() for problem in problems))
        for wheel in wheels():
            packed = pack(wheel, place, {tool: linked(tool, place) for tool in wheel.programs}, out)
            size = packed.stat().st_size
            click.echo(f"{packed} {size / 1e6:.1f} MB")
            if size >= LIMIT:
                sys.exit(f"{packed.name} is larger than {LIMIT / 1e6:.0f} MB: split it in tools/wheels.yaml")


def pack(wheel: Wheel, place: Workshop, modules: Mapping[Tool, Sequence[Module]], out: Path) -> Path:
    """Write a wheel of programs in the cache. The same programs and modules give the same bytes."""
    known = licenses(sorted({module for each in modules.values() for module in each}), place)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for module in known:
            for name, file in module.files.items():
                copy = root / f"{module.path}@{module.version}" / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        files = sorted(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file())
        (root / _BILL).write_text(bill(wheel, place, modules, known), encoding="utf-8")
        builder = _Builder(scratch, config=_config(wheel, place, known, files))
        (packed,) = builder.build(directory=str(out), versions=["standard"])
    return Path(packed)


_BILL = "sbom.cdx.json"


class _Builder(WheelBuilder):
    """Hatchling's builder, for files of one platform."""

    def get_default_build_data(self) -> dict[str, Any]:
        tag = self.metadata.config["tool"]["slicewright"]["tag"]
        return {**super().get_default_build_data(), "pure_python": False, "tag": f"py3-none-{tag}"}


def _config(
    wheel: Wheel, place: Workshop, known: Mapping[Module, str], files: Sequence[str]
) -> dict[str, Any]:
    """Return what pyproject.toml would say of the wheel."""
    ours = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = "".join(f"- {tool.title} ({tool.package})\n" for tool in wheel.programs)
    readme = f"{wheel.summary}, built from their Go modules for {place.target}:\n\n{rows}"
    target = {
        "force-include": {
            str(
                find.cached(tool, place.environ, place.target)
            ): f"{find.WHEELS}/{find.kept_path(tool, place.target)}"
            for tool in wheel.programs
        },
        "bypass-selection": True,
        "sbom-files": [_BILL],
    }
    return {
        "project": {
            "name": wheel.name,
            "version": wheel.version,
            "description": wheel.summary,
            "readme": {"text": readme, "content-type": "text/markdown"},
            "requires-python": ours["requires-python"],
            "license": " AND ".join(
                sorted({name for text in known.values() for name in text.split(" AND ")})
            ),
            "license-files": [glob.escape(name) for name in files],
        },
        "tool": {
            "hatch": {"build": {"targets": {"wheel": target}}},
            "slicewright": {"tag": PLATFORMS[place.target]},
        },
    }


def bill(
    wheel: Wheel, place: Workshop, modules: Mapping[Tool, Sequence[Module]], known: Mapping[Module, str]
) -> str:
    """Return the SBOM: the wheel has programs, and each program has modules. CycloneDX, as JSON."""
    top = _component(PackageURL("pypi", None, wheel.name, wheel.version), wheel.name)
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{top.purl}#{place.target}"))
    bom.metadata.component = top
    bom.metadata.timestamp = datetime.fromtimestamp(get_reproducible_timestamp(), UTC)
    parts = {module: _component(_purl(module.path, module.version), module.path) for module in known}
    for module, part in parts.items():
        part.licenses.add(LicenseExpression(known[module]))
        bom.components.add(part)
    for tool in wheel.programs:
        purl = _purl(
            tool.module, tool.version, tool.package.removeprefix(tool.module).strip("/"), tool.binary
        )
        program = _component(purl, tool.name, ComponentType.APPLICATION)
        content = find.cached(tool, place.environ, place.target).read_bytes()
        program.hashes.add(HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest()))
        bom.components.add(program)
        bom.register_dependency(top, [program])
        bom.register_dependency(program, [parts[module] for module in modules[tool]])
    return JsonV1Dot6(bom).output_as_string(indent=1)


def _component(purl: PackageURL, name: str, kind: ComponentType = ComponentType.LIBRARY) -> Component:
    return Component(name=name, version=purl.version, type=kind, purl=purl, bom_ref=str(purl))


def _purl(module: str, version: str, command: str = "", binary: str = "") -> PackageURL:
    """Return the package URL of a Go module, or of a program in it."""
    namespace, _, name = module.rpartition("/")
    qualifiers = {"binary": binary} if binary else None
    return PackageURL("golang", namespace or None, name, version, qualifiers, command or None)


if __name__ == "__main__":
    main()
