"""The CEL rules of CRDs, evaluated by the library common-expression-language.

Rules about a change (`oldSelf`) say nothing about a file. What the library cannot compute as the API server
does has no verdict.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import groupby
from logging import NullHandler, getLogger
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from slicewright.document import json_patch as patch
from slicewright.document.document import MAX_VALUES, values_in
from slicewright.kubernetes.fields import mapping, text, without_nulls
from slicewright.kubernetes.kinds import EACH
from slicewright.kubernetes.problem import Path
from slicewright.kubernetes.quantity import amount


class Refused(Struct, frozen=True):
    """A value that a CEL rule refuses, or that the library cannot judge."""

    path: Path
    rule: str
    message: str
    is_certain: bool = True


def is_known(rule: str) -> bool:
    """Tell whether a rule is evaluated here, or needs no evaluation."""
    return _is_transition(rule) or _is_computable(rule)


def refused(
    entries: Iterable[Mapping[str, str]], data: Any, defaults: Iterable[Mapping[str, Any]] = ()
) -> Iterator[Refused]:
    """Yield every value at the place of a rule that the rule refuses; nothing for a rule that is not known.

    `defaults` are those of the CRD that its rules read.
    """
    known = [
        entry for entry in entries if not _is_transition(entry["rule"]) and _is_computable(entry["rule"])
    ]
    completed = _completed(data, defaults) if known else None
    for place, rules in groupby(known, itemgetter("path")):
        of_place = list(rules)
        for path, value in _values_at(completed, patch.parse_pointer(place)):
            for entry in of_place:
                rule = entry["rule"]
                holds = keeps(rule, value)
                if not holds:
                    message = entry.get("message", "") or f"failed rule: {rule}"
                    yield Refused(path, rule, message, is_certain=holds is not None)


def _is_transition(rule: str) -> bool:
    """Tell whether a rule compares an object with its earlier self."""
    return "oldSelf" in rule


def _completed(data: Any, defaults: Iterable[Mapping[str, Any]]) -> Any:
    """Return an object as the API server validates it: without nulls, with its name and its defaults."""
    filled = without_nulls(data)
    metadata = filled.get("metadata")
    if isinstance(metadata, dict):
        metadata.setdefault("name", f"{text(metadata.get('generateName'))[:_LONGEST_PREFIX]}{_RANDOM}")
    for default in defaults:
        *way, name = patch.parse_pointer(default["path"])
        for _, holder in _values_at(filled, tuple(way)):
            if isinstance(holder, dict):
                holder.setdefault(name, without_nulls(default["value"]))
    return filled


_LONGEST_PREFIX = 58
_RANDOM = "bcdfg"
"""The API server makes a name of the first 58 characters of `generateName`, and of five random ones."""


def _values_at(value: Any, keys: patch.Keys, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the values at a place with their paths; `*` is any element of a list or value of a map."""
    if value is None:
        return
    if not keys:
        yield path, value
    elif keys[0] == "*":
        pairs = enumerate(value) if isinstance(value, list) else mapping(value).items()
        for key, element in pairs:
            yield from _values_at(element, keys[1:], (*path, key))
    elif isinstance(value, dict) and keys[0] in value:
        yield from _values_at(value[keys[0]], keys[1:], (*path, keys[0]))


def _quantity(value: str) -> str:
    number = amount(value) if isinstance(value, str) else None
    if number is None:
        raise ValueError(value)
    return str(number)


_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}
_UPPER = {small: large for large, small in _LOWER.items()}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": lambda value: amount(value) is not None,
    "isGreaterThan": lambda left, right: Fraction(left) > Fraction(right),
    "isLessThan": lambda left, right: Fraction(left) < Fraction(right),
    "split": lambda value, at: value.split(at) if at else list(value),
    "join": lambda values, between="": between.join(values),
    "lowerAscii": lambda value: value.translate(_LOWER),
    "upperAscii": lambda value: value.translate(_UPPER),
    "characters": len,
    "trim": lambda value: value.strip(),
    "isSorted": lambda values: values == sorted(values),
    "sum": sum,
    "min": min,
    "max": max,
}
"""Functions of Kubernetes beyond those of CEL itself; a quantity is the text of its exact number."""
_STANDARD = frozenset(
    {
        *("contains", "startsWith", "endsWith", "matches"),
        *("type", "int", "uint", "double", "string", "dyn"),
    }
)


