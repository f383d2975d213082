"""The pods that an object makes, whatever its kind: the only walk over pod templates."""

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Any

from msgspec import Struct

from slicewright.kubernetes.fields import at, count, entries, mapping, number, sequence, text, texts, words
from slicewright.kubernetes.kinds import EACH, MAKERS, PODS_OF, Template, Way
from slicewright.kubernetes.labels import ACCELERATOR, TOPOLOGY, TPU
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import amount
from slicewright.kubernetes.types import Object

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_TERMS = ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
"""The path to the terms; a node must match one of them."""
_Place = tuple[Path, tuple[Any, ...]]


class Pods(Struct, frozen=True, dict=True):
    """The pods that one template makes, and the Job around it."""

    path: Path
    """The path to the template, which has `metadata` and `spec`."""
    template: dict[str, Any]
    job: dict[str, Any]
    """The Job's spec; empty for pods of no Job."""
    job_path: Path
    job_metadata: dict[str, Any]
    name: str = ""
    """The name of the replicatedJob, or what else Kueue calls these pods."""
    replicas: int = 1
    """How many such Jobs there are, or pods of one Workload if there is no Job."""
    replicas_path: Path = ()
    """The path to the field that says so; empty if no field does."""

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The pod's spec."""
        return mapping(self.template.get("spec"))

    @property
    def spec_path(self) -> Path:
        """The path to the pod's spec."""
        return (*self.path, "spec")

    @cached_property
    def annotations(self) -> dict[str, str]:
        """The pod's annotations."""
        return texts(at(self.template, "metadata", "annotations"))

    @cached_property
    def labels(self) -> dict[str, str]:
        """The pod's labels."""
        return texts(at(self.template, "metadata", "labels"))

    @cached_property
    def job_annotations(self) -> dict[str, str]:
        """The annotations of the Job around the template."""
        return texts(self.job_metadata.get("annotations"))

    @cached_property
    def containers(self) -> tuple[tuple[Path, dict[str, Any]], ...]:
        """The containers that run in parallel, with their paths."""
        return self._with_paths("containers")

    @cached_property
    def init_containers(self) -> tuple[tuple[Path, dict[str, Any]], ...]:
        """The init containers, sidecars among them, with their paths."""
        return self._with_paths("initContainers")

    @cached_property
    def variables(self) -> tuple[tuple[str, Any], ...]:
        """The names and values of the variables of all containers."""
        env = chain.from_iterable(entries(container.get("env")) for _, container in self.containers)
        return tuple((text(entry.get("name")), entry.get("value")) for _, entry in env)

    @cached_property
    def script(self) -> str:
        """The commands and arguments of all containers, one a line."""
        keys = product(self.containers, ("command", "args"))
        return "\n".join(word for (_, container), key in keys for _, word in words(container.get(key)))

    def _with_paths(self, key: str) -> tuple[tuple[Path, dict[str, Any]], ...]:
        return tuple(((*self.spec_path, key, index), entry) for index, entry in entries(self.spec.get(key)))

    @cached_property
    def selector(self) -> dict[str, str]:
        """The node labels that the pods insist on: nodeSelector, and node affinity to a single value."""
        terms = sequence(at(self.spec, *NODE_TERMS))
        labels: dict[str, str] = {}
        if len(terms) == 1:
            for _, expression in entries(at(terms[0], "matchExpressions")):
                values = sequence(expression.get("values"))
                if expression.get("operator") == "In" and len(values) == 1 and isinstance(values[0], str):
                    labels[text(expression.get("key"))] = values[0]
        return labels | texts(self.spec.get("nodeSelector"))

    @property
    def tolerations(self) -> list[dict[str, Any]]:
        """The tolerations of the pods."""
        return [entry for _, entry in entries(self.spec.get("tolerations"))]

    def selector_path(self, key: str) -> Path:
        """Return the path to a label of the node selector, else to the pod's spec."""
        if key in mapping(self.spec.get("nodeSelector")):
            return (*self.spec_path, "nodeSelector", key)
        return self.spec_path

    @cached_property
    def chips(self) -> int:
        """Chips that one pod asks for: the sum over its containers, or more where an init container does."""
        running = sum(_chips(container) for _, container in self.containers)
        return max([running, *(_chips(container) for _, container in self.init_containers)])

    @cached_property
    def asks_for_tpu(self) -> bool:
        """Whether a container requests chips, or limits them."""
        return any(
            TPU in mapping(resources.get("requests")) or TPU in mapping(resources.get("limits"))
            for _, container in (*self.containers, *self.init_containers)
            if isinstance(resources := container.get("resources"), dict)
        )

    @property
    def is_tpu(self) -> bool:
        """Whether the pods request chips, or select the nodes that have them."""
        return ACCELERATOR in self.selector or TOPOLOGY in self.selector or self.asks_for_tpu

    @cached_property
    def parallelism(self) -> int:
        """Pods of one Job that run in parallel; the Job API's default is 1."""
        return count(self.job.get("parallelism"))

    @cached_property
    def pods_per_job(self) -> int:
        """Pods of one Job that count for Kueue: parallelism, or completions where they are fewer."""
        completions = number(self.job.get("completions"))
        return self.parallelism if completions is None else min(self.parallelism, completions)

    @property
    def slices(self) -> int:
        """Slices of a run: the Jobs. Pods of no Job are one slice, as each Workload of Kueue is."""
        return self.replicas if self.job_path else 1

    @property
    def hosts(self) -> int:
        """Pods of each slice of a run."""
        return self.pods_per_job if self.job_path else self.replicas

    @property
    def count(self) -> int:
        """How many pods of one Workload Kueue counts."""
        return max(0, self.replicas * self.pods_per_job)


