"""Items -> problems, each object by itself: its schema, then list maps and CEL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from slicewright.core.check import cel
from slicewright.core.check.explain import explained
from slicewright.core.check.item import Item
from slicewright.core.check.kinds import BadSchemaError
from slicewright.core.check.nested import nested, outside
from slicewright.core.problem import Problem, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slicewright.core.check.kinds import KindChecks, KindSchemas

Verdict = Literal["accepted", "refused", "unknown", "skipped"]
"""What the schema says: `unknown` where there is none, `skipped` where the caller asked for no check."""

_CONVERT = "convert its CRD: slicewright schema CRD.yaml --output-dir DIR; then validate --schema DIR"


@dataclass(frozen=True, slots=True)
class SkipKind:
    """A kind that is not to be checked: `Kind`, `Kind.group` or `group/version/Kind`."""

    text: str

    def matches(self, item: Item) -> bool:
        """Tell whether an object is of this kind."""
        api_version = str(item.data.get("apiVersion", ""))
        return self.text in (item.kind, f"{item.kind}.{item.group}", f"{api_version}/{item.kind}")


class Engine:
    """Checks objects in process, with schemas compiled when they are needed."""

    def __init__(self, schemas: KindSchemas, skip: Iterable[SkipKind] = ()) -> None:
        """Take the schemas, and the kinds that are let pass."""
        self._schemas = schemas
        self._skip = tuple(skip)

    def skips(self, item: Item) -> bool:
        """Tell whether the caller asked for no check of this kind."""
        return any(skip.matches(item) for skip in self._skip)

    def idle_skips(self, items: Iterable[Item]) -> Iterator[Problem]:
        """Yield a warning for each kind that is let pass and that no object is of: it may be misspelt."""
        objects = {(item.data["apiVersion"], item.kind): item for item in items}
        for skip in self._skip:
            if not any(skip.matches(item) for item in objects.values()):
                message = f"--skip-kind {skip.text}: no object is of that kind"
                hint = did_you_mean(skip.text, {item.kind for item in objects.values()})
                yield Problem("IGN104", message, hint or "leave it out", "warning")

    def unevaluated(self, items: Iterable[Item]) -> Iterator[Problem]:
        """Yield a warning for each kind with CEL rules that nobody evaluates here, at its first object."""
        for item in {(item.data["apiVersion"], item.kind): item for item in reversed([*items])}.values():
            rules = self._unevaluated(item)
            if rules:
                named = "; ".join(f"'{rule}'" for rule in rules)
                message = f"CEL rules of {item.kind} are not evaluated: {named}"
                hint = "ask the API server: kubectl apply --dry-run=server"
                yield item.problem("SCHEMA012", ("kind",), message, hint, severity="warning")

    def is_clean(self, item: Item, verdict: Verdict) -> bool:
        """Tell whether there is nothing to say of one object alone, nor of its kind."""
        if verdict != "accepted" or self._unevaluated(item):
            return verdict == "skipped"
        return next(self.object_problems(item, verdict), None) is None

    def _unevaluated(self, item: Item) -> tuple[str, ...]:
        try:
            checks = None if self.skips(item) else self._schemas.find(item)
        except BadSchemaError:
            return ()
        return checks.unevaluated if checks else ()

    def verdict(self, item: Item) -> Verdict:
        """Return what the schema of an object's kind says, without reasons."""
        if self.skips(item):
            return "skipped"
        try:
            checks = self._schemas.find(item)
        except BadSchemaError:
            return "unknown"
        if checks is None:
            return "unknown"
        return "accepted" if checks.validator.is_valid(item.data) else "refused"

    def object_problems(self, item: Item, verdict: Verdict) -> Iterator[Problem]:
        """Yield everything that can be said of one object alone, once its verdict is known."""
        yield from self.schema_problems(item, verdict)
        yield from self.key_problems(item)
        if not self.skips(item):
            yield from self._nested_problems(item)

    def schema_problems(self, item: Item, verdict: Verdict | None = None) -> Iterator[Problem]:
        """Yield what stands against the schema of one object; `verdict` where it is known already."""
        verdict = verdict or self.verdict(item)
        if verdict == "skipped":
            return
        try:
            checks = self._schemas.find(item)
        except BadSchemaError as error:
            yield item.problem(
                "SCHEMA010", ("kind",), str(error), "repair the file, or leave it out of --schema"
            )
            return
        if checks is None:
            yield self._no_schema(item)
            return
        if checks.deprecated:
            yield _deprecated(item, checks.deprecated)
        if verdict == "refused":
            for problem in explained(checks.schema, list(checks.validator.iter_errors(item.data))):
                yield item.placed(problem)

    def key_problems(self, item: Item) -> Iterator[Problem]:
        """Yield what JSON Schema cannot say of one object: keys that come twice, and what CEL refuses."""
        try:
            checks = None if self.skips(item) else self._schemas.find(item)
        except BadSchemaError:
            return
        if checks is not None:
            yield from _twice(item, checks)
            for entry in checks.cel:
                for refused in cel.refused(entry, item.data):
                    hint = f"the API server refuses it by the rule {refused.rule}"
                    yield item.problem("CEL001", refused.path, refused.message, hint)

    def _nested_problems(self, item: Item) -> Iterator[Problem]:
        """Yield what stands against a controller's configuration inside a ConfigMap."""
        for found in nested(item):
            if isinstance(found, Item):
                for problem in (*self.schema_problems(found), *self.key_problems(found)):
                    yield outside(item, problem)
            else:
                yield found

    def _no_schema(self, item: Item) -> Problem:
        api_version = item.data["apiVersion"]
        message = f"there is no schema for {api_version} {item.kind}"
        others = self._schemas.versions(item.group or item.version, item.kind)
        elsewhere = self._schemas.api_versions(item.kind)
        if others:
            hint = f"known versions: {', '.join(others)}; or {_CONVERT}"
        elif elsewhere:
            hint = did_you_mean(api_version, elsewhere) or f"{item.kind} is in {' and '.join(elsewhere)}"
        else:
            hint = f"{_CONVERT}; or let it pass: --skip-kind {item.kind}"
        return item.problem("SCHEMA001", ("kind",), message, hint)


def _deprecated(item: Item, warning: str) -> Problem:
    message = f"{item.data['apiVersion']} {item.kind} is deprecated"
    return item.problem("SCHEMA009", ("apiVersion",), message, warning, severity="warning")


def _twice(item: Item, checks: KindChecks) -> Iterator[Problem]:
    for found in checks.list_maps.duplicates(item.data):
        said = ", ".join(f"{key} {value!r}" for key, value in found.keys if value is not None)
        message = f"duplicate {said} in '{found.path[-2]}' (first at index {found.first})"
        hint = "remove one of the two, or rename it"
        if found.tolerated:
            message += "; server-side apply cannot tell the two apart"
        problem = item.problem("MAP001", found.path, message, hint)
        yield replace(problem, severity="warning") if found.tolerated else problem
