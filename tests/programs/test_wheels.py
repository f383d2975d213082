"""The wheels of the test bed: same input, same bytes; pip installs them, and their programs are found."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest
from msgspec.structs import replace
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from tools.linked import Module, linked
from tools.wheels import PLATFORMS, Wheel, pack, wheels

from slicewright.programs import pins
from slicewright.programs.build import Workshop, build_all, workshop
from slicewright.programs.find import (
    WHEELS,
    Found,
    cached,
    find,
    kept_path,
    locate,
    platform_name,
    tools_folder,
)
from slicewright.programs.pins import Tool
from slicewright.testbed.process_group import CONTROL_PLANE

from .conftest import Script

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
MACHINES = {
    "linux-amd64": {"sys_platform": "linux", "platform_machine": "x86_64"},
    "linux-arm64": {"sys_platform": "linux", "platform_machine": "aarch64"},
    "darwin-arm64": {"sys_platform": "darwin", "platform_machine": "arm64"},
    "darwin-amd64": {"sys_platform": "darwin", "platform_machine": "x86_64"},
    "linux-ppc64le": {"sys_platform": "linux", "platform_machine": "ppc64le"},
}


@pytest.fixture
def place(tool: Tool, script: Script, tmp_path: Path) -> Workshop:
    """Return a workshop whose cache has one program."""
    environ = {**os.environ, "SLICEWRIGHT_CACHE": str(tmp_path / "cache")}
    script(str(cached(tool, environ).relative_to(tmp_path)), "echo tiny v1.2.3")
    made = workshop([], tools_folder(), environ, platform_name())
    assert isinstance(made, Workshop), made
    return made


@pytest.fixture
def wheel(tool: Tool) -> Wheel:
    """Return a wheel with that program."""
    return Wheel("slicewright-testbed-tiny", "A tiny program", "1.2.3", (tool,))


@pytest.fixture
def modules(tool: Tool, tmp_path: Path) -> dict[Tool, list[Module]]:
    """Return the modules of that program: its own, and a library with a notice."""
    (tmp_path / "NOTICE").write_text("written by somebody\n", encoding="utf-8")
    apache, notice = {"LICENSE": REPOSITORY / "LICENSE"}, {"sub/NOTICE": tmp_path / "NOTICE"}
    modules = [
        Module(tool.module, tool.version, apache),
        Module("example.test/lib", "v0.1.0", apache | notice),
    ]
    return {tool: modules}


@pytest.mark.ci
def test_same_input_same_bytes(
    wheel: Wheel, place: Workshop, modules: dict[Tool, list[Module]], tool: Tool, tmp_path: Path
) -> None:
    """Neither times of files, their order, their exact modes nor the clock are in a wheel."""
    first = pack(wheel, place, modules, tmp_path / "first")
    program = cached(tool, place.environ)
    program.chmod(0o700)
    os.utime(program, (1, 1))

    second = pack(wheel, place, {tool: modules[tool][::-1]}, tmp_path / "second")

    assert (first.name, first.read_bytes()) == (second.name, second.read_bytes())


@pytest.mark.ci
def test_pip_installs_what_is_found(
    wheel: Wheel,
    place: Workshop,
    modules: dict[Tool, list[Module]],
    tool: Tool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program that pip installs is found and runs, and its licences and SBOM are beside it."""
    packed = pack(wheel, place, modules, tmp_path)
    site = tmp_path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--target",
        str(site),
        str(packed),
    ]
    subprocess.run(command, check=True)
    monkeypatch.syspath_prepend(site)

    found = locate(tool, {"SLICEWRIGHT_CACHE": str(tmp_path / "none"), "PATH": ""})

    assert isinstance(found, Found)
    assert ("wheel", site) == (found.origin, found.path.parents[3])
    assert "tiny v1.2.3\n" == subprocess.run([found.path], capture_output=True, text=True, check=True).stdout
    installed = PathDistribution(next(site.glob("*.dist-info")))
    bill = json.loads(installed.read_text("sboms/sbom.cdx.json") or "")
    assert {
        "License-Expression": ["Apache-2.0"],
        "License-File": [
            "example.test/lib@v0.1.0/LICENSE",
            "example.test/lib@v0.1.0/sub/NOTICE",
            "example.test/tiny@v1.2.3/LICENSE",
        ],
    } == {name: installed.metadata.get_all(name) for name in ("License-Expression", "License-File")}
    assert installed.read_text("licenses/example.test/lib@v0.1.0/sub/NOTICE") == "written by somebody\n"
    assert [
        ("application", "pkg:golang/example.test/tiny@v1.2.3?binary=tiny"),
        ("library", "pkg:golang/example.test/lib@v0.1.0"),
        ("library", "pkg:golang/example.test/tiny@v1.2.3"),
    ] == sorted((part["type"], part["purl"]) for part in bill["components"])