def flags(container: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """Return the flags of a container: name to (index in args, value)."""
    by_name: dict[str, tuple[int, str]] = {}
    for index, word in words(container.get("args")):
        if word.startswith("--"):
            name, _, value = word.partition("=")
            by_name.setdefault(name, (index, value))
    return by_name


def _chips(container: dict[str, Any]) -> int:
    amounts = (amount(at(container, "resources", key, TPU)) for key in ("requests", "limits"))
    return int(next((chips for chips in amounts if chips is not None), 0))


def pods_of(data: Object, kind: str) -> tuple[Pods, ...]:
    """Return the pod templates of an object of any kind."""
    pods = PODS_OF.get(kind)
    if pods is None:
        return ()
    make = _job_pods if pods.of_job else _pods
    return tuple(
        make(template, path, steps)
        for template in pods.templates
        for path, steps in along(template.way, data)
        if isinstance(steps[-1], dict) or pods.of_job or EACH in template.way
    )


def maker(pod: Object) -> tuple[str, str]:
    """Return kind and name of the run that creates a pod, by its labels; empty for other pods."""
    labels = pod["metadata"].get("labels", {})
    return next(((kind, labels[key]) for key, kind in MAKERS.items() if labels.get(key)), ("", ""))


def along(way: Way, value: Any, path: Path = (), before: tuple[Any, ...] = ()) -> Iterator[_Place]:
    """Yield the paths that match a pattern, each with the values along it."""
    for at_step, step in enumerate(way):
        before = (*before, value)
        if step == EACH:
            each = enumerate(value) if isinstance(value, list) else mapping(value).items()
            for key, entry in each:
                if isinstance(entry, dict):
                    yield from along(way[at_step + 1 :], entry, (*path, key), before)
            return
        value, path = mapping(value).get(step), (*path, step)
    yield path, (*before, value)


def _pods(template: Template, path: Path, steps: tuple[Any, ...]) -> Pods:
    """Return the pods of a template that no Job is around."""
    holder = mapping(steps[-2]) if len(steps) > 1 else {}
    name = template.name or text(holder.get("groupName")) or text(holder.get("name"))
    replicas = prod(number(holder.get(key), default) or 0 for key, default in template.factors)
    less = isinstance(holder.get(template.without), dict)
    counted: Path = ()
    if template.factors:
        counted = (*path[:-1], template.factors[0][0])
    return Pods(path, mapping(steps[-1]), {}, (), {}, name, replicas - less, counted)


def _job_pods(template: Template, path: Path, steps: tuple[Any, ...]) -> Pods:
    job, metadata = mapping(steps[-2]), mapping(mapping(steps[-3]).get("metadata"))
    holder: Object = {}
    counted: Path = ()
    if EACH in template.way:
        holder = mapping(steps[-4])
        counted = (*path[:-3], "replicas")
    name, replicas = text(holder.get("name")), count(holder.get("replicas"))
    return Pods(path, mapping(steps[-1]), job, path[:-1], metadata, name, replicas, counted)
