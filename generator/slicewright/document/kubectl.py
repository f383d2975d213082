"""What kubectl makes of tags, of scalars that readers dispute, and of the start of a document."""

import base64
import binascii
import json
from typing import Any

import yaml

from slicewright.document.scalar import NotPortableError, Scalar, read_kubernetes, read_plain

OF_YAML = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}


def tagged(text: str, name: str) -> Scalar:
    """Return the value of a scalar with a tag of YAML, such as `int`. Raises NotPortableError."""
    try:
        if name == "binary":
            return base64.b64decode(text.replace("\n", ""), validate=True).decode(errors="replace")
        value = read_kubernetes(text) if name in _TYPES else text
        if type(value) in _TYPES.get(name, (str,)):
            return value
    except (binascii.Error, NotPortableError):
        pass
    raise NotPortableError(f"'{text}' cannot be read as !!{name}", "")


def disputed(text: str, value: Scalar) -> tuple[str, str, str]:
    """Return id, message and hint of a scalar that YAML 1.2 reads as another value than kubectl."""
    ident = "YAML007"
    try:
        if read_plain(text) == value:  # kustomize alone may differ
            return "", "", ""
    except NotPortableError:
        ident = "YAML006"
    shown = "text" if isinstance(value, str) else json.dumps(value)
    hint = "write the value that you mean; quote it if it is text"
    if ident == "YAML006" and type(value) is int and value >= 0:
        hint = f"write {value} or 0o{value:o} if it is a number, '{text}' in quotes if it is text"
    return ident, f"kubectl reads '{text}' as {shown}, but YAML 1.2 reads it differently", hint


def refused_start(event: Any, first: Any) -> tuple[str, str]:
    """Return why kubectl refuses the start of a document, and a hint."""
    if event.version or event.tags:
        return "kubectl refuses a file with a % directive", "delete the line"
    is_empty = isinstance(first, yaml.ScalarEvent) and not (first.value or first.tag or first.anchor)
    if event.explicit and first.start_mark.line == event.start_mark.line and not is_empty:
        return "kubectl refuses text after '---'", "begin the document on the next line"
    return "", ""
