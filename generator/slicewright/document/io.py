"""Read any file up to a size, and never wait for one."""

import codecs
import errno
import os
import stat
import sys

from slicewright.kubernetes.problem import Problem

LARGEST = 16 * 1024 * 1024
"""Bytes of one file that are read; the manifests of Kueue, with all its CRDs, are 1.7 million."""
SPELLING = "check the spelling; paths are relative to the current folder"


def read_file(path: str | os.PathLike[str], name: str, *, or_stdin: bool = False) -> str | Problem:
    """Return the text of a file, or why it is not read: too large, no file, no permission, no UTF-8.

    Hints name `-` if the command reads stdin too, `or_stdin`.
    """
    instead = ", or - for stdin" if or_stdin else ""
    try:
        # A pipe is opened without waiting for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return unreadable(name, error)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            return Problem("FILE001", "the path is a folder", f"name a file in it{instead}", file=name)
        if not stat.S_ISREG(status.st_mode):
            return Problem(
                "FILE001", "the path is not a regular file", f"name a regular file{instead}", file=name
            )
        if status.st_size > LARGEST:
            return _too_large(name, status.st_size)
        with os.fdopen(handle, "rb", closefd=False) as file:
            # To make room for the largest takes longer than to read most files.
            content = file.read(status.st_size + 1) or b""
            if len(content) != status.st_size:
                # A file of the kernel has another size than it says. None where it would have to wait.
                content += file.read(LARGEST + 1) or b""
            return decoded(content, name)
    except OSError as error:
        return unreadable(name, error)
    finally:
        os.close(handle)


def read_stdin() -> str | Problem:
    """Return what is piped into this process, or why it is not read."""
    if sys.stdin is None:  # closed by the caller
        return Problem("FILE001", "stdin is closed", "pipe something into it, or name a path", file="stdin")
    return decoded(sys.stdin.buffer.read(LARGEST + 1), "stdin")


def unreadable(name: str, error: OSError) -> Problem:
    """Return the problem of a file or folder that the system does not let us read."""
    if error.errno == errno.ENOENT:
        return Problem("FILE001", "no such file or folder", SPELLING, file=name)
    message = f"the path cannot be read: {error.strerror or error}"
    hint = "check its permissions" if isinstance(error, PermissionError) else "check the path"
    return Problem("FILE001", message, hint, file=name)


def decoded(content: bytes, name: str) -> str | Problem:
    """Return the bytes of a file as text, or the problem: they are too many, or not UTF-8.

    UTF-16 with a byte order mark is read too, as kubectl and kustomize do: PowerShell writes it.
    """
    if len(content) > LARGEST:
        return _too_large(name, len(content))
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16") if is_utf_16 else content.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        form = "UTF-16" if is_utf_16 else "UTF-8"
        message = f"the file is not {form}: byte {error.start} is 0x{error.object[error.start]:02x}"
        return Problem("FILE002", message, "save the file as UTF-8", file=name)


def _too_large(name: str, size: int) -> Problem:
    mebi = 1024 * 1024
    message = f"the file has {size / mebi:.0f} MiB; the limit is {LARGEST // mebi} MiB"
    return Problem(
        "FILE005",
        message,
        "split the file, or leave it out: slicewright validate --exclude PATTERN",
        file=name,
    )
