"""Which programs at which versions, as data: what `versions.yaml` says and how each program is built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSIONS = Path(__file__).resolve().parent.parent / "versions.yaml"


@dataclass(frozen=True, slots=True)
class Tool:
    """One program: what it is called, where it comes from and how it says its version.

    `folder` is its wrapper module below tools/; several programs may share one. `stamps` are the Go variables
    that the linker sets. `ask` are the arguments that print the version; a program without such arguments is
    read instead (see `find.module_version`). `seconds` is what the first build took on two cores. A program
    with `asked` is built only where it is named: one target of the Makefile needs it, and it takes minutes.
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
    """Return every program that can be built, by name, in the order in which `make tools` builds them."""
    pinned = versions()
    rows = (
        _kustomize("kustomize", pinned["kustomize"]),
        _kustomize("kustomize-oldest", pinned["kustomizeOldest"]),
        Tool(
            name="kubeconform",
            version=pinned["kubeconform"],
            module="github.com/yannh/kubeconform",
            package="github.com/yannh/kubeconform/cmd/kubeconform",
            folder="kubeconform",
            binary="kubeconform",
            ask=("-v",),
            seconds=10,
            stamps=(("main.version", pinned["kubeconform"]),),
        ),
        Tool(
            name="kind",
            version=pinned["kind"],
            module="sigs.k8s.io/kind",
            package="sigs.k8s.io/kind",
            folder="kind",
            binary="kind",
            ask=("version",),
            seconds=10,
        ),
        Tool(
            name="etcd",
            version=pinned["etcd"],
            module="go.etcd.io/etcd/server/v3",
            package="go.etcd.io/etcd/server/v3",
            folder="etcd",
            binary="etcd",
            ask=("--version",),
            seconds=30,
        ),
        _kubernetes("kube-apiserver", pinned["kubernetes"], ask=("--version",), seconds=200),
        _kubernetes("kube-controller-manager", pinned["kubernetes"], ask=("--version",), seconds=60),
        _kubernetes("kube-scheduler", pinned["kubernetes"], ask=("--version",), seconds=5),
        _kubernetes("kubectl", pinned["kubernetes"], ask=("version", "--client"), seconds=20),
        _kwok("kwok", pinned["kwok"], seconds=60),
        _kwok("kwokctl", pinned["kwok"], seconds=10),
        _controller("jobset", pinned["jobset"], package="sigs.k8s.io/jobset", seconds=75),
        _controller("kueue", pinned["kueue"], package="sigs.k8s.io/kueue/cmd/kueue", seconds=230),
        Tool(
            name="tofu",
            version=pinned["opentofu"],
            module="github.com/opentofu/opentofu",
            package="github.com/opentofu/opentofu/cmd/tofu",
            folder="tofu",
            binary="tofu",
            ask=("version",),
            seconds=230,
            stamps=(("github.com/opentofu/opentofu/version.dev", "no"),),
        ),
        Tool(
            name="argocd",
            version=pinned["argoCDTested"],
            module="github.com/argoproj/argo-cd/v3",
            package="github.com/argoproj/argo-cd/v3/cmd",
            folder="argocd",
            binary="argocd",
            ask=(),
            seconds=390,
            stamps=(
                (
                    "github.com/argoproj/argo-cd/v3/common.version",
                    pinned["argoCDTested"].removeprefix("v"),
                ),
            ),
            asked=True,
        ),
    )
    return MappingProxyType({tool.name: tool for tool in rows})


def _kustomize(name: str, version: str) -> Tool:
    return Tool(
        name=name,
        version=version,
        module="sigs.k8s.io/kustomize/kustomize/v5",
        package="sigs.k8s.io/kustomize/kustomize/v5",
        folder=name,
        binary="kustomize",
        ask=("version",),
        seconds=20,
        stamps=(("sigs.k8s.io/kustomize/api/provenance.version", version),),
    )


def _kubernetes(name: str, version: str, *, ask: tuple[str, ...], seconds: int) -> Tool:
    major, minor, _ = version.removeprefix("v").split(".", 2)
    return Tool(
        name=name,
        version=version,
        module="k8s.io/kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        folder="kubernetes",
        binary=name,
        ask=ask,
        seconds=seconds,
        stamps=(
            ("k8s.io/component-base/version.gitVersion", version),
            ("k8s.io/component-base/version.gitMajor", major),
            ("k8s.io/component-base/version.gitMinor", minor),
            ("k8s.io/client-go/pkg/version.gitVersion", version),
        ),
    )


def _kwok(name: str, version: str, *, seconds: int) -> Tool:
    return Tool(
        name=name,
        version=version,
        module="sigs.k8s.io/kwok",
        package=f"sigs.k8s.io/kwok/cmd/{name}",
        folder="kwok",
        binary=name,
        ask=("--version",),
        seconds=seconds,
    )


def _controller(name: str, version: str, *, package: str, seconds: int) -> Tool:
    """Return a controller that has no arguments for its version: its build information tells it."""
    module = f"sigs.k8s.io/{name}"
    return Tool(
        name=name,
        version=version,
        module=module,
        package=package,
        folder=name,
        binary=name,
        ask=(),
        seconds=seconds,
        stamps=((f"{module}/pkg/version.GitVersion", version),),
    )
