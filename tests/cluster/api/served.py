"""A client of a cluster that a test writes down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slicewright.cluster.api.api_error import ApiError
from slicewright.cluster.api.read_only import ReadOnly

if TYPE_CHECKING:
    from slicewright.kubernetes.types import Object


class Served(ReadOnly):
    """A client of a cluster that is written down: an answer, or the code of a refusal, by path."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers
        self._resources = {}
        self.asked: list[tuple[str, Object]] = []

    def request(self, method: str, path: str, body: Object | None = None, **options: Any) -> Object:
        """Give the answer. Raises ApiError."""
        assert ("GET", None) == (method, body)
        self.asked.append((path, options.get("params") or {}))
        answer = self._answers.get(path, 404)
        if isinstance(answer, int):
            raise ApiError(answer, {"message": f"{answer} at {path}"})
        found: Object = answer
        return found