_SIZE = re.compile(r"\bsize\s*\(")
"""The library counts bytes of a text, the API server its characters."""
_LONGEST = 4_000
"""Longest rule, in characters: the library ends the process on one of about ten thousand terms."""
_LOOP = re.compile(r"((?<![\w.])\w+)?[\w.]*\.(all|exists|exists_one|map|filter)\s*\(\s*(\w+)")
"""The first name of what a loop goes over, its macro, and its variable."""
_WALKS = re.compile(r"\bin\b|\b(isSorted|join|sum|min|max)\s*\(")
"""What goes over a whole list, and in a loop at each step."""
_COMPARES = re.compile(r"[!=]=(?!\s*(['\"\d-]|(true|false|null)\b|size\s*\())")
"""What may compare whole lists: on the right is neither a value that is written out nor a number."""
_JOINS = re.compile(r"\bjoin\s*\(\s*(?!['\")])")
"""What writes a text of the object between all elements of a list."""
_SELF = re.compile(r"\bself\b((?:\.\w+)*)")
"""The object, and the fields that lead to a part of it."""
_CHARACTERS = 100
"""Of a text, that take as long as one value."""
_COMMENT = re.compile(r"//.*\n")
"""It may hide a loop from the pattern above."""
_COPIES = ("map", "filter")
"""The library copies the list that these make at each step."""
_MOST_STEPS = 10**6
"""The API server ends a rule that costs as much."""


@cache
def _is_computable(rule: str) -> bool:
    """Tell whether the library knows all that a rule uses, and it has no comment.

    Names with `__` are escaped ones of fields.
    """
    if "__" in rule or len(rule) > _LONGEST or _COMMENT.search(rule) or _program(rule) is None:
        return False
    return _functions(rule) <= {*_FUNCTIONS, *_STANDARD}


def keeps(rule: str, value: Any) -> bool | None:
    """Tell whether a value keeps a rule; None if the library cannot tell.

    A rule fails at a missing field, a missing element or a division by zero, as in the API server.
    The API server compares numbers of two types by the types in the schema; the library does not have them.
    """
    program, functions = _program(rule), _functions(rule)
    if _may_take_long(rule, value):
        return None
    part = read_by(rule).part_of(value)
    if "matches" in functions and not json.dumps(part, ensure_ascii=False).isascii():
        return None  # \d, \w and \s are ASCII in the API server, and Unicode in the library
    context = _library().Context({"self": part}, functions=_FUNCTIONS)
    try:
        verdict = program.execute(context)
    except (KeyError, IndexError, ZeroDivisionError):
        return False
    except (TypeError, RuntimeError, ValueError, OverflowError):
        return None
    return verdict if isinstance(verdict, bool) else None


def _may_take_long(rule: str, value: Any) -> bool:
    """Tell whether a rule may take too many steps.

    Each loop goes over the longest list, and `+` makes a longer one; lists that a rule writes out count too.
    """
    weight, reads, parts = _loops(rule)
    terms = 1 + rule.count("+")
    if weight <= 1 and terms == 1 and not parts and reads * MAX_VALUES <= _MOST_STEPS:
        return False
    values = [item for _, item in values_in(value)]
    longest = max(len(item) if isinstance(item, (dict, list)) else 0 for item in values)
    if "split" in _functions(rule) or terms > 1:
        longest = max(longest, *(len(item) for item in values if isinstance(item, str)), 0)
    size = max(longest, rule.count(",")) * terms
    steps = size ** max(weight - 1, 0) * max(size, reads * _cost(values)) * terms
    return bool(steps * max(1, sum(_cost(_below(value, part)) for part in parts)) > _MOST_STEPS)


def _cost(values: list[Any]) -> int:
    """Return how many steps it takes to read all values."""
    return len(values) + sum(len(item) for item in values if isinstance(item, str)) // _CHARACTERS


def _below(value: Any, fields: str) -> list[Any]:
    """Return all values below the field `.a.b` of an object; none if it is missing."""
    for name in fields.split(".")[1:]:
        if isinstance(value, dict) and name in value:
            value = value[name]
    return [item for _, item in values_in(value)]


