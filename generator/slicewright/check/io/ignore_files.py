"""The `.slicewright-ignore.yaml` files of what is checked: in its folder, and above in its repository."""

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from slicewright.check.suppress import FILE_NAME, Entry, Ignores, read_ignores
from slicewright.document.io import read_file
from slicewright.kubernetes.problem import Problem


def read_ignore_files(
    root: Path, known: Callable[[], Iterable[str]] = tuple, folders: Iterable[str] = ()
) -> Ignores:
    """Return the entries of all ignore files that apply to `root` or to one of some folders; they add up.

    Names are reported relative to `root`. `known` returns the ids of all rules, for hints about misspelt
    ones.
    """
    base = str(root.absolute())
    is_top = cache(lambda place: os.path.lexists(f"{place}/.git"))
    places = {place for folder in {base, *folders} for place in _above(folder, base, is_top)}
    entries: list[Entry] = []
    problems: list[Problem] = []
    for folder in sorted(place for place in places if os.path.lexists(f"{place}/{FILE_NAME}")):
        name = os.path.relpath(f"{folder}/{FILE_NAME}", base)
        text = read_file(f"{folder}/{FILE_NAME}", name)
        if isinstance(text, Problem):
            is_file = Path(folder, FILE_NAME).is_file()
            problems.append(text if is_file else replace(text, hint="put a file there, or delete it"))
        else:
            ignores = read_ignores(text, name, known(), folder, base)
            entries += ignores.entries
            problems += ignores.problems
    return Ignores(tuple(entries), tuple(problems))


def _above(folder: str, base: str, is_top: Callable[[str], bool]) -> list[str]:
    """Return a folder and those above it, up to the top of its git repository.

    Without one the last is `base`; a folder elsewhere is alone, because what is above may be anybody's.
    """
    way = [folder]
    while not is_top(way[-1]) and (above := way[-1].rpartition("/")[0] or "/") != way[-1]:
        way.append(above)
    if is_top(way[-1]):
        return way
    return way[: way.index(base) + 1] if base in way else way[:1]
