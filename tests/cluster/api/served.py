"""A client of a cluster that a test writes down."""

import json
from http import HTTPStatus
from typing import Any

from slicewright.cluster.api.read_only import ReadOnly
from slicewright.kubernetes.types import Object


class Served(ReadOnly):
    """A client of a cluster that is written down: an answer, or the code of a refusal, by path."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers
        self._resources = {}
        self.asked: list[tuple[str, Object]] = []

    def raw(self, method: str, path: str, body: Object | None = None, **options: Any) -> tuple[int, bytes]:
        """Give status and text of the answer."""
        assert ("GET", None) == (method, body)
        self.asked.append((path, options.get("params") or {}))
        answer = self._answers.get(path, 404)
        if isinstance(answer, int):
            return answer, json.dumps({"message": f"{answer} at {path}"}).encode()
        return HTTPStatus.OK, json.dumps(answer).encode()
