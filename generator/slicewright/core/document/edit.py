"""Edit one value in a file that a person keeps: everything else stays byte for byte as it is."""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml import YAML

from slicewright.core.document.read import read_documents
from slicewright.core.document.scalar import write_string

_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\s,{}\[\]#]+")


class EditError(ValueError):
    """The value cannot be changed in place."""


def set_in_spec(text: str, index: int, key: str, value: int | str) -> str:
    """Return a text in which `spec.<key>` of the document at an index holds a value.

    The key is added as the first of `spec` where it is missing. Comments, quotes and layout are kept.
    Raises EditError where the result would not read as intended, for instance in a spec that is an alias.
    """
    documents, problems = read_documents(text, "")
    wanted = next((document.data for document in documents if document.index == index), None)
    if problems or wanted is None:
        raise EditError("the file cannot be read")
    spec = list(YAML(typ="rt").load_all(text))[index]["spec"]
    written = str(value) if isinstance(value, int) else write_string(value)
    edited = _replace(text, spec, key, written) if key in spec else _insert(text, spec, key, written)
    expected = {**wanted, "spec": {**wanted["spec"], key: value}}
    again, problems = read_documents(edited, "")
    found = next((document.data for document in again if document.index == index), None)
    others = [document.data for document in again if document.index != index]
    if problems or found != expected or others != [d.data for d in documents if d.index != index]:
        raise EditError(f"spec.{key} cannot be changed in place")
    return edited


def _replace(text: str, spec: Any, key: str, written: str) -> str:
    lines = text.splitlines(keepends=True)
    line, column = spec.lc.value(key)
    found = _TOKEN.match(lines[line], column)
    if found is None:
        raise EditError(f"spec.{key} is not on one line")
    lines[line] = lines[line][:column] + written + lines[line][found.end() :]
    return "".join(lines)


def _insert(text: str, spec: Any, key: str, written: str) -> str:
    lines = text.splitlines(keepends=True)
    line, column = spec.lc.key(next(iter(spec)))
    if spec.fa.flow_style():
        lines[line] = f"{lines[line][:column]}{key}: {written}, {lines[line][column:]}"
    else:
        lines.insert(line, f"{lines[line][:column]}{key}: {written}\n")
    return "".join(lines)
