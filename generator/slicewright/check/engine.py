"""Items -> problems, each object by itself: its schema, then list maps and CEL."""

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slicewright.check import cel
from slicewright.check.kind_schemas import BadSchemaError, KindChecks, KindSchemas
from slicewright.check.kueue_conversion import to_v1beta2
from slicewright.check.schema_messages import explained, unknown_kind
from slicewright.check.unpack import nested, outside
from slicewright.document.edit import vouched
from slicewright.kubernetes.kinds import KUEUE_GROUP, V1BETA2_SINCE, Removed
from slicewright.kubernetes.problem import Problem, Severity, did_you_mean
from slicewright.objects import Resource, grouped

Verdict = Literal["accepted", "refused", "unknown", "skipped"]
"""What the schema says: `unknown` if there is none, `skipped` if the caller asked for no check."""

_ASK = "ask the API server: kubectl apply --dry-run=server"
_MISSING = "SCHEMA005"


class SkipKind(Struct, frozen=True):
    """A kind that is not to be checked: `Kind`, `Kind.group`, `*.group` or `group/version/Kind`."""

    text: str

    def matches(self, resource: Resource) -> bool:
        """Tell whether an object is of this kind; `*` stands for any text."""
        api_version = str(resource.data.get("apiVersion", ""))
        names = resource.kind, f"{resource.kind}.{resource.group}", f"{api_version}/{resource.kind}"
        return any(fnmatchcase(name, self.text) for name in names)


class Engine:
    """Checks objects in process, with schemas compiled when they are needed."""

    def __init__(
        self,
        schemas: KindSchemas,
        skip: Iterable[SkipKind] = (),
        removed: Callable[[], Removed] = dict,
        *,
        requires_schemas: bool = True,
    ) -> None:
        """Take the schemas, the kinds to skip, and the APIs that are no longer served.

        Without `requires_schemas`, a kind without a schema gets a note if it may be from a CRD.
        """
        self._schemas = schemas
        self._skip = tuple(skip)
        self._removed = removed
        self._requires_schemas = requires_schemas

    def skips(self, resource: Resource) -> bool:
        """Tell whether the caller asked for no check of this kind."""
        return any(skip.matches(resource) for skip in self._skip)

    def idle_skips(self, resources: Iterable[Resource]) -> Iterator[Problem]:
        """Yield a warning for each --skip-kind that matches no object: it may be misspelt."""
        objects = [first for first, *_ in grouped(resources, _kind_of).values()]
        for skip in self._skip:
            if not any(map(skip.matches, objects)):
                message = f"--skip-kind {skip.text}: no object has this kind"
                hint = did_you_mean(skip.text, {resource.kind for resource in objects})
                yield Problem("IGN104", message, hint or "leave the option out", "warning")

    def unevaluated(self, resources: Iterable[Resource]) -> Iterator[Problem]:
        """Yield a warning for each kind with CEL rules that are not evaluated, at its first object."""
        for resource, *_ in grouped(resources, _kind_of).values():
            rules = self._unevaluated(resource)
            if rules:
                named = "; ".join(f"'{rule}'" for rule in rules)
                message = f"CEL rules of {resource.kind} are not evaluated: {named}"
                yield resource.problem("SCHEMA012", ("kind",), message, _ASK, severity="warning")

    def without_schema(self, resources: Iterable[Resource]) -> Iterator[Problem]:
        """Yield a note for each kind that has no schema, at its first object, with the number of objects."""
        for first, *more in grouped(() if self._requires_schemas else resources, _kind_of).values():
            problem = unknown_kind(first, self._schemas, self._removed())
            if problem.severity == "note":
                count = f"{len(more) + 1:,} objects are" if more else "1 object is"
                yield replace(problem, message=f"{problem.message}: {count} checked by no schema")

    def is_clean(self, resource: Resource, verdict: Verdict) -> bool:
        """Tell whether an object has no problem of its own or of its kind."""
        if verdict != "accepted" or self._unevaluated(resource):
            return verdict == "skipped"
        return next(self.object_problems(resource, verdict), None) is None

    def _unevaluated(self, resource: Resource) -> tuple[str, ...]:
        checks = self._checks(resource)
        if checks is None:
            return ()
        return checks.unevaluated

    def _checks(self, resource: Resource) -> KindChecks | None:
        """Return what is known about a kind; None if the kind is skipped, or if its schema is broken."""
        try:
            return None if self.skips(resource) else self._schemas.find(resource)
        except BadSchemaError:
            return None

    def verdict(self, resource: Resource) -> Verdict:
        """Return what the schema of an object's kind says, without reasons."""
        checks = self._checks(resource)
        if checks is None:
            return "skipped" if self.skips(resource) else "unknown"
        if checks.validator.is_valid(resource.data):
            return "accepted"
        lacks_status = "status" in resource.data and not any(_refusals(checks, resource))
        return "accepted" if lacks_status else "refused"

    def object_problems(self, resource: Resource, verdict: Verdict) -> Iterator[Problem]:
        """Yield everything that can be said of one object alone, once its verdict is known."""
        yield from self.schema_problems(resource, verdict)
        yield from self.key_problems(resource)
        if not self.skips(resource):
            yield from self._nested_problems(resource)

    def has_added_schema(self, resource: Resource) -> bool:
        """Tell whether the caller added a schema for an object's kind."""
        return self._schemas.is_added(resource)

    def is_mistaken(self, resource: Resource) -> bool:
        """Tell whether an object has a kind that was removed, or an apiVersion or a kind that is misspelt."""
        if self._checks(resource) or self.skips(resource):
            return False
        return unknown_kind(resource, self._schemas, self._removed()).severity == "error"

    def schema_problems(self, resource: Resource, verdict: Verdict | None = None) -> Iterator[Problem]:
        """Yield the problems of an object by its schema; `verdict` is that of the schema, if it is known."""
        verdict = verdict or self.verdict(resource)
        if verdict == "skipped":
            return
        try:
            checks = self._schemas.find(resource)
        except BadSchemaError as error:
            yield resource.problem(
                "SCHEMA010", ("kind",), str(error), "repair the file, or leave it out of --schema"
            )
            return
        if checks is None:
            problem = unknown_kind(resource, self._schemas, self._removed())
            if self._requires_schemas or problem.severity == "error":
                yield replace(problem, severity="error")
            return
        if checks.deprecated:
            yield _deprecated(resource, checks.deprecated)
        if verdict == "refused":
            for problem in _refusals(checks, resource):
                yield resource.placed(vouched(problem, resource.data, checks.validator))

    def key_problems(self, resource: Resource) -> Iterator[Problem]:
        """Yield what JSON Schema cannot say of one object: duplicate keys, and what CEL refuses.

        A rule without a result is not reported beside a schema that refuses the object: the API server does
        not evaluate rules then.
        """
        checks = self._checks(resource)
        if checks is not None:
            yield from _duplicates(resource, checks)
            for refused in cel.refused(checks.cel, resource.data, checks.defaults):
                if refused.is_certain:
                    hint = f"the API server refuses it by the rule {refused.rule}"
                    yield resource.problem("CEL001", refused.path, refused.message, hint)
                elif self.verdict(resource) != "refused":
                    message = f"a CEL rule of {resource.kind} has no result here: '{refused.rule}'"
                    yield resource.problem("SCHEMA012", refused.path, message, _ASK, severity="warning")

    def _nested_problems(self, resource: Resource) -> Iterator[Problem]:
        """Yield the problems of a controller's configuration inside a ConfigMap."""
        for part in nested(resource):
            if isinstance(part, Resource):
                for problem in (*self.schema_problems(part), *self.key_problems(part)):
                    yield outside(resource, problem)
            else:
                yield part


