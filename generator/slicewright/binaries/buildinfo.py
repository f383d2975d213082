"""Read what the Go linker wrote into a program: the version of its main module. No Go is needed for it.

The format is documented in Go's `debug/buildinfo`: a 32-byte header that begins with a magic string at an
address divisible by 16, then two strings, each behind its length as a varint.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"\xff Go buildinf:"
_ALIGN = 16
_FLAGS = 15
_INLINE_STRINGS = 0x2
_HEADER = 32
_SENTINEL = 16
_CONTINUES = 0x80


def module_version(binary: Path, module: str) -> str:
    """Return the version of a program's main module; empty where it is another module or not a Go program."""
    for line in _module_info(binary).splitlines():
        match line.split("\t"):
            case ["mod", path, version, *_] if path == module:
                return version
    return ""


def _module_info(binary: Path) -> str:
    if not binary.stat().st_size:
        return ""
    with binary.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(_MAGIC)
        while at >= 0:
            if at % _ALIGN == 0 and at + _HEADER < len(data) and data[at + _FLAGS] & _INLINE_STRINGS:
                _, end = _string(data, at + _HEADER)
                info, _ = _string(data, end)
                return info[_SENTINEL:-_SENTINEL].decode(errors="replace")
            at = data.find(_MAGIC, at + 1)
    return ""


def _string(data: mmap.mmap, at: int) -> tuple[bytes, int]:
    """Return the string whose length stands at an offset, and the offset behind it."""
    length, shift = 0, 0
    while at < len(data):
        byte = data[at]
        at += 1
        length |= (byte & ~_CONTINUES) << shift
        shift += 7
        if not byte & _CONTINUES:
            break
    return data[at : at + length], at + length
