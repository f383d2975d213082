"""Which programs at which versions, as data: what `versions.yaml` says and how each program is built."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import yaml
from msgspec import Struct

VERSIONS = Path(__file__).resolve().parent.parent / "versions.yaml"


class Tool(Struct, frozen=True):
    """One program: its name, its source and the way to ask for its version.

    `folder` is its wrapper module below tools/; the programs of a test bed share one, so that they are built
    from the same libraries. `stamps` are the Go variables that the linker sets. `ask` are the arguments that
    print the version; a program without such arguments is read instead (see `find.module_version`).
    `seconds` is what the first build took on two cores, after the programs of the same folder above it. A
    program with `asked` is built only if it is named. `needed_for` names what runs it.
    """

    name: str
    version: str
    module: str
    package: str
    folder: str
    binary: str
    ask: tuple[str, ...]
    seconds: int
    stamps: tuple[tuple[str, str], ...] = ()
    asked: bool = False
    needed_for: str = ""

    @property
    def variable(self) -> str:
        """Return the environment variable that names another copy: SLICEWRIGHT_KUBE_APISERVER."""
        return "SLICEWRIGHT_" + self.name.upper().replace("-", "_")

    @property
    def title(self) -> str:
        """Return the name and version as messages write them."""
        return f"{self.name} {self.version}"

    @property
    def path_names(self) -> tuple[str, ...]:
        """Return the file names to look for on PATH: the one with a version first."""
        return (f"{self.binary}-{self.version.removeprefix('v')}", self.binary)


@cache
def versions() -> Mapping[str, str]:
    """Return every pinned version by its key in `versions.yaml`."""
    loaded: dict[str, str] = yaml.safe_load(VERSIONS.read_text(encoding="utf-8"))
    return MappingProxyType(loaded)


@cache
def tools() -> Mapping[str, Tool]:
    """Return every program that can be built, by name, in the order in which they are built."""
    pin = versions()
    kustomize, bed = "sigs.k8s.io/kustomize/kustomize/v5", "testbed"
    major, minor, _ = pin["kubernetes"].removeprefix("v").split(".", 2)

    def kustomize_tool(
        name: str, version: str, folder: str, *, asked: bool = False, needed_for: str = ""
    ) -> Tool:
        stamps, ask = {"sigs.k8s.io/kustomize/api/provenance.version": version}, ("version",)
        return _tool(
            name,
            version,
            kustomize,
            20,
            folder=folder,
            binary="kustomize",
            ask=ask,
            stamps=stamps,
            asked=asked,
            needed_for=needed_for,
        )

    def kubernetes_tool(
        name: str, seconds: int, ask: tuple[str, ...] = ("--version",), needed_for: str = ""
    ) -> Tool:
        stamps = {
            "k8s.io/component-base/version.gitVersion": pin["kubernetes"],
            "k8s.io/component-base/version.gitMajor": major,
            "k8s.io/component-base/version.gitMinor": minor,
            "k8s.io/client-go/pkg/version.gitVersion": pin["kubernetes"],
        }
        module = ("k8s.io/kubernetes", seconds, f"/cmd/{name}")
        return _tool(
            *(name, pin["kubernetes"], *module), folder=bed, ask=ask, stamps=stamps, needed_for=needed_for
        )

    def controller(name: str, seconds: int, command: str = "") -> Tool:
        # It has no arguments for its version: its build information tells it.
        module = f"sigs.k8s.io/{name}"
        stamps = {f"{module}/pkg/version.GitVersion": pin[name]}
        return _tool(name, pin[name], module, seconds, command, folder=bed, ask=(), stamps=stamps)

    rows = (
        kustomize_tool("kustomize", pin["kustomize"], bed, needed_for="validate"),
        _tool(
            *("kubeconform", pin["kubeconform"], "github.com/yannh/kubeconform", 5, "/cmd/kubeconform"),
            folder=bed,
            ask=("-v",),
            stamps={"main.version": pin["kubeconform"]},
            needed_for="validate --engine kubeconform",
        ),
        _tool("etcd", pin["etcd"], "go.etcd.io/etcd/server/v3", 25, folder=bed),
        kubernetes_tool("kube-apiserver", 110),
        kubernetes_tool("kube-controller-manager", 35),
        kubernetes_tool("kube-scheduler", 5),
        kubernetes_tool("kubectl", 15, ("version", "--client"), "looking into a test cluster"),
        _tool("kwok", pin["kwok"], "sigs.k8s.io/kwok", 10, "/cmd/kwok", folder=bed),
        controller("jobset", 25),
        controller("kueue", 90, "/cmd/kueue"),
        kustomize_tool("kustomize-oldest", pin["kustomizeOldest"], "kustomize-oldest", asked=True),
        _tool("kind", pin["kind"], "sigs.k8s.io/kind", 10, ask=("version",), asked=True),
        _tool(
            *("tofu", pin["opentofu"], "github.com/opentofu/opentofu", 230, "/cmd/tofu"),
            ask=("version",),
            stamps={"github.com/opentofu/opentofu/version.dev": "no"},
            asked=True,
        ),
        _tool("lws", pin["lws"], "sigs.k8s.io/lws", 110, "/cmd", ask=(), asked=True),
        _tool(
            *("trainer", pin["trainer"], "github.com/kubeflow/trainer/v2", 110),
            command="/cmd/trainer-controller-manager",
            ask=(),
            asked=True,
        ),
        _tool(
            "kuberay", pin["kuberay"], "github.com/ray-project/kuberay/ray-operator", 50, ask=(), asked=True
        ),
        _tool(
            *("argocd", pin["argoCDTested"], "github.com/argoproj/argo-cd/v3", 390, "/cmd"),
            ask=(),
            stamps={"github.com/argoproj/argo-cd/v3/common.version": pin["argoCDTested"].removeprefix("v")},
            asked=True,
        ),
    )
    return MappingProxyType({tool.name: tool for tool in rows})


def _tool(
    name: str,
    version: str,
    module: str,
    seconds: int,
    command: str = "",
    *,
    folder: str = "",
    binary: str = "",
    ask: tuple[str, ...] = ("--version",),
    stamps: Mapping[str, str] = MappingProxyType({}),
    asked: bool = False,
    needed_for: str = "",
) -> Tool:
    """Return a program; its package is `command` below the module, and other names are by default its own.

    By default a program of the test bed's folder is part of a test bed, and another one is for tests.
    """
    package, stamped = module + command, tuple(stamps.items())
    default = "rehearse, cluster" if folder == "testbed" else "tests of slicewright"
    names = (name, version, module, package, folder or name, binary or name)
    return Tool(*names, ask, seconds, stamped, asked=asked, needed_for=needed_for or default)