@cache
def _loops(rule: str) -> tuple[int, int, tuple[str, ...]]:
    """Return how many loops of a rule multiply, and what a step of the innermost may read.

    That is: how many times the whole object, and the parts of it that the rule names in a loop. An inner loop
    over a part of what another is at (`self.groups.all(g, g.flavors.all(f, ...))`) visits each value once.
    All other loops count as if they were in one another. A value that a loop compares may be large.
    """
    weight, parts, has_inner = 0, set[str](), False
    flat = re.sub(r"\s*\.\s*", ".", rule)
    loops = list(_LOOP.finditer(flat))
    for start, macro, variable in (loop.group(1, 2, 3) for loop in loops):
        is_part = start in parts
        weight += (not is_part) + (macro in _COPIES)
        has_inner = has_inner or is_part
        parts.discard(start)  # a second loop over the parts of one value multiplies
        if is_part or start == "self":
            parts.add(variable)
    compares, joins = bool(loops and _COMPARES.search(rule)), bool(_JOINS.search(rule))
    weight += bool(loops and _WALKS.search(rule)) + (compares and has_inner) + 2 * joins
    reads = len(_SELF.findall(flat)) if has_inner or compares or joins else 0
    starts = {loop.start(1) for loop in loops}
    inside = loops[0].end() if loops else len(flat)
    named = _SELF.finditer(flat, inside)
    return weight, reads, tuple(found[1] for found in named if found.start() not in starts)


_MACRO = r"(?:all|exists|exists_one|map|filter)\s*\("
_CHAIN = re.compile(
    rf"(?<![\w.])(\w+)((?:\s*\.\s*(?!{_MACRO})\w+)*)(?:(\s*\()|\s*\.\s*({_MACRO})\s*(\w+)\s*,)?"
)
"""A name, the fields below it, and what follows: a call of the last one, or a loop with its variable."""


class Fields(Struct):
    """What a rule reads of a value: all of it, or some fields; `*` stands for each element of a list.

    To give the library a value takes far longer than to evaluate a rule.
    """

    whole: bool = False
    below: dict[str, "Fields"] = field(default_factory=dict)

    def part_of(self, value: Any) -> Any:
        """Return a value without the fields that are not read; a loop over a mapping reads all of it."""
        if self.whole:
            return value
        each = self.below.get(EACH)
        if each and isinstance(value, list):
            return [each.part_of(element) for element in value]
        if not each and isinstance(value, dict):
            return {name: part.part_of(value[name]) for name, part in self.below.items() if name in value}
        return value


@cache
def read_by(rule: str) -> Fields:
    """Return what a rule without comments reads of `self`: all of what no loop takes apart."""
    root = Fields()
    known = {"self": [root]}
    for name, chain, call, loop, variable in _CHAIN.findall(rule):
        keys = re.findall(r"\w+", chain)
        places = known.get(name, [])
        for key in keys[:-1] if call else keys:
            places = [place.below.setdefault(key, Fields()) for place in places]
        if loop:
            known.setdefault(variable, []).extend(place.below.setdefault(EACH, Fields()) for place in places)
        if not loop or loop.startswith("filter"):
            for place in places:
                place.whole = True
    return root


@cache
def _library() -> Any:
    """Return the extension of the library; its package also imports a command line, which takes 0.1 s."""
    getLogger("cel").addHandler(NullHandler())  # it reports each function that fails; the verdict says that
    package = find_spec("cel")
    extension = PathFinder.find_spec("cel.cel", package.submodule_search_locations if package else None)
    if extension is None or extension.loader is None:
        raise ImportError("the package common-expression-language is broken")
    library = module_from_spec(extension)
    extension.loader.exec_module(library)
    return library


@cache
def _program(rule: str) -> Any:
    """Return a compiled rule; None for one that is not CEL."""
    try:
        return _library().compile(_SIZE.sub("characters(", rule))
    except ValueError:
        return None


@cache
def _functions(rule: str) -> frozenset[str]:
    return frozenset(name for name in _program(rule).functions() if name[0].isalpha())
