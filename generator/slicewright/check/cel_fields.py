"""The fields that a CEL rule reads. To give the library a value takes far longer than to evaluate a rule."""

import re
from functools import cache
from typing import Any

from msgspec import Struct, field

from slicewright.kubernetes.kinds import EACH

_MACRO = r"(?:all|exists|exists_one|map|filter)\s*\("
_CHAIN = re.compile(
    rf"(?<![\w.])(\w+)((?:\s*\.\s*(?!{_MACRO})\w+)*)(?:(\s*\()|\s*\.\s*({_MACRO})\s*(\w+)\s*,)?"
)
"""A name, the fields below it, and what follows: a call of the last one, or a loop with its variable."""


class Fields(Struct):
    """What is read of a value: all of it, or some fields; `*` stands for each element of a list."""

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
