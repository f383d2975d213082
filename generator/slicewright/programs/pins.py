"""Which programs at which versions, as data: what `versions.yaml` says and how each program is built."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from msgspec import Struct

VERSIONS = Path(__file__).resolve().parent.parent / "versions.yaml"


class Tool(Struct, frozen=True, kw_only=True):
    """One program: its name, its source and how to get its version.

    `command` is its package below `module`. `folder` is its wrapper module below tools/; the programs of a
    test bed share one, so that they are built from the same libraries. `stamps` are the Go variables that the
    linker sets. `ask` are the arguments that print the version; without them the version is read from the
    file (see `find.module_version`). `seconds` is what the first build took on two cores, after the programs
    of the same folder above it. A program with `asked` is built only if the command names it. `needed_for`
    names what runs it.
    """

    name: str
    version: str
    module: str
    seconds: int
    command: str = ""
    folder: str = "testbed"
    file_name: str = ""
    ask: tuple[str, ...] = ()
    stamps: tuple[tuple[str, str], ...] = ()
    asked: bool = False
    needed_for: str = "rehearse, cluster"

    @property
    def binary(self) -> str:
        """Return the name of its file."""
        return self.file_name or self.name

    @property
    def package(self) -> str:
        """Return the Go package of the program: k8s.io/kubernetes/cmd/kubectl."""
        return self.module + self.command

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
    rows = (*_bed(versions()), *_for_tests(versions()))
    return MappingProxyType({tool.name: tool for tool in rows})


def _bed(pin: Mapping[str, str]) -> Iterator[Tool]:
    """Yield the programs of validation and of a test bed."""
    yield _kustomize("kustomize", pin["kustomize"], needed_for="validate")
    yield Tool(
        name="kubeconform",
        version=pin["kubeconform"],
        module="github.com/yannh/kubeconform",
        command="/cmd/kubeconform",
        seconds=5,
        ask=("-v",),
        stamps=(("main.version", pin["kubeconform"]),),
        needed_for="validate --engine kubeconform",
    )
    yield Tool(
        name="etcd",
        version=pin["etcd"],
        module="go.etcd.io/etcd/server/v3",
        seconds=25,
        ask=("--version",),
    )
    for name, seconds in (("kube-apiserver", 110), ("kube-controller-manager", 35), ("kube-scheduler", 5)):
        yield _kubernetes(name, pin["kubernetes"], seconds, ask=("--version",))
    looking = "looking into a test cluster"
    yield _kubernetes("kubectl", pin["kubernetes"], 15, ask=("version", "--client"), needed_for=looking)
    yield Tool(
        name="kwok",
        version=pin["kwok"],
        module="sigs.k8s.io/kwok",
        command="/cmd/kwok",
        seconds=10,
        ask=("--version",),
    )
    for name, seconds, command in (("jobset", 25, ""), ("kueue", 90, "/cmd/kueue")):
        module = f"sigs.k8s.io/{name}"
        stamps = ((f"{module}/pkg/version.GitVersion", pin[name]),)
        yield Tool(
            name=name, version=pin[name], module=module, command=command, seconds=seconds, stamps=stamps
        )


def _for_tests(pin: Mapping[str, str]) -> Iterator[Tool]:
    """Yield the programs of the tests of slicewright, which are built only if they are named."""
    tests = "tests of slicewright"
    oldest = pin["kustomizeOldest"]
    yield _kustomize("kustomize-oldest", oldest, folder="kustomize-oldest", asked=True, needed_for=tests)
    argo_cd, tofu = "github.com/argoproj/argo-cd/v3", "github.com/opentofu/opentofu"
    version = ("version",)
    stamps = {
        "tofu": ((f"{tofu}/version.dev", "no"),),
        "argocd": ((f"{argo_cd}/common.version", pin["argoCDTested"].removeprefix("v")),),
    }
    for name, key, module, command, seconds, ask in (
        ("kind", "kind", "sigs.k8s.io/kind", "", 10, version),
        ("tofu", "opentofu", tofu, "/cmd/tofu", 230, version),
        ("lws", "lws", "sigs.k8s.io/lws", "/cmd", 110, ()),
        ("trainer", "trainer", "github.com/kubeflow/trainer/v2", "/cmd/trainer-controller-manager", 110, ()),
        ("kuberay", "kuberay", "github.com/ray-project/kuberay/ray-operator", "", 50, ()),
        ("argocd", "argoCDTested", argo_cd, "/cmd", 390, ()),
    ):
        yield Tool(
            name=name,
            version=pin[key],
            module=module,
            command=command,
            seconds=seconds,
            folder=name,
            ask=ask,
            stamps=stamps.get(name, ()),
            asked=True,
            needed_for=tests,
        )


def _kustomize(name: str, version: str, **more: Any) -> Tool:
    return Tool(
        name=name,
        version=version,
        module="sigs.k8s.io/kustomize/kustomize/v5",
        seconds=20,
        file_name="kustomize",
        ask=("version",),
        stamps=(("sigs.k8s.io/kustomize/api/provenance.version", version),),
        **more,
    )


def _kubernetes(name: str, version: str, seconds: int, **more: Any) -> Tool:
    major, minor, _ = version.removeprefix("v").split(".", 2)
    component = "k8s.io/component-base/version"
    stamps = {
        f"{component}.gitVersion": version,
        f"{component}.gitMajor": major,
        f"{component}.gitMinor": minor,
        "k8s.io/client-go/pkg/version.gitVersion": version,
    }
    return Tool(
        name=name,
        version=version,
        module="k8s.io/kubernetes",
        command=f"/cmd/{name}",
        seconds=seconds,
        stamps=tuple(stamps.items()),
        **more,
    )
