"""A terminal of a few sequences, as ECMA-48 has them: what is on it after what was written to it."""

import re

_PART = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """Lines of a terminal, with all that scrolled away; wide enough for every line."""

    def __init__(self, columns: int = 200) -> None:
        self.columns = columns
        self.rows = [""]
        self.row = self.column = 0
        self.sequences: set[str] = set()

    def write(self, text: str) -> None:
        """Take in what a program writes; a sequence that is cut, or unknown, is an error."""
        at = 0
        while at < len(text):
            part = _PART.match(text, at)
            assert part is not None, text[at : at + 20]
            at = part.end()
            number, letter, control, plain = part.groups()
            if letter:
                self.sequences.add(letter)
                self._obey(letter, number)
            elif control == "\n":
                self.row += 1
                self.column = 0
                self.rows += [""] * (self.row + 1 - len(self.rows))
            elif control:
                self.column = 0
            else:
                line = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = line[: self.column] + plain + line[self.column + len(plain) :]
                self.column += len(plain)
                assert self.column < self.columns, "it wraps"

    def _obey(self, letter: str, number: str) -> None:
        if letter == "A":
            self.row = max(0, self.row - int(number))
        elif letter == "K":
            self.rows[self.row] = ""
        else:
            assert letter == "m", letter

    def shown(self) -> list[str]:
        """Return the lines, without those that are empty at the end."""
        lines = [line.rstrip() for line in self.rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines
