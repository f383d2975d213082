"""Exceptions of the access to a cluster."""

from slicewright.kubernetes.fields import text
from slicewright.kubernetes.problem import Problem
from slicewright.kubernetes.types import Object


class AccessError(Exception):
    """A cluster cannot be used; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text())
        self.problem = problem


class ApiError(Exception):
    """The API server refused a request; `reason` is its reason, `code` the HTTP status."""

    def __init__(self, code: int, status: Object) -> None:
        self.code = code
        self.reason = text(status.get("reason"))
        self.message = text(status.get("message")) or f"HTTP status {code}"
        super().__init__(f"{f'{code} {self.reason}'.rstrip()}: {self.message}")


class Ignored:
    """Ends its block without an error if the API server answers with one of these codes or reasons."""

    def __init__(self, *answers: int | str) -> None:
        self._answers = answers

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        """Tell whether the error is one of them."""
        return isinstance(error, ApiError) and not {error.code, error.reason}.isdisjoint(self._answers)
