"""Ctrl-C, and the signals with which others end a process: taken and held back."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from slicewright.rehearse.session import Interruption

pytestmark = pytest.mark.usefixtures("in_front")

TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def pressed(number: signal.Signals = signal.SIGINT) -> bool:
    """Press Ctrl-C, or send another signal; tell whether it interrupted."""
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("number", TAKEN, ids=lambda number: number.name)
def test_interruption_is_held_back_for_a_while(number: signal.Signals) -> None:
    """It interrupts as usual, but not while something is put away; afterwards it is known."""
    before = [signal.getsignal(one) for one in TAKEN]
    with Interruption() as interruption:
        with interruption.held_back():
            asked = [interruption.signal, pressed(number), interruption.signal]
        later = pressed(signal.SIGTERM)

    assert [0, False, number] == asked
    assert (True, number) == (later, interruption.signal)
    assert before == [signal.getsignal(one) for one in TAKEN]


@pytest.mark.parametrize("number", TAKEN, ids=lambda number: number.name)
def test_process_that_ignores_it_goes_on_to_do_so(number: signal.Signals) -> None:
    """As one in the background of a shell, or one that nohup started; and a thread has no say in it."""
    signal.signal(number, signal.SIG_IGN)
    with Interruption() as interruption:
        assert (False, 0) == (pressed(number), interruption.signal)
    with ThreadPoolExecutor(1) as pool, Interruption():
        pool.submit(Interruption().__enter__).result()

    assert signal.SIG_IGN is signal.getsignal(number)
