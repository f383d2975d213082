"""Typed access to the mappings of a catalogue file; whatever is wrong is said with its place."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches


class CatalogueError(ValueError):
    """An error in a data file: the text names file and row, `path` is the place."""

    def __init__(self, where: str, mistake: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(f"{where}: {mistake}")
        self.path = path


class Fields:
    """The fields of one mapping: each is read once, by its type, and `finish` refuses what nobody read."""

    def __init__(self, value: object, where: str, path: tuple[str | int, ...] = ()) -> None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise CatalogueError(where, "must be a mapping with text keys", path)
        self.where = where
        self._path = path
        self._left: dict[str, object] = dict(value)

    def wrong(self, mistake: str) -> CatalogueError:
        """Return the error that says where it is."""
        return CatalogueError(self.where, mistake, self._path)

    def _invalid(self, key: str, mistake: str) -> CatalogueError:
        """Return the error of a value, or of its key where that is missing or misspelt."""
        if key in self._left:
            return self.wrong(f"{key} {mistake}")
        near = get_close_matches(key, self._left, 1, 0.8)
        return self.wrong(f"unknown key '{near[0]}'" if near else f"'{key}' is missing")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; one without a default must be there and not be empty."""
        value = self._left.get(key, default)
        if not isinstance(value, str):
            raise self._invalid(key, "must be a text")
        self._left.pop(key, None)
        return value

    def number(self, key: str) -> int:
        """Return a positive number that must be there."""
        value = None if self._left.get(key) is None else self.number_or_none(key)
        if value is None:
            raise self._invalid(key, "must be a positive number")
        return value

    def number_or_none(self, key: str) -> int | None:
        """Return a positive number, None if it is absent."""
        value = self._left.pop(key, None)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return value
        raise self.wrong(f"{key} must be a positive number")

    def flag(self, key: str) -> bool:
        """Return a boolean that must be there."""
        value = None if self._left.get(key) is None else self.flag_or_none(key)
        if value is None:
            raise self._invalid(key, "must be true or false")
        return value

    def flag_or_none(self, key: str) -> bool | None:
        """Return a boolean, None if it is absent."""
        value = self._left.pop(key, None)
        if value is None or isinstance(value, bool):
            return value
        raise self.wrong(f"{key} must be true or false")

    def texts(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of texts, the default where it is absent."""
        value = self._left.pop(key, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(f"{key} must be a list of texts")
        return tuple(value)

    def fields(self, key: str) -> Fields:
        """Return a mapping inside this one, empty if it is absent."""
        return Fields(self._left.pop(key, {}), f"{self.where}: {key}", (*self._path, key))

    def fields_or_none(self, key: str) -> Fields | None:
        """Return a mapping inside this one, None if it is absent."""
        return self.fields(key) if key in self._left else None

    def each(self, key: str, name: str) -> Iterator[Fields]:
        """Yield the mappings of a list, each named by one of its fields; refuse what was not read of it."""
        value = self._left.pop(key, [])
        if not isinstance(value, list):
            raise self.wrong(f"{key} must be a list")
        for index, item in enumerate(value):
            label = item.get(name, index) if isinstance(item, dict) else index
            entry = Fields(item, f"{self.where}: {key} {label}", (*self._path, key, index))
            yield entry
            entry.finish()

    def unread(self) -> tuple[str, ...]:
        """Return the names of the fields that were not read yet."""
        return tuple(self._left)

    def finish(self) -> None:
        """Refuse fields that nobody read."""
        if self._left:
            raise self.wrong(f"unknown key '{min(self._left)}'")