def _kind_of(resource: Resource) -> tuple[str, str]:
    return str(resource.data["apiVersion"]), resource.kind


def _refusals(checks: KindChecks, resource: Resource) -> Iterator[Problem]:
    """Yield what a schema refuses in an object, except for fields that its status lacks.

    The API server does not require them: it drops the status of a new object, or stores it unchecked (Node).
    """
    refused = list(checks.validator.iter_errors(resource.data))
    for problem in explained(checks.schema, refused, resource.data):
        if problem.id != _MISSING or problem.path[:1] != ("status",):
            yield problem


def _deprecated(resource: Resource, warning: str) -> Problem:
    message, hint = f"{resource.data['apiVersion']} {resource.kind} is deprecated", warning
    fix = None
    if resource.group == KUEUE_GROUP:
        fix = to_v1beta2(resource.data)
        hint = f"write {KUEUE_GROUP}/v1beta2, which Kueue serves from {'.'.join(map(str, V1BETA2_SINCE))} on"
    return resource.problem("SCHEMA009", ("apiVersion",), message, hint, severity="warning", fix=fix)


def _duplicates(resource: Resource, checks: KindChecks) -> Iterator[Problem]:
    for entry in checks.list_maps.duplicates(resource.data):
        keys = ", ".join(f"{key} {value!r}" for key, value in entry.keys if value is not None)
        message = f"duplicate {keys} in '{entry.path[-2]}' (first at index {entry.first})"
        hint = "remove one of the two, or rename it"
        if entry.tolerated:
            message += "; server-side apply cannot tell the two apart"
        severity: Severity = "warning" if entry.tolerated else "error"
        yield resource.problem("MAP001", entry.path, message, hint, severity=severity)
