"""What is to be done later."""

import math
import threading
import time
from functools import partial

import pytest

from slicewright.rehearse.event_log import Clock, Timers


def test_what_is_due_is_done_in_order() -> None:
    """The earliest first, of the same moment the one that was asked for first; the rest waits."""
    done: list[str] = []
    timers = Timers(Clock(1.0))
    for moment, name in ((0.0, "second"), (-1.0, "first"), (0.0, "third"), (3600.0, "never")):
        timers.at(moment, partial(done.append, name))
    before = timers.next
    timers.do_what_is_due()

    assert ["first", "second", "third"] == done
    assert (-1.0, 3600.0, False) == (before, timers.next, timers.is_empty)
    assert (math.inf, True) == (Timers(Clock(1.0)).next, Timers(Clock(1.0)).is_empty)


def test_actions_that_add_others_come_to_an_end() -> None:
    """Losses at a rate that no rehearsal keeps up with do not outlast its deadline."""
    done: list[float] = []
    timers = Timers(Clock(1.0))

    def lose() -> None:
        done.append(timers.now())
        timers.at(0.0, lose, is_background=True)

    lose()
    timers.do_what_is_due()

    assert 2 == len(done)


def test_actions_in_the_background_wait_while_they_are_held() -> None:
    """They come in order with the others, and those that are held do not count as left."""
    done: list[str] = []
    timers = Timers(Clock(1.0))
    timers.at(-1.0, partial(done.append, "second"))
    timers.at(-2.0, partial(done.append, "first"), is_background=True)
    timers.do_what_is_due()
    timers.at(-3.0, partial(done.append, "third"), is_background=True)
    timers.is_held = True
    timers.do_what_is_due()

    assert (["first", "second"], True, False) == (done, timers.is_empty, timers.has_foreground)
    timers.is_held = False
    assert (-3.0, False) == (timers.next, timers.is_empty)


def test_moments_are_those_of_the_rehearsal() -> None:
    """A minute from now is due in a second at 60x."""
    clock = Clock(60.0)
    timers = Timers(clock)
    timers.at(timers.now() + 60.0, lambda: None)

    assert 0.9 < clock.pause(timers.next, 5.0) <= 1.0
    assert (0.2, 0.0) == (clock.pause(timers.next, 0.2), clock.pause(-1.0, 0.2))


def test_clock_goes_on_from_where_its_pace_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may stop, and go as fast as real time; what was skipped stays skipped."""
    real = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: real)
    clock = Clock(10.0)
    found = []
    for pace in (10.0, 0.0, 0.0, 1.0, 10.0):
        clock.set_pace(pace)
        real += 2.0
        found.append(clock.now())
    clock.skip_to(100.0)
    real += 1.0

    assert [20.0, 20.0, 20.0, 22.0, 42.0] == found
    assert (110.0, 11.0) == (clock.now(), clock.elapsed())


def test_clock_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one thread stops it while another one reads it: events would change their order."""
    real, clock = 100.0, Clock(10.0)
    stops = threading.Thread(target=lambda: clock.set_pace(0.0))

    def monotonic() -> float:
        nonlocal real
        if threading.current_thread() is threading.main_thread() and not stops.ident:
            stops.start()
            stops.join(0.2)
            real += 1.0
        return real

    monkeypatch.setattr(time, "monotonic", lambda: real)
    clock.start()
    monkeypatch.setattr(time, "monotonic", monotonic)
    before = clock.now()
    stops.join()

    assert before <= clock.now()


def test_skipped_time_has_passed() -> None:
    """At once, and all goes on from there; a moment that is over is none to skip to."""
    clock = Clock(10.0)
    clock.skip_to(3600.0)
    clock.skip_to(60.0)

    assert 3600.0 <= clock.now() < 3610.0
