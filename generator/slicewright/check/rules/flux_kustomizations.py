"""Rules of Flux: what its Kustomizations do to runs and to their scripts, and what they wait for."""

import re
from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

from slicewright.check.rules.kustomize_build import KUSTOMIZATIONS
from slicewright.check.selection import is_flux_kustomization, synced, tools_of
from slicewright.document.document import values_in
from slicewright.kubernetes.fields import at, entries, mapping, text
from slicewright.kubernetes.kinds import GROUP_OF, RUN_KINDS, is_namespaced
from slicewright.kubernetes.labels import (
    FLUX_FORCE,
    FLUX_RECONCILE,
    FLUX_SERVER_SIDE_APPLY,
    FLUX_SUBSTITUTE,
    RUN,
)
from slicewright.kubernetes.problem import did_you_mean, nearest
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_EXPRESSION = re.compile(r"(?<!\$)\$\{((?:\$\{[^}]{0,99}\}|[^}])*)\}?")
_VARIABLE = re.compile(r"#?([A-Za-z_][A-Za-z0-9_]*|[0-9]+)(.*)", re.DOTALL)
_UNREADABLE = re.compile(r"[+?\[@*!]")
"""Characters after the name of a variable that Flux cannot read, such as the index of an array."""
_HASHED = re.compile(r".*-[0-9a-f]{5,}")
_DEFAULT = re.compile(r":?[-=]|:[+?]")
"""Operators that give a value without the variable: Flux also uses the word of `:?` and `:+` as a default."""
_ASSIGNED = re.compile(r"(?m)(?:^|[\s;])(\w+)(?=\+?=|\s+in\s)", re.ASCII)
_OF_PODS = re.compile(
    r"(TPU|MEGASCALE|JOB_COMPLETION|JOBSET|KUBERNETES|JAX|PATHWAYS)_\w+|HOSTNAME|HOME|PWD|[0-9]+"
)
"""Variables that GKE, Kubernetes and shells set in pods."""


class _Variables(Struct, frozen=True):
    """What a Kustomization of Flux substitutes."""

    tool: Resource
    names: frozenset[str]
    is_whole: bool
    """Whether these are all: a ConfigMap or Secret that is not among the objects may hold more."""


def _variables(objects: ObjectSet) -> list[_Variables]:
    """Return the Kustomizations of Flux that substitute variables."""
    found = []
    for tool in filter(is_flux_kustomization, objects.all):
        build = mapping(at(tool.data, "spec", "postBuild"))
        names = set(mapping(build.get("substitute")))
        is_whole = True
        for _, entry in entries(build.get("substituteFrom")):
            held = objects.find(text(entry.get("kind")), text(entry.get("name")), tool.namespace)
            is_whole &= held is not None
            if held is not None:
                names |= {*mapping(held.data.get("data")), *mapping(held.data.get("stringData"))}
        if names or not is_whole or build.get("substituteStrategy") == "Always":
            found.append(_Variables(tool, frozenset(names), is_whole))
    return found


@rule("GIT135")
def _emptied(resource: Resource, objects: ObjectSet) -> Findings:
    known = _of_tool(resource, objects)
    policy = (resource.labels | resource.annotations).get(FLUX_SUBSTITUTE, "")
    # The objects of a kustomization of kustomize are there, too, as Flux gets them.
    if known is None or policy == "disabled" or resource.kind in KUSTOMIZATIONS:
        return
    env = [entry for _, container in resource.containers for _, entry in entries(container.get("env"))]
    own = {text(entry.get("name")) for entry in env}
    for path, value in values_in(resource.data):
        if not isinstance(value, str) or "${" not in value:
            continue
        of_shell = _of_shell(value, own)
        found = _sorted(value, known, of_shell)
        hint = "write $${%s} for a variable of the shell"
        if not found["known"]:
            hint += f", or the annotation {FLUX_SUBSTITUTE}: disabled for the object"
        who = f"Kustomization '{known.tool.name}'"
        if unread := found["unread"]:
            yield Finding(path, f"Flux cannot read {_shown(unread)}, so every sync fails", hint % unread[0])
        if lost := found["lost"]:
            message = f"{who} does not define {_shown(lost)}, so Flux empties it, or since 2.9 fails"
            others = [name for name in lost if not _is_of_pods(name, of_shell)]
            near = nearest(others[0], known.names) if others else []
            first = f"did you mean ${{{near[0]}}}? Otherwise " if near else ""
            define = f", or add {others[0]} to postBuild.substitute of {who}" if others else ""
            yield Finding(path, message, f"{first}{hint % lost[0]}{define}")
        if replaced := found["replaced"]:
            message = f"Flux replaces {_shown(replaced)} before the shell of the pod sees it"
            yield Finding(path, message, hint % replaced[0], is_certain=False)


def _of_tool(resource: Resource, objects: ObjectSet) -> _Variables | None:
    """Return what the nearest Kustomization of an object substitutes; None if it substitutes nothing."""
    known = objects.widest.once("variables of Flux", _variables)
    tools = list(filter(is_flux_kustomization, tools_of(resource, objects))) if known else []
    nearest_tool = max(tools, key=lambda tool: len(text(at(tool.data, "spec", "path"))), default=None)
    return next((one for one in known if one.tool is nearest_tool), None)


