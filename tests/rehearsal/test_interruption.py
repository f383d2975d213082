"""Ctrl-C, taken and held back."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from slicewright.rehearsal.interruption import Interruption


@pytest.fixture(autouse=True)
def _usual() -> object:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressed() -> bool:
    """Press Ctrl-C; tell whether it interrupted."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return True
    return False


def test_interruption_is_held_back_for_a_while() -> None:
    """It interrupts as usual, but not while something is put away; afterwards it is known."""
    with Interruption() as interruption:
        with interruption.held_back():
            asked = [interruption.was_asked_for, pressed(), interruption.was_asked_for]
        later = pressed()

    assert [False, False, True] == asked
    assert (True, True) == (later, pressed())
    assert signal.default_int_handler is signal.getsignal(signal.SIGINT)


def test_process_that_ignores_it_goes_on_to_do_so() -> None:
    """As one in the background of a shell; and a thread has no say in it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruption() as interruption:
        assert (False, False) == (pressed(), interruption.was_asked_for)
    with ThreadPoolExecutor(1) as pool, Interruption():
        pool.submit(Interruption().__enter__).result()

    assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
