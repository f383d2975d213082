"""What a person sees on a terminal while a rehearsal plays."""

import codecs
import fcntl
import os
import re
import struct
import termios
import threading

import pytest
from tests.conftest import Repo
from tests.rehearse.screen import Screen
from tests.testbed.kit import eventually

from .command import rehearsing

pytestmark = pytest.mark.ci  # a test bed of its own

_CUT = re.compile("\x1b(\\[[0-9;]*)?$")
"""A sequence of which the end has not come yet."""


class Terminal:
    """A pseudo-terminal that somebody looks at."""

    def __init__(self, columns: int) -> None:
        self.seen, self.end = os.openpty()
        self.screen = Screen()
        self.resize(columns)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def resize(self, columns: int) -> None:
        """Give the window another width."""
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def close(self) -> None:
        """Read what is left."""
        os.close(self.end)
        self._reader.join(10)
        os.close(self.seen)

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")().decode
        rest = ""
        while True:
            try:
                rest += decode(os.read(self.seen, 65_536))
            except OSError:  # nobody has the other end any more
                return
            cut = _CUT.search(rest)
            at = cut.start() if cut else len(rest)
            self.screen.write(rest[:at])
            rest = rest[at:]


def test_runs_are_redrawn_in_place_and_gone_after_ctrl_c(repo: Repo) -> None:
    """States and quota while it plays, as wide as the terminal becomes; then the lines of before alone."""
    terminal = Terminal(40)
    screen = terminal.screen

    def looks_like(*lines: str) -> bool:
        return re.fullmatch("\n".join(lines), "\n".join(screen.shown()[-len(lines) :])) is not None

    with rehearsing(repo, "--speed", "1", stderr=terminal.end, TERM="xterm", CI="", NO_COLOR="") as running:
        cut = ("c1  .*…", "cq  ━{20,24}  8 of 8 chips")
        rows = ("state    run", "running  team/a")
        eventually("the run runs", lambda: looks_like(*cut, *rows), 60)
        terminal.resize(80)
        whole = (r"c1  [0-9.]+s at 1x  0 of 1 runs over, all in [0-9.]+s", "cq  ━{24}  8 of 8 chips")
        rows = (
            "state    run     chips  queue  since +left",
            "running  team/a      8  cq     +[0-9.]+s +[0-9.]+s",
        )
        eventually("it is redrawn", lambda: looks_like(*whole, *rows), 10)
        os.write(terminal.end, b"^C")  # as a terminal echoes it
        running.interrupt()
        code, out, _ = running.end()
    terminal.close()

    assert (130, True) == (code, out.startswith("c1: interrupted; 1 still ran; simulated"))
    assert [] == [line for line in screen.shown() if not line.startswith(("c1: ", "logs: "))]
    assert {"A", "K", "m"} == screen.sequences
