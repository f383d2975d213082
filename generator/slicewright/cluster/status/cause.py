"""A cause: why a run waits or fails, as data."""

from msgspec import Struct


class Cause(Struct, frozen=True):
    """One reason why a run does not run, in our words, and in those of the controller that said so."""

    reason: str
    """A token that stays the same, such as `QuotaHeld`."""
    message: str
    said: str = ""
    """The controller's own words, its reason token first; empty if the objects alone say it."""
    hint: str = ""