@pytest.mark.ci
def test_a_wheel_for_another_machine(
    wheel: Wheel, place: Workshop, modules: dict[Tool, list[Module]], tool: Tool, tmp_path: Path
) -> None:
    """It has that machine's program and tag; licences are read by a program of this one."""
    other = replace(place, target="darwin-arm64")
    program = cached(tool, other.environ, other.target)
    program.parent.mkdir(parents=True)
    program.write_text("a program of that machine", encoding="utf-8")

    packed = pack(wheel, other, modules, tmp_path)

    assert "slicewright_testbed_tiny-1.2.3-py3-none-macosx_13_0_arm64.whl" == packed.name
    with zipfile.ZipFile(packed) as archive:
        content = archive.read(f"{WHEELS}/{kept_path(tool, 'darwin-arm64')}")
    assert b"a program of that machine" == content


def test_a_module_without_a_known_licence_is_refused(
    wheel: Wheel, place: Workshop, tool: Tool, tmp_path: Path
) -> None:
    """A wheel is not packed where nobody can say under which licence."""
    with pytest.raises(ValueError, match=r"no known licence: example\.test/lib"):
        pack(wheel, place, {tool: [Module("example.test/lib", "v1", {})]}, tmp_path)


@pytest.mark.parametrize("name", ["kubeconform", "kustomize"])
def test_modules_are_those_that_the_linker_recorded(name: str) -> None:
    """The modules of an SBOM are those that `go version -m` reads from the program, and Go's own library."""
    tool, place = pins.tools()[name], workshop([], tools_folder(), os.environ, platform_name())
    assert isinstance(place, Workshop), place
    program = find(name)
    assert isinstance(program, Path), program
    said = subprocess.run(
        [place.go, "version", "-m", program], capture_output=True, text=True, check=True
    ).stdout
    words = [line.split() for line in said.splitlines()]
    recorded = {(line[1], line[2]) for line in words if line[0] in {"mod", "dep", "=>"}}

    modules = linked(tool, place)

    assert recorded == {(module.path, module.version) for module in modules if module.path != "std"}
    assert [] == [module.path for module in modules if not module.files]


@pytest.mark.workflow
@pytest.mark.slow
def test_a_build_from_nothing_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two checkouts, one with an empty cache of Go, build the same program."""
    tool = pins.tools()["kubeconform"]
    programs = []
    for name, cache in (("one", {}), ("two", {"GOCACHE": str(tmp_path / "empty")})):
        folder = tmp_path / name / "tools"
        shutil.copytree(tools_folder() / tool.folder, folder / tool.folder)
        environ = {**os.environ, **cache, "SLICEWRIGHT_CACHE": str(tmp_path / name / "cache")}
        assert build_all([tool], sys.stderr, folder=folder, environ=environ, target=platform_name()) == ()
        programs.append(cached(tool, environ).read_bytes())
    assert programs[0] == programs[1]


def test_the_extra_has_the_wheels_of_the_table() -> None:
    """`slicewright[testbed]` asks for each wheel in its version, on the machines that have wheels."""
    extra = [Requirement(text) for text in PROJECT["project"]["optional-dependencies"]["testbed"]]
    pinned = [one for one in extra if one.name.startswith("slicewright-")]
    assert sorted(f"{one.name}=={one.version}" for one in wheels()) == [
        f"{one.name}{one.specifier}" for one in pinned
    ]
    for one in pinned:
        assert isinstance(one.marker, Marker)
        machines = [name for name, environment in MACHINES.items() if one.marker.evaluate(environment)]
        assert list(PLATFORMS) == machines


def test_wheels_have_what_commands_run() -> None:
    """Wheels hold every program of a command, and the package its module, for a build elsewhere."""
    packed = {tool for wheel in wheels() for tool in wheel.programs}
    assert {*CONTROL_PLANE, "kubectl", "kustomize", "kubeconform"} == {tool.name for tool in packed}
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {f"tools/{tool.folder}" for tool in packed} == {
        name for name in included if name.startswith("tools/")
    }


@pytest.mark.parametrize("tag", PLATFORMS.values(), ids=PLATFORMS)
def test_tags_are_valid(tag: str) -> None:
    """The name of each wheel is one that pip can read."""
    _, _, _, tags = parse_wheel_filename(f"slicewright_testbed-1-py3-none-{tag}.whl")
    assert len(tag.split(".")) == len(tags)
