"""The Python interface: load a repository, plan its runs, render its tree, compose an overlay.

>>> from slicewright import load, plan, render
>>> checkout = load(".")
>>> for entry in plan(checkout).plans:
...     print(entry.name, entry.shape.chips * entry.slices)
"""

from pathlib import Path

from msgspec import Struct

from slicewright.kubernetes.problem import Problem, in_order
from slicewright.project.judge import judged
from slicewright.project.repository_reader import (
    Checkout,
    NoRepositoryError,
    WrongVersionError,
    find_root,
    read_checkout,
)
from slicewright.rendering.changes import render as _render
from slicewright.rendering.compose import Composed
from slicewright.rendering.compose import compose as _compose
from slicewright.rendering.plan.plan import Plan
from slicewright.rendering.plans import plan_all
from slicewright.rendering.rendering import Rendering

__all__ = [
    "Checkout",
    "Composed",
    "NoRepositoryError",
    "Plans",
    "Rendering",
    "WrongVersionError",
    "compose",
    "load",
    "plan",
    "render",
]


class Plans(Struct, frozen=True):
    """The plans of a repository: one for each workload on each of its clusters."""

    plans: tuple[Plan, ...]
    problems: tuple[Problem, ...]


def load(path: str | Path = ".") -> Checkout:
    """Read the repository at a path or above it: settings, clusters, workloads and the existing tree.

    Problems of its files are in `Checkout.repository.problems`. Raises NoRepositoryError if no
    slicewright.yaml is found, and WrongVersionError where it requires another version of slicewright.
    """
    return read_checkout(find_root(Path(path)))


def plan(checkout: Checkout) -> Plans:
    """Return every number and every name of every run, and all problems."""
    planned, problems = plan_all(checkout.repository)
    return Plans(tuple(entry.plan for entry in planned), in_order(problems))


def render(checkout: Checkout, names: frozenset[str] | None = None) -> Rendering:
    """Return the files that the tree should have, compared with those that it has; nothing is written.

    `names` limits the change to some workloads, each `namespace/name`.
    """
    return judged(checkout, _render(checkout.repository, checkout.existing, names))


def compose(checkout: Checkout, folder: str) -> Composed:
    """Return the objects of a kustomization folder, its path relative to the repository."""
    return _compose(folder, checkout.repository.read_text)
