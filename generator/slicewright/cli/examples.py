"""Examples at the end of a command's help."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """Return the end of a help page: each line as it is typed, and never wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