def _sorted(value: str, known: _Variables, of_shell: set[str]) -> dict[str, list[str]]:
    """Return expressions by what Flux does: `unread`, `lost` (no value), `replaced` (of pods), `known`."""
    found: dict[str, dict[str, None]] = {key: {} for key in ("unread", "lost", "replaced", "known")}
    for inner in _EXPRESSION.findall(value):
        variable = _VARIABLE.fullmatch(inner)
        if variable is None or _UNREADABLE.match(variable[2]):
            found["unread"][inner] = None
            continue
        name, rest = variable[1], variable[2]
        if name in known.names:
            found["known"][inner] = None
        elif known.is_whole and not _DEFAULT.match(rest):
            found["lost"][name if not rest else inner] = None
        elif _is_of_pods(name, of_shell):
            found["replaced"][inner] = None
    return {key: list(inners) for key, inners in found.items()}


def _of_shell(script: str, own: set[str]) -> set[str]:
    """Return the variables of a container, with those that its script assigns."""
    return {*own, *_ASSIGNED.findall(script)}


def _is_of_pods(name: str, of_shell: set[str]) -> bool:
    return name in of_shell or _OF_PODS.fullmatch(name) is not None


def _shown(expressions: Iterable[str]) -> str:
    return ", ".join(f"${{{expression}}}" for expression in expressions)


def changes_name(resource: Resource) -> bool:
    """Tell whether a changed run has another name, as those with a hash of their content have."""
    return RUN in resource.labels or _HASHED.fullmatch(resource.name) is not None


def is_written_once(resource: Resource) -> bool:
    """Tell whether Flux does not change an object after its creation."""
    own = resource.labels | resource.annotations
    policy = own.get(FLUX_SERVER_SIDE_APPLY, "").casefold()
    return policy in ("ifnotpresent", "ignore") or own.get(FLUX_RECONCILE, "").casefold() == "disabled"


def is_forced(resource: Resource, objects: ObjectSet) -> bool:
    """Tell whether Flux deletes an object and creates it again if its change is refused."""
    if (resource.labels | resource.annotations).get(FLUX_FORCE, "").casefold() == "enabled":
        return True
    tools = filter(is_flux_kustomization, tools_of(resource, objects))
    return any(at(tool.data, "spec", "force") is True for tool in tools)


@rule("GIT136", (), "warning")
def _force(resource: Resource, objects: ObjectSet) -> Findings:
    again = "deletes the run and starts it again"
    if is_flux_kustomization(resource) and at(resource.data, "spec", "force") is True:
        runs = (one for one in synced(resource, objects) if one.kind in RUN_KINDS and one.is_known)
        left = (run for run in runs if not changes_name(run) and not is_written_once(run))
        for run in islice(left, 1):
            yield Finding(("spec", "force"), f"with force, a change of '{run.subject}' {again}")
    if resource.kind in RUN_KINDS:
        for holder in ("labels", "annotations"):
            if text(at(resource.metadata, holder, FLUX_FORCE)).casefold() == "enabled":
                yield Finding(("metadata", holder, FLUX_FORCE), f"with force, a change of the file {again}")


_CHECKED = RUN_KINDS | {"ClusterQueue", "LocalQueue", "ResourceFlavor"}
"""Kinds whose objects come only from files of the tree, and not from controllers."""


@rule("GIT137", (), "warning")
def _health(resource: Resource, objects: ObjectSet) -> Findings:
    spec = mapping(resource.data.get("spec"))
    if not is_flux_kustomization(resource) or spec.get("wait") is True:
        return
    if any(True for _ in synced(resource, objects)):
        for index, entry in entries(spec.get("healthChecks")):
            kind, name, place = (
                text(entry.get("kind")),
                text(entry.get("name")),
                ("spec", "healthChecks", index),
            )
            group = text(entry.get("apiVersion")).rpartition("/")[0]
            of_kind = [one for one in objects.widest.of_kind(kind) if one.is_known]
            names = {
                f"{text(spec.get('namePrefix'))}{one.name}{text(spec.get('nameSuffix'))}": one
                for one in of_kind
            }
            meant = next((one for one in _CHECKED if one.lower() == kind.lower().removesuffix("s")), kind)
            if meant != kind:
                message = f"no API {entry.get('apiVersion')} has the kind {kind}"
                yield Finding((*place, "kind"), message, f"write kind: {meant}")
            if kind not in _CHECKED or (kind == "Job" and (not of_kind or "." in group)):
                continue  # another Job, or one that a chart creates
            if group != GROUP_OF[kind]:
                message = f"no API {entry.get('apiVersion')} has the kind {kind}"
                right = text(of_kind[0].data.get("apiVersion")) if of_kind else f"{GROUP_OF[kind]}/VERSION"
                yield Finding((*place, "apiVersion"), message, f"write apiVersion: {right}")
            elif name not in names:
                hint = did_you_mean(name, names)
                yield Finding(
                    (*place, "name"), f"{kind} '{name}' is not in the folder of the Kustomization", hint
                )
            elif is_namespaced(group, kind):
                namespace = text(spec.get("targetNamespace")) or names[name].namespace
                if namespace and entry.get("namespace") != namespace:
                    key = ("namespace",) if "namespace" in entry else ()
                    message = f"{kind} '{name}' is in namespace '{namespace}'"
                    yield Finding((*place, *key), message, f"write namespace: {namespace}")
