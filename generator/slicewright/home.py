"""The home folder of the user."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path


class NoHomeError(Exception):
    """The user has no home folder."""


def home(environ: Mapping[str, str]) -> Path:
    """Return what HOME says, else the user database; a relative folder may lie among the files that we read.

    Raises NoHomeError.
    """
    folder = Path(environ.get("HOME", ""))
    if folder.is_absolute():
        return folder
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise NoHomeError("the user has no home folder, and HOME does not name one") from None
