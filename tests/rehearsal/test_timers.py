"""What is to be done later."""

from __future__ import annotations

from functools import partial

from slicewright.rehearsal.timers import Clock, Timers


def test_what_is_due_is_done_in_order() -> None:
    """The earliest first, of the same moment the one that was asked for first; the rest waits."""
    done: list[str] = []
    timers = Timers(Clock(1.0))
    for moment, name in ((0.0, "second"), (-1.0, "first"), (0.0, "third"), (3600.0, "never")):
        timers.at(moment, partial(done.append, name))
    before = timers.pause(0.2)
    timers.do_what_is_due()

    assert ["first", "second", "third"] == done
    assert (0.0, 0.2, False) == (before, timers.pause(0.2), timers.is_empty)
    assert (0.5, True) == (Timers(Clock(1.0)).pause(0.5), Timers(Clock(1.0)).is_empty)


def test_moments_are_those_of_the_rehearsal() -> None:
    """A minute from now is due in a second at 60x."""
    timers = Timers(Clock(60.0))
    timers.later(60.0, lambda: None)

    assert 0.9 < timers.pause(5.0) <= 1.0
