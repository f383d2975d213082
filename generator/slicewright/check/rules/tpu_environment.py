"""Rules of programs in TPU pods: variables that contradict GKE and JAX, and scripts that keep SIGTERM."""

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

from msgspec import Struct

from slicewright.check.rules.tpu_shape import WORKER_ID, is_alone, is_pathways, is_same, shape
from slicewright.document import edit
from slicewright.kubernetes.fields import at, entries, mapping, number, text, words
from slicewright.kubernetes.kinds import POD_KINDS
from slicewright.kubernetes.labels import SPOT, TPU
from slicewright.kubernetes.problem import Fix, Path
from slicewright.objects import Finding, Findings, ObjectSet, Resource, rule

_PLATFORMS = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
_ASSIGNED = re.compile(
    r"(?:^|[\s;&])(?:export\s+)?((?:MEGASCALE|JAX|TPU)_[A-Z_]+)=[\"']?([\w.:-]+)(?![\w.:$({-])", re.MULTILINE
)


class Variable(Struct, frozen=True):
    """A variable whose value is known."""

    name: str
    value: str
    path: Path
    is_written: bool = False
    """Whether the value is at its path, and not in a ConfigMap or in a script."""
    is_only: bool = False
    """Whether its list in the container has no other variable."""

    @property
    def removal(self) -> Fix | None:
        """The fix that removes it, with its list if nothing else is in it."""
        return edit.remove(self.path[:-1] if self.is_only else self.path) if self.is_written else None


def variables(
    resource: Resource, place: Path, container: dict[str, Any], objects: ObjectSet
) -> Iterator[Variable]:
    """Yield the variables of a container: those that its script assigns, then env, which hides envFrom."""
    for key in ("command", "args"):
        for index, word in words(container.get(key)):
            for name, value in _ASSIGNED.findall(word):
                yield Variable(name, value, (*place, key, index))
    names = set()
    env = list(entries(container.get("env")))
    for index, entry in env:
        path, name = (*place, "env", index), text(entry.get("name"))
        names.add(name)
        source = mapping(at(entry, "valueFrom", "configMapKeyRef"))
        known = _config_map(resource, text(source.get("name")), objects).get(text(source.get("key")))
        value = entry.get("value", known)
        if isinstance(value, str):
            yield Variable(name, value, path, "value" in entry, len(env) == 1)
    for index, entry in entries(container.get("envFrom")):
        held = _config_map(resource, text(at(entry, "configMapRef", "name")), objects)
        for key, value in held.items():
            name = text(entry.get("prefix")) + key
            if name not in names and isinstance(value, str):
                yield Variable(name, value, (*place, "envFrom", index))


def _config_map(resource: Resource, name: str, objects: ObjectSet) -> dict[str, str]:
    """Return the data of a ConfigMap, as far as it is known which one is meant."""
    found = objects.candidates("ConfigMap", name, resource.namespace, resource.file)
    return mapping(found[0].data.get("data")) if len(found) == 1 else {}


@rule("TPU158", POD_KINDS - {"Pod", "PodTemplate"})
def _same_place(resource: Resource, objects: ObjectSet) -> Findings:
    """Find one TPU_WORKER_ID for all hosts of a slice, and the topology of another slice."""
    for pods in resource.pods:
        row = shape(pods, objects) if pods.asks_for_tpu else None
        if row is None or not row.multi_host or is_alone(pods):
            continue
        own = (variables(resource, *container, objects) for container in pods.containers)
        for variable in chain.from_iterable(own):
            if is_same(pods, variable.name, variable.value):
                message = f"each of the {row.hosts} hosts gets {WORKER_ID} {variable.value}"
                hint = f"remove the variable {WORKER_ID}: GKE sets it for each pod"
                if resource.kind in ("Deployment", "ReplicaSet", "StatefulSet"):
                    hint = "write a JobSet or a LeaderWorkerSet, whose pods get it by themselves"
                yield Finding(variable.path, message, hint, variable.removal)
            if variable.name == "TPU_TOPOLOGY" and variable.value not in ("", row.topology):
                message = f"TPU_TOPOLOGY is {variable.value}, but the pods are on a slice of {row.topology}"
                hint = "remove the variable TPU_TOPOLOGY: GKE sets it"
                yield Finding(variable.path, message, hint, variable.removal)


@rule("TPU159", POD_KINDS, "warning")
def _on_cpu(resource: Resource, objects: ObjectSet) -> Findings:
    """Find containers with chips whose JAX is told to use the CPU; Pathways has its own client."""
    if is_pathways(resource):
        return
    for pods in resource.pods:
        for place, container in pods.containers:
            limits = (mapping(at(container, "resources", key)) for key in ("requests", "limits"))
            if not any(TPU in limit for limit in limits):
                continue
            for variable in variables(resource, place, container, objects):
                first = variable.value.partition(",")[0].strip().lower()
                # A script may give one of its commands the CPU.
                is_for_all = variable.path[-2] in ("env", "envFrom")
                if variable.name in _PLATFORMS and first == "cpu" and is_for_all:
                    name, value = variable.name, variable.value
                    message = f"the container requests chips, but {name} is {value}: JAX uses the CPU"
                    written = {(*variable.path, "value"): "tpu,cpu"}
                    fix = edit.write(resource.data, written, safe=False) if variable.is_written else None
                    yield Finding(variable.path, message, fix=fix)


_SHELL = re.compile(r"(?:.*/)?(?:bash|sh|dash|ash)")
_READS_SCRIPT = re.compile(r"-[a-z]*c")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|[$<>]\(+[^()]*\)""")
_HANDLED = re.compile(r"\b(?:exec|trap|tini|dumb-init)\b")
_OWN = "cd|done|echo|esac|exit|export|false|fi|printf|return|set|true|unset|wait"
_CHILD = re.compile(rf"""[^"'`<>|&]*[<>|&][^"'`]*|\s*(?:[(:\[}}]|(?:{_OWN})\b)[^"'`]*""")
"""A command for which bash stays as its parent: with a pipe or a redirection, or a builtin."""
_GRACE = 30
"""The default seconds between SIGTERM and SIGKILL."""


def _script(container: dict[str, Any]) -> tuple[Path, str]:
    """Return the script that a shell reads from command and args, and its place in the container."""
    lists = ((key, words(container.get(key))) for key in ("command", "args"))
    listed = [((key, index), word) for key, of_key in lists for index, word in of_key]
    is_shell = listed and _SHELL.fullmatch(listed[0][1])
    scripts = (script for (_, option), script in pairwise(listed) if _READS_SCRIPT.fullmatch(option))
    return next(scripts, ((), "")) if is_shell else ((), "")


def _stays(script: str) -> bool:
    """Tell whether the shell surely waits for its last command; bash replaces itself with a simple one."""
    lines = (line.strip("; ") for line in script.replace("\\\n", " ").splitlines())
    last = [line for line in lines if line and not line.startswith("#")][-1:]
    command = re.split("&&|;", _QUOTED.sub("_", "".join(last)))[-1]
    return bool(_CHILD.fullmatch(command)) and not _HANDLED.search(script)


@rule("TPU179", POD_KINDS, "note")
def _no_signal(resource: Resource, _objects: ObjectSet) -> Findings:
    for pods in resource.pods:
        grace = number(pods.spec.get("terminationGracePeriodSeconds")) or _GRACE
        if grace <= _GRACE and SPOT not in pods.selector:
            continue
        for path, container in pods.containers:
            place, script = _script(container)
            if at(container, "resources", "limits", TPU) is not None and _stays(script):
                message = "the shell gets SIGTERM and does not pass it on to the program"
                yield Finding((*path, *place), message)
