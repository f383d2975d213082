"""One mistake, one report: a rule that says the same in better words speaks for the schema or CEL.

The verdict stays: a finding gives way only to another error of the same object, or of the TPUWorkload that
the object was rendered from.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slicewright.core.problem import Path, Problem

_OF_VALUES = frozenset({"SCHEMA004", "SCHEMA006", "SCHEMA007"})
"""Findings about the very value (or key) at their path: unknown, none of the choices, out of range.

What is missing (SCHEMA005) or has no form (SCHEMA008) is reported at the place of its holder, where a rule
may speak of something else.
"""
_CEL = "CEL001"
_UNPORTABLE, _DISPUTED = "YAML006", "YAML007"
_OF_INPUT = {"FIT120": "REF151", "FIT102": "REF152"}
"""A rule of runs, and the problem of a TPUWorkload that names the field behind it."""
SAID_BY = {
    "StartupPolicy and DependsOn APIs are mutually exclusive": "JS117",
    "namespace cannot be set for VolumeClaimPolicies templates": "JS118",
    "flavors must have the same number of resources as the coveredResources": "KQ101",
    "borrowingLimit must be nil when cohort is empty": "KQ103",
    "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never": "KQ108",
    "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor": "KQ109",
    "operator must be Exists when 'key' is empty, which means 'match all values and all keys'": "KQ113",
    "effect must be 'NoExecute' when 'tolerationSeconds' is set": "KQ113",
    "supported toleration values: 'Equal'(default), 'Exists'": "KQ113",
    "a value must be empty when 'operator' is 'Exists'": "KQ113",
    "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'": "KQ113 KQ114",
    "at least one nodeLabel is required when topology is set": "KQ115",
    "the kubernetes.io/hostname label can only be used at the lowest level of topology": "KQ116",
    "exactly one of the fields in [kubeConfig clusterProfileRef] must be set": "KQ117",
    "Flex Start provisioning model is incompatible with Spot": "TPU128",
}
"""The message of a CEL rule, and the rules that point at the same mistake at its place or below."""


def without_doubles(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems without those of schemas and CEL that a rule reports too, as an error."""
    clear = _without_disputes(problems)
    inputs = of_inputs(clear)
    everything = tuple(one for one in clear if said_of_input(one, inputs) is None)
    by_rules: dict[tuple[str, str], list[tuple[str, Path]]] = defaultdict(list)
    for problem in everything:
        if problem.severity == "error" and not problem.id.startswith(("SCHEMA", _CEL)):
            by_rules[problem.file, problem.object].append((problem.id, problem.path))
    if not by_rules:
        return everything
    return tuple(
        problem
        for problem in everything
        if not _is_said(problem, by_rules.get((problem.file, problem.object), []))
    )


def of_inputs(problems: Iterable[Problem]) -> dict[tuple[str, str], Problem]:
    """Return the problems of TPUWorkloads that name the mistake behind a finding of a rule."""
    return {(one.id, one.object): one for one in problems if one.id in _OF_INPUT.values()}


def said_of_input(problem: Problem, inputs: Mapping[tuple[str, str], Problem]) -> Problem | None:
    """Return the problem of the TPUWorkload that names the mistake behind a finding of its run, if any."""
    workload = "/".join(problem.folder.split("/")[2:])
    return inputs.get((_OF_INPUT.get(problem.id, ""), f"TPUWorkload {workload}"))


def _without_disputes(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Leave out that kustomize reads a number otherwise where nobody can read it: quotes mend both."""
    everything = tuple(problems)
    unportable = {(one.file, one.line, one.column) for one in everything if one.id == _UNPORTABLE}
    return tuple(
        one for one in everything if one.id != _DISPUTED or (one.file, one.line, one.column) not in unportable
    )


def _is_said(problem: Problem, by_rules: list[tuple[str, Path]]) -> bool:
    if problem.id in _OF_VALUES:
        return any(path == problem.path for _, path in by_rules)
    if problem.id == _CEL:
        rules = SAID_BY.get(problem.message, "").split()
        return any(ident in rules and path[: len(problem.path)] == problem.path for ident, path in by_rules)
    return False
