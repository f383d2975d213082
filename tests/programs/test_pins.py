"""The versions of the project stand in one file, and everything that builds from them agrees with it."""

import re
from pathlib import Path

import pytest

from slicewright.programs import pins
from slicewright.programs.find import tools_folder
from slicewright.programs.pins import Tool

TOOLS = tuple(pins.tools().values())
REPOSITORY = Path(__file__).resolve().parents[2]
REPLACE = re.compile(r"^(?:replace |\t)(\S+) => (\S+) (v\S+)$", re.MULTILINE)


def go_mod(tool: Tool) -> str:
    """Return the go.mod that a tool is built from."""
    return (REPOSITORY / "tools" / tool.folder / "go.mod").read_text(encoding="utf-8")


def test_every_version_is_a_full_one() -> None:
    """A pin is vMAJOR.MINOR.PATCH: no range, no branch."""
    assert [
        key for key, version in pins.versions().items() if not re.fullmatch(r"v\d+\.\d+\.\d+", version)
    ] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_wrapper_modules_require_the_pinned_version(tool: Tool) -> None:
    """The go.mod of a tool requires exactly the version of versions.yaml."""
    required = re.findall(rf"^(?:require)?\s+{re.escape(tool.module)} (v\S+)", go_mod(tool), re.MULTILINE)
    assert [tool.version] == required


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_wrapper_modules_name_the_package(tool: Tool) -> None:
    """`go mod tidy` keeps what a tool needs, because its package stands in a tool line."""
    assert tool.package in re.findall(r"^(?:tool |\t)([^\s()]+)$", go_mod(tool), re.MULTILINE)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_wrapper_modules_have_the_sums_of_what_they_require(tool: Tool) -> None:
    """Builds are verified: every required module (its replacement, where it has one) has a sum in go.sum."""
    text = go_mod(tool)
    replaced = {old: f"{new} {version}" for old, new, version in REPLACE.findall(text)}
    required = re.findall(r"^\t(\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE)
    sums = (REPOSITORY / "tools" / tool.folder / "go.sum").read_text(encoding="utf-8")
    missing = [
        module
        for module, version in required
        if f"{replaced.get(module, f'{module} {version}')}/go.mod h1:" not in sums
    ]
    assert (bool(required), missing) == (True, [])


def test_kubernetes_modules_are_of_one_release() -> None:
    """Every staging module of Kubernetes is replaced by the published module of the same release."""
    staged = REPLACE.findall(go_mod(pins.tools()["kube-apiserver"]))
    release = pins.versions()["kubernetes"].replace("v1.", "v0.", 1)
    assert (33, {release}) == (len(staged), {version for _, _, version in staged})
    assert [(old, new) for old, new, _ in staged if old != new] == []


def test_every_wrapper_module_is_used() -> None:
    """There is no folder below tools/ that no tool is built from, apart from programs of its own."""
    modules = [path.parent for path in (REPOSITORY / "tools").glob("*/go.mod")]
    folders = {folder.name for folder in modules if not (folder / "main.go").exists()}
    assert {tool.folder for tool in TOOLS} == folders


def test_names_and_variables_are_unique() -> None:
    """Each tool has an environment variable of its own: SLICEWRIGHT_ and its name."""
    expected = ["SLICEWRIGHT_KUSTOMIZE", "SLICEWRIGHT_KUBECONFORM", "SLICEWRIGHT_ETCD"]
    assert expected == [tool.variable for tool in TOOLS[:3]]
    assert len({tool.variable for tool in TOOLS}) == len(TOOLS)


def test_the_checkout_is_found() -> None:
    """In an editable install the wrapper modules are those of the checkout."""
    assert tools_folder() == REPOSITORY / "tools"
