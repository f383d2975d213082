"""Regular expressions of users, matched in linear time, as in Go."""

from collections.abc import Callable
from functools import lru_cache

import jsonschema_rs

LINEAR = jsonschema_rs.RegexOptions(size_limit=1 << 20)
"""The engine without backtracking, for schemas; a pattern that takes more than a MiB does not compile."""


@lru_cache(maxsize=1024)
def whole(pattern: str) -> Callable[[str], bool] | None:
    """Return what tells whether a pattern matches a text as a whole.

    None if the engine does not take the pattern: look-around, references back, syntax of Go alone.
    """
    schema = {"pattern": f"^(?:{pattern})$"}
    try:
        return jsonschema_rs.Draft7Validator(schema, pattern_options=LINEAR).is_valid
    except (jsonschema_rs.ValidationError, ValueError):
        return None
