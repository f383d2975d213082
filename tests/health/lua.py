"""Health checks as Argo CD calls them: one object in, a status and a message out."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lupa import lua51  # type: ignore[import-untyped]

import slicewright
from slicewright.kubernetes.types import Object

LuaError: type[Exception] = lua51.LuaError

FOLDER = Path(slicewright.__file__).parent / "health"

STATUSES = frozenset({"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"})
"""What Argo CD takes for a status; anything else becomes Unknown."""

_SANDBOX = """
local script = ...
debug.setmetatable("", nil)
local run = assert(loadstring(script, "=script"))
local sets = setfenv
local strict = { __index = function(_, name) error("the sandbox has no " .. name, 2) end }
return function(object, watch)
  local names = { obj = object, ipairs = ipairs }
  sets(run, setmetatable(names, strict))
  if watch then debug.sethook(function(_, line) watch(line) end, "l") end
  local result = run()
  debug.sethook()
  return result
end
"""
"""Argo CD opens base, package, table and a few functions of os; of these a script gets `ipairs` alone.

There as here strings have no methods: they come with the library string.
"""


@dataclass(frozen=True, slots=True)
class Health:
    """What Argo CD shows."""

    status: str
    message: str


@cache
def scripts() -> dict[str, str]:
    """Return the scripts by group and kind, as in `batch/Job`."""
    return {path.stem.replace("_", "/"): path.read_text(encoding="utf-8") for path in FOLDER.glob("*.lua")}


def key_of(item: Object) -> str:
    """Return the group and kind of an object."""
    return f"{item['apiVersion'].partition('/')[0]}/{item['kind']}"


def returned(item: Object, lines: set[int] | None = None) -> dict[str, Any]:
    """Return the table that the script of an object's kind makes; the lines that ran are added to `lines`."""
    runtime, run = _sandbox(scripts()[key_of(item)])
    watch = None if lines is None else lines.add
    return dict(run(runtime.table_from(item, recursive=True), watch))


def health(item: Object) -> Health:
    """Return the health that Argo CD gives to an object.

    It says `Pending deletion` itself, before any script is called.
    """
    if item["metadata"].get("deletionTimestamp"):
        return Health("Progressing", "Pending deletion")
    made = returned(item)
    return Health(made["status"], made["message"])


@cache
def _sandbox(script: str) -> tuple[Any, Any]:
    runtime = lua51.LuaRuntime(register_eval=False, register_builtins=False, unpack_returned_tuples=True)
    return runtime, runtime.execute(_SANDBOX, script)
