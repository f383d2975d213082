"""Pack the installed slicewright into a wheel, from the files that its installer listed.

A repository with that wheel needs no package index for slicewright, and everybody installs the same files.
"""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackagePath

_OF_A_WHEEL = ("METADATA", "WHEEL", "entry_points.txt", "licenses")
"""What a wheel has below `.dist-info`; installers add other files."""


class NotPackableError(Exception):
    """No wheel can be packed; carries the reason."""


def packed(installed: Distribution) -> tuple[str, bytes]:
    """Return the file name and the content of a wheel with the files of an installed pure Python package.

    Equal files give equal bytes. Raises NotPackableError for a package that runs from its checkout, without
    a list of its files, or with a file that differs from that list.
    """
    name, version = installed.metadata["Name"], installed.version
    about = f"{name}-{version}.dist-info"
    contents = dict(_contents(installed, name, about))
    if f"{name}/__init__.py" not in contents:
        raise NotPackableError("its installer left no list of its files")
    record = f"{about}/RECORD"
    lines = [f"{path},{_digest(content)},{len(content)}" for path, content in contents.items()]
    contents[record] = "\n".join((*lines, f"{record},,", "")).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in contents.items():
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def _contents(installed: Distribution, name: str, about: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of the package that a wheel has."""
    for file in sorted(installed.files or ()):
        is_packed = file.parts[0] == name or (file.parts[0] == about and file.parts[1] in _OF_A_WHEEL)
        if is_packed and file.hash is not None:  # bytecode has no digest
            yield file.as_posix(), _unedited(file)


def _unedited(file: PackagePath) -> bytes:
    try:
        content = file.read_binary()
    except OSError as error:
        raise NotPackableError(f"{file} cannot be read: {error.strerror}") from error
    expected = f"{file.hash.mode}={file.hash.value}" if file.hash else ""
    if _digest(content) != expected:
        raise NotPackableError(f"{file} was edited after the installation")
    return content


def _digest(content: bytes) -> str:
    """Return a digest as a wheel's RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
