"""Which findings are reported: ids, families and severities that are asked for, and rules that apply here."""

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from slicewright.check.sync_scope import about_gitops, is_gitops_seen, needs_gitops
from slicewright.kubernetes.problem import SEVERITIES, Problem, Severity, family
from slicewright.objects import Resource

_UNREAD = ("FILE", "TOOL", "EXT", "YAML", "KUS0")
"""How ids begin that say why something was not checked."""


def names(selector: str, ident: str) -> bool:
    """Tell whether a selector, an id or the letters of a family, names an id."""
    return selector in (ident, family(ident))


def keeps_unchecked(problem: Problem) -> bool:
    """Tell whether something was not checked because of an error."""
    return problem.severity == "error" and problem.id.startswith(_UNREAD)


def is_below(file: str, folders: Iterable[str]) -> bool:
    """Tell whether a file, as reports name it, is one of some folders or below; '' and '.' are this one."""
    return any(
        f"{file}/".startswith(f"{folder}/") if folder not in ("", ".") else not file.startswith(("/", "../"))
        for folder in folders
    )


class Selection(Struct, frozen=True):
    """What somebody asks to be told.

    `only` hides no error that keeps an object from being checked, and nothing hides a missing tool.
    """

    disabled: Collection[str] = ()
    only: Collection[str] = ()
    least: Severity = "note"
    gitops: bool = False
    """Whether all that is checked is synced by a GitOps tool."""

    def select(
        self, problems: Sequence[Problem], resources: Iterable[Resource], ours: Collection[str]
    ) -> tuple[Problem, ...]:
        """Return the problems that are reported; `ours` are files and folders of our own tree."""
        apply = problems if self.gitops else about_gitops(problems, resources, ours)
        return tuple(filter(self.names, apply))

    def is_idle(self, resources: Iterable[Resource], ours: Collection[str]) -> Callable[[str], bool]:
        """Return what tells whether nothing is reported of a rule, whatever it finds in some objects."""
        is_seen = self.gitops or bool(ours) or is_gitops_seen(resources)
        return lambda ident: not is_seen and needs_gitops(ident)

    def names(self, problem: Problem) -> bool:
        """Tell whether somebody asks for a problem."""
        if SEVERITIES.index(problem.severity) > SEVERITIES.index(self.least):
            return False
        if problem.id == "TOOL001":
            return True
        if self.only and not any(names(selector, problem.id) for selector in self.only):
            return keeps_unchecked(problem)
        return not any(names(selector, problem.id) for selector in self.disabled)


ALL = Selection(gitops=True)
